"""``mlrank check-solver``."""

from typing import Annotated, Any

import typer

from mlrank.cli.completion import complete_topic, solver_keys
from mlrank.cli.options import Json

__all__ = ["check_solver"]

OUTCOMES = ("passed", "failed", "skipped")


def check_solver(
    solver: Annotated[
        str,
        typer.Argument(
            metavar="SOLVER",
            help=f"package.module:ClassName, or a solver's key: {', '.join(solver_keys())}.",
            autocompletion=complete_topic,
        ),
    ],
    setting: Annotated[
        list[str] | None,
        typer.Option("--set", "-s", metavar="NAME=VALUE", help="A setting; repeatable. Default: those of the class."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Check on small problems that a solver does what every solver must do.

    The checks cover: scores of the right shape for dense and sparse rows, data that stay unchanged, repeated fits with
    equal bytes, labels and rows in another order, degenerate labels, a correct certificate. On badly scaled problems
    they cover: certificates that are finite and decide whether a fit converged, rows that are scored alone as among
    others; and for a solver with `objective_of(model, train)` that the objective reported is the model's, that no other
    model is below the bound of a gap, and that a closed form is stationary. A check that does not apply is skipped with
    a reason. The exit code is 2 if a check fails.

    Examples:

    * `mlrank check-solver own_solver:Centroids`, for `own_solver.py` in the current folder
    * `mlrank check-solver my_package.solvers:Boosted -s n_rounds=10`
    * `mlrank check-solver rank_svm`
    """
    from mlrank.config import named_solver
    from mlrank.contract import CHECKS, Subject, verdict
    from mlrank.records import dump_json
    from mlrank.solvers.presets import PRESETS

    names = [text.partition("=")[0] for text in setting or []]
    preset = PRESETS[solver].merged(dict.fromkeys(names)) if solver in PRESETS else {}
    cls = named_solver(solver, [*names, *preset])
    # Classes that are made of import paths have no names to show.
    what = solver if getattr(cls, "TAKES_ESTIMATORS", False) else cls.__name__
    beside = {name: value for name, value in preset.items() if name not in names}
    subject = Subject(cls, settings=_settings(cls, what, setting or [], beside))
    found = {name: verdict(subject, name) for name in CHECKS}
    counts = {outcome: sum(one.outcome == outcome for one in found.values()) for outcome in OUTCOMES}
    if as_json:
        print(dump_json({name: one._asdict() for name, one in found.items()}), end="")
    else:
        for name, one in found.items():
            print(f"{one.outcome:<8} {name:<12} {one.message}")
        print(f"{solver}: " + ", ".join(f"{count} {outcome}" for outcome, count in counts.items()))
    raise typer.Exit(2 if counts["failed"] else 0)


def _settings(cls: type[Any], what: str, given: list[str], beside: dict[str, object]) -> dict[str, object]:
    """Return what --set says, each value as YAML reads a word, and the settings `beside`; `what` names the class."""
    from dataclasses import fields

    from mlrank.errors import UserError, unknown_name
    from mlrank.scalars import plain_scalar

    known = [field.name for field in fields(cls)]
    settings = dict(beside)
    for text in given:
        name, mark, value = text.partition("=")
        if not mark:
            raise UserError(f"--set takes NAME=VALUE, found '{text}'")
        if name not in known:
            raise UserError(unknown_name(f"setting of {what}", name, known))
        settings[name] = plain_scalar(value)
    try:
        cls(**settings)
    except (ValueError, TypeError) as error:
        raise UserError(f"{what} cannot be made of these settings: {error}") from error
    return settings
