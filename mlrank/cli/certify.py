"""``mlrank certify``."""

from typing import TYPE_CHECKING, Annotated

import typer

from mlrank.cli.options import (
    Impute,
    InputFormat,
    Json,
    LabelColumns,
    LabelFile,
    RunOrModel,
    TestFile,
    ZeroBased,
    parsed_columns,
)

if TYPE_CHECKING:
    from mlrank.certify import CertifiedFit
    from mlrank.datasets.formats.base import LoadOptions
    from mlrank.tables import Grid

__all__ = ["certify"]


def certify(
    run: RunOrModel,
    data: Annotated[
        str | None, typer.Option("--data", metavar="NAME|PATH", help="The labeled data that a MODEL was fitted to.")
    ] = None,
    trust: Annotated[
        bool, typer.Option("--trust", help="Import own solvers that the runs name, and ask for their objective_of.")
    ] = False,
    test: TestFile = None,
    labels: LabelFile = None,
    label_columns: LabelColumns = None,
    data_format: InputFormat = None,
    zero_based: ZeroBased = None,
    impute: Impute = None,
    as_json: Json = False,
) -> None:
    """Certify fits a second time: recompute objectives and certificates of stored models from their definitions.

    Data are read anew, and everything is summed in long doubles by code of its own, which is slow: it is no part of any
    solver. A fit whose record claims a smaller certificate, or another objective, than its model has on its data
    differs, and the exit code is 1. Where a model holds no dual variables, the objective alone is certified.

    Examples:

    * `mlrank certify results/quickstart`
    * `mlrank certify results/quickstart/runs/yeast/official/Rank-SVM.model --data yeast`
    """
    from mlrank.certify import certify_model, certify_run
    from mlrank.cli.grids import print_grids
    from mlrank.errors import UserError
    from mlrank.records import RunFolder, dump_json

    about: LoadOptions = {"labels": labels, "label_columns": parsed_columns(label_columns), "format": data_format}
    about |= {"test": test, "zero_based": zero_based, "impute": impute}
    if run.is_file():
        if data is None:
            raise UserError("a model is certified on its data: name them with --data NAME or PATH", run)
        fits = [certify_model(run, data, trust=trust, **about)]
    elif run.suffix == ".model":
        raise UserError("there is no such model file", run)
    elif data is not None or any(value is not None for value in about.values()):
        raise UserError("--data and its options are for a .model file; a run names its data itself", run)
    else:
        fits = certify_run(RunFolder.open(run), trust=trust)
    if as_json:
        print(dump_json([fit.plain for fit in fits]), end="")
    else:
        print_grids([_grid(str(run), fits)], "rich")
    raise typer.Exit(1 if any(fit.verdict == "differs" for fit in fits) else 0)


COLUMNS = ("dataset", "split", "method", "certificate", "objective", "recomputed", "claimed", "recomputed", "verdict")


def _grid(title: str, fits: "list[CertifiedFit]") -> "Grid":
    from mlrank.tables import Grid, Shown

    rows = []
    for fit in fits:
        numbers = [_number(fit.claimed_objective, ".9g"), _number(fit.objective, ".9g")]
        numbers += [_number(fit.claimed_certificate, ".3g"), _number(fit.certificate, ".3g")]
        verdict = f"{fit.verdict}: {fit.note}" if fit.note else fit.verdict
        rows.append(tuple(map(Shown, (fit.dataset, fit.split, fit.method, fit.kind or "-", *numbers, verdict))))
    counts = {
        verdict: sum(fit.verdict == verdict for fit in fits) for verdict in dict.fromkeys(f.verdict for f in fits)
    }
    notes = (", ".join(f"{count} {verdict}" for verdict, count in counts.items()),)
    return Grid(f"certified anew: {title}", COLUMNS, "llllrrrrl", tuple(rows), notes)


def _number(value: float | None, digits: str) -> str:
    return "-" if value is None else format(value, digits)
