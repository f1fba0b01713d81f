"""``mlrank compare``: whether methods differ, with tests, effect sizes and sentences."""

import sys
from collections.abc import Sequence
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mlrank.cli.grids import print_grids
from mlrank.cli.options import Json, Methods, Metrics, ResultsFolders, With

if TYPE_CHECKING:
    from mlrank.cli.folders import Stored
    from mlrank.stats import LabelTests, OverDatasets, OverSplits
    from mlrank.tables import Grid

__all__ = ["CompareFormat", "compare"]


class CompareFormat(StrEnum):
    """How comparisons are printed."""

    rich = "rich"
    md = "md"
    latex = "latex"
    html = "html"


def compare(
    results: ResultsFolders,
    published: With = None,
    metric: Metrics = None,
    method: Methods = None,
    control: Annotated[
        str | None,
        typer.Option(
            "--control", metavar="NAME", help="Compare with this method. Default: the best; beside --with, yours."
        ),
    ] = None,
    alpha: Annotated[float, typer.Option("--alpha", min=0.0001, max=0.5, help="Level of the tests.")] = 0.05,
    rope: Annotated[
        float, typer.Option("--rope", min=0.0, help="Differences up to this one are practically none.")
    ] = 0.01,
    label_tests: Annotated[bool, typer.Option("--label-tests", help="Show the test of every label too.")] = False,
    old_labels: Annotated[bool, typer.Option("--labels", hidden=True)] = False,
    details: Annotated[
        bool | None,
        typer.Option(
            "--details/--summary",
            help="Every test of every metric, or one table. Default: one table of several metrics, all with --format.",
        ),
    ] = None,
    figure: Annotated[
        Path | None, typer.Option("--figure", metavar="FILE", help="Draw the critical differences: .svg, .pdf, .png.")
    ] = None,
    format: Annotated[CompareFormat, typer.Option("--format", "-f", help="How to print.")] = CompareFormat.rich,
    as_json: Json = False,
) -> None:
    """Test whether methods differ: over data sets, over the splits of each data set, and label by label.

    Over two data sets and more: Friedman's test, critical differences (Nemenyi), a control against the others (Holm),
    Wilcoxon's signed-rank test and its Bayesian version for each pair. Over the splits of one data set: the t-test
    corrected for overlapping training rows (Nadeau & Bengio), Wilcoxon, a Bayesian t-test. Label by label: the same
    t-test, or McNemar's on a single split, with Holm. Notes name what cannot be tested and what is left out.

    Several metrics are shown as one table of mean ranks (of means, on one data set) with the test of each; --metric
    shows the tests of one metric, --details the tests of all.

    Beside published results (--with) the pairs of the control alone are tested: by default the first method of your
    own configuration against each published one.

    Examples:

    * `mlrank compare results/repeated-folds`
    * `mlrank compare results/repeated-folds --details`
    * `mlrank compare results/yeast results/scene results/emotions --metric f1_macro --control Rank-SVM`
    * `mlrank compare results/repeated-folds --metric ranking_loss --rope 0.005 --label-tests`
    * `mlrank compare results/a results/b results/c --metric f1_micro --figure ranks.pdf`
    * `mlrank compare results/mine --with benchmark --metric f1_macro --control Mine` (published methods, same rows)
    * `mlrank compare results/repeated-folds --format latex > compared.tex`
    * `mlrank compare results/yeast results/scene --summary --format latex > ranks.tex`
    """
    from mlrank.cli.folders import read_folders, with_published
    from mlrank.errors import UserError
    from mlrank.records import dump_json

    labels = label_tests or old_labels
    if labels and published:
        raise UserError("--label-tests needs the scores of every row, which published results do not have")
    stored = with_published(read_folders(results), published)
    metrics = metric or stored.metrics
    brief = not as_json and _is_brief(details, labels, len(metrics), format)
    found = [_compared(stored, name, method, control, alpha, rope, not (brief or published)) for name in metrics]
    if figure is not None:
        _draw(found, figure)
    if as_json:
        print(dump_json([_plain(part) for part in found]), end="")
        return
    if brief:
        print_grids(_overview(found), format.value)
        if format is CompareFormat.rich:
            print("--metric NAME shows the tests of one metric, --details those of all")
        return
    shown: set[str] = set()
    print_grids([grid for part in found for grid in _grids(part, alpha, labels, shown)], format.value)


def _is_brief(details: bool | None, labels: bool, n_metrics: int, format: CompareFormat) -> bool:
    """Return whether one table is shown: as asked, else where it stands for many pages; files get these."""
    from mlrank.errors import UserError

    if details is False and labels:
        raise UserError("--label-tests goes with --details, found --summary")
    if details is not None:
        return not details
    return n_metrics > 1 and not labels and format is CompareFormat.rich


