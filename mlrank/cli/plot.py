"""``mlrank plot``: figures of experiments that have run."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mlrank.cli.completion import complete_kind, complete_results_or_kind
from mlrank.cli.options import Methods, Metrics

if TYPE_CHECKING:
    from mlrank.cli.folders import Stored
    from mlrank.plots import AnyFigure, Material

__all__ = ["material_of", "plot"]


def plot(
    results: Annotated[
        list[Path],
        typer.Argument(
            metavar="RESULTS...", help="Results folders of experiments.", autocompletion=complete_results_or_kind
        ),
    ],
    kind: Annotated[
        str, typer.Argument(metavar="KIND", help="What to draw (see below), or all.", autocompletion=complete_kind)
    ],
    metric: Metrics = None,
    method: Methods = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="DIR", help="Default: figures/ in the first results folder.")
    ] = None,
    format: Annotated[
        list[str] | None,
        typer.Option("--format", "-f", metavar="KEY", help="svg, pdf or png; repeatable. Default: svg and pdf."),
    ] = None,
    dark: Annotated[bool, typer.Option("--dark", help="Draw in light colors on a dark ground.")] = False,
) -> None:
    """Draw figures of stored results; nothing is fitted. They can be read in print and without color.

    Files hold what a figure shows in words too, for those who do not see it; png has 300 pixels to an inch.

    Kinds:

    * `learning`: a metric against the number of training rows
    * `sensitivity`: the search's metric along each setting, and for pairs of settings
    * `convergence`: certificate and objective against iterations and seconds
    * `runtime`: seconds of a fit against rows, features and labels, with exponents
    * `labels`: F1 (or another metric) of each label against its frequency
    * `threshold`: F1, precision and recall against one threshold for all scores
    * `reliability`: how often labels are relevant that have a probability, against it
    * `cooccurrence`, `correlation`: which labels go together
    * `critical`: mean ranks over data sets with critical differences
    * `all`: every figure that the runs allow; the others are reported as not drawn

    Examples:

    * `mlrank plot results/quickstart sensitivity`
    * `mlrank plot results/quickstart labels --metric auc_macro --format png`
    * `mlrank plot results/n100 results/n200 results/n400 learning --metric f1_micro`
    * `mlrank plot results/yeast results/scene results/emotions critical --metric f1_macro --out figures`
    * `mlrank plot results/quickstart all`
    """
    from mlrank.cli.folders import read_folders
    from mlrank.errors import UserError, unknown_name
    from mlrank.plots import FORMATS, KINDS

    formats = list(dict.fromkeys(format or ("svg", "pdf")))
    for fmt in formats:
        if fmt not in FORMATS:
            raise UserError(unknown_name("format of a figure", fmt, FORMATS))
    stored = read_folders(results)
    given = material_of(stored, metric, method)
    folder = out or next(iter(stored.folders.values())).path / "figures"
    kinds = list(KINDS) if kind == "all" else [kind]
    drawn = 0
    for name in kinds:
        drawn += _draw(name, given, folder, formats, dark, tell=kind == "all")
    if not drawn:
        raise UserError("nothing could be drawn")


def material_of(stored: "Stored", metrics: Sequence[str] | None, methods: Sequence[str] | None) -> "Material":
    """Return what figures are drawn from."""
    from mlrank.errors import UserError, unknown_name
    from mlrank.experiment import stored_trials
    from mlrank.plots import Material

    known = dict.fromkeys(record.method for record in stored.records)
    for method in methods or ():
        if method not in known:
            raise UserError(unknown_name("method", method, known))
    kept = [record for record in stored.records if not methods or record.method in methods]
    trials = []
    for experiment, folder in stored.folders.items():
        trials += stored_trials(folder, [record for record in kept if record.experiment == experiment])
    return Material(kept, metrics or stored.metrics, trials, stored.arrays, stored.label_names, named=bool(metrics))


def _draw(kind: str, given: "Material", folder: Path, formats: Sequence[str], dark: bool, tell: bool) -> int:
    """Draw the figures of a kind and return their number; `tell` what cannot be drawn instead of failing."""
    from mlrank.errors import UserError
    from mlrank.plots import figures_of_kind

    try:
        figures = figures_of_kind(kind, given)
    except UserError as error:
        if not tell:
            raise
        print(f"{kind}: not drawn: {error}", file=sys.stderr)
        return 0
    for name, figure in figures.items():
        _write(name, figure, folder, formats, dark)
    return len(figures)


def _write(name: str, figure: "AnyFigure", folder: Path, formats: Sequence[str], dark: bool) -> None:
    from mlrank.plots import render
    from mlrank.records import safe_name
    from mlrank.records.atomic import write_atomic

    for fmt in formats:
        path = folder / f"{safe_name(name)}.{fmt}"
        write_atomic(path, render(figure, fmt, dark=dark))
        print(path)