class _Compared:
    """One metric: what was left out, and the comparisons over data sets (if there are several), splits and labels."""

    def __init__(self, metric: str, left_out: list[str]) -> None:
        self.metric, self.left_out = metric, left_out
        self.datasets: OverDatasets | None = None
        self.splits: list[OverSplits] = []
        self.labels: list[list[LabelTests]] = []


def _compared(
    stored: "Stored",
    metric: str,
    methods: Sequence[str] | None,
    control: str | None,
    alpha: float,
    rope: float,
    labels: bool,
) -> _Compared:
    """Compare methods in one metric; without `labels` not label by label, which reads the arrays of every run."""
    from mlrank.stats import compare_datasets, compare_labels, compare_splits, gather

    repeats, left_out = gather(stored.in_metrics([metric], {control, *(methods or ())}), metric, methods)
    left_out = [*stored.notes, *left_out]
    found = _Compared(metric, left_out)
    if control is None and stored.published:
        control = next((method for method in stored.own_methods if method in repeats[0].methods), None)
    if len(repeats) > 1:
        found.datasets = compare_datasets(
            repeats, control=control, alpha=alpha, rope=rope, against_control=stored.published
        )
    for part in repeats:
        over = compare_splits(part, control=control, alpha=alpha, rope=rope, against_control=stored.published)
        found.splits.append(over)
        best = any(record.n_best is not None for by_method in part.records for record in by_method.values())
        if labels and best:
            found.left_out.append(f"{part.dataset} has very many labels, which are not compared one by one")
        every = labels and not best
        found.labels.append(
            compare_labels(part, stored.arrays, stored.label_names, over.control, alpha) if every else []
        )
    return found


def _overview(found: Sequence[_Compared]) -> list["Grid"]:
    """Return one table over data sets, and one for each data set of metrics that have no other."""
    from dataclasses import replace

    from mlrank.tables import overview_of_datasets, overview_of_splits

    over = [part.datasets for part in found if part.datasets]
    grids = [overview_of_datasets(over)] if over else []
    single = [part.splits[0] for part in found if not part.datasets]
    for dataset in dict.fromkeys(part.dataset for part in single):
        grids.append(overview_of_splits([part for part in single if part.dataset == dataset]))
    left_out = dict.fromkeys(line for part in found for line in part.left_out)
    last = grids[-1]
    return [*grids[:-1], replace(last, notes=(*last.notes, *left_out))]


def _grids(found: _Compared, alpha: float, labels: bool, shown: set[str]) -> list["Grid"]:
    """Return the tables of one metric; lines in `shown` are not repeated, as metrics share the tests of labels."""
    from dataclasses import replace

    from mlrank.stats import say_labels
    from mlrank.tables import grid_of_datasets, grid_of_labels, grid_of_splits

    grids = [grid_of_datasets(found.datasets)] if found.datasets else []
    for over, tests in zip(found.splits, found.labels, strict=True):
        grid = grid_of_splits(over)
        lines = [] if labels else [line for test in tests for line in say_labels(test, alpha) if line not in shown]
        shown.update(lines)
        grids.append(replace(grid, notes=(*grid.notes, *lines)))
        grids += [grid_of_labels(test, alpha) for test in tests] if labels else []
    first = grids[0]
    return [replace(first, notes=(*first.notes, *found.left_out)), *grids[1:]]


def _plain(found: _Compared) -> dict[str, object]:
    """Return a comparison as JSON values, with its sentences."""
    from mlrank.stats import cautions_of_datasets, cautions_of_splits, say_datasets, say_labels, say_splits

    over = found.datasets
    datasets = over and {**asdict(over), "sentences": [*say_datasets(over)], "cautions": [*cautions_of_datasets(over)]}
    splits = []
    for part, tests in zip(found.splits, found.labels, strict=True):
        words = {"sentences": [*say_splits(part)], "cautions": [*cautions_of_splits(part)]}
        labels = [{**asdict(test), "sentences": [*say_labels(test, part.alpha)]} for test in tests]
        splits.append({**asdict(part), **words, "labels": labels})
    return {"metric": found.metric, "left_out": found.left_out, "over_datasets": datasets, "over_splits": splits}


def _draw(found: Sequence[_Compared], path: Path) -> None:
    from mlrank.errors import UserError, unknown_name
    from mlrank.plots import FORMATS, critical_figure, render
    from mlrank.records.atomic import write_atomic

    fmt = path.suffix.lstrip(".").lower()
    if fmt not in FORMATS:
        raise UserError(unknown_name("format of a figure", fmt, FORMATS), path)
    over = [part.datasets for part in found if part.datasets]
    if len(found) != 1:
        raise UserError(f"--figure draws one metric: name it with --metric, found {len(found)}")
    if not over:
        raise UserError("critical differences are over two data sets and more, found one")
    write_atomic(path, render(critical_figure(over[0]), fmt))
    print(f"written to {path}", file=sys.stderr)
