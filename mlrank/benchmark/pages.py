"""The pages of the published benchmark, made of its records alone."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median

from mlrank.benchmark.pieces import is_tuned, method_and_cut
from mlrank.benchmark.ranks import Ranked, ranked, tau
from mlrank.metrics import METRICS
from mlrank.plots import render
from mlrank.plots.critical import CriticalFigure
from mlrank.plots.panels import Curve, Panel, PanelFigure
from mlrank.records import RunRecord
from mlrank.records.atomic import write_atomic
from mlrank.tables import Grid, GridLayout, Shown, arrange, render_grids

__all__ = ["METRICS_OF_PAGES", "write_pages"]

METRICS_OF_PAGES = ("lrap", "ranking_loss", "auc_macro", "f1_macro", "f1_micro", "hamming_loss")
# Metrics that differ in what is averaged over: whether the order of methods depends on it.
AVERAGES = ("f1_macro", "f1_micro", "f1_samples", "auc_macro", "auc_micro", "auc_samples")
# Metrics that are called the AUC of rows in one paper or another.
AUC_OF_ROWS = (
    *("auc_samples", "auc_samples_single", "auc_samples_multi"),
    *("auc_rank_curve", "auc_rank_curve_single", "auc_rank_curve_multi", "auc_rank_curve_mean"),
)
WHO = (
    "mlrank's authors ran this benchmark. They chose the data sets, grids, cuts and limits, and know their own solvers "
    "better than the others: read a good place of one of mlrank's solvers with that in mind. No method was tuned by "
    "its authors, none was left out for losing, and no number here says that a method is the best without its test."
)
MARKS = (
    "Means and standard deviations over the folds, each label's cut fitted where a column says tuned. Bold: the best "
    "of a column, underlined: the second; ‡: the fit sees the features of the test rows, not their labels; †: a fit "
    "stopped before its tolerance. A mean over fewer folds, as fits failed ([failures.md](failures.md)), is never the "
    "best."
)
NOTE = "<!-- Written by mlrank benchmark pages: change what it reads, and run it. -->"


def write_pages(folder: Path, records: Sequence[RunRecord]) -> list[Path]:
    """Write the pages and figures, and return their paths.

    Parameters
    ----------
    folder : Path
    records : all published runs, one or more
    """
    found = [one for metric in METRICS_OF_PAGES for cut in _cuts(metric) if (one := ranked(records, metric, cut))]
    files = {
        "README.md": _page("The reference benchmark", _summary(records), _links()),
        "tables.md": _page("Data sets by methods", MARKS, _tables(records)),
        "ranks.md": _page("Mean ranks", *map(_rank_text, found)),
        "speed.md": _page("Speed against accuracy", "![Seconds of a fit, mean rank](speed.svg)", _speed(records)),
        "failures.md": _page("Where methods fail", _failures(records)),
        "sensitivity.md": _page(
            "How firm the ranks are",
            _leaving_out(found),
            _agreements(records, AVERAGES, "macro averages over labels, micro over entries, samples over rows"),
            _agreements(records, AUC_OF_ROWS, "all of them are called AUC in one paper or another"),
            _conventions(records, found),
        ),
    }
    written = {name: text.encode() for name, text in files.items()}
    written |= {_figure_name(one): render(_critical(one), "svg") for one in found if one.difference is not None}
    if figure := _speed_figure(records):
        written["speed.svg"] = render(figure, "svg")
    for name, content in written.items():
        write_atomic(folder / name, content)
    return [folder / name for name in written]


def _cuts(metric: str) -> tuple[str, ...]:
    return ("natural", "tuned") if METRICS[metric].needs == "sets" else ("natural",)


def _page(title: str, *parts: str) -> str:
    return "\n\n".join((f"# {title}", NOTE, WHO, *(part.strip() for part in parts if part))) + "\n"


def _summary(records: Sequence[RunRecord]) -> str:
    done = [one for one in records if one.done]
    seconds = sum((one.time.search or 0.0) * (not is_tuned(one)) + (one.time.fit or 0.0) for one in records)
    seconds += sum(one.time.threshold or 0.0 for one in records)
    fits = sum(one.search.n_trials * (not is_tuned(one)) + 1 for one in records)
    failed = sum(one.search.n_failed * (not is_tuned(one)) + (not one.done) for one in records)
    unconverged = sum(not one.fit.converged for one in done)
    sets, methods = ({*names} for names in zip(*((r.dataset.name, method_and_cut(r)[0]) for r in records), strict=True))
    certified = sum(one.fit.certificate is not None for one in done)
    versions = sorted({f"mlrank {one.software.mlrank}" for one in records})
    commits = sorted({(one.software.commit or "no commit")[:12] for one in records})
    machines = sorted({one.time.machine for one in records if one.time.machine})
    lines = (
        f"- {len(records)} runs: {len(sets)} data set{'s'[: len(sets) > 1]}, {len(methods)} methods with two cuts, "
        f"{len({one.split for one in records})} folds; {len(done)} have results, {len(records) - len(done)} failed",
        f"- {fits} fits and searched points, of which {failed} failed; {seconds / 3600:.2f} hours of fitting",
        f"- {unconverged} runs stopped before their tolerance; {certified} carry a certificate",
        f"- {', '.join(versions)}, commits {', '.join(commits)}",
        f"- machines: {', '.join(machines) or 'unknown'}; seconds of different machines are not to be compared",
    )
    data = {one.dataset.name: one.dataset for one in records}
    rows = tuple(
        (Shown(name), *(Shown(str(n)) for n in (d.n_samples, d.n_features, d.n_labels)), Shown(f"{d.cardinality:.2f}"))
        for name, d in data.items()
    )
    header = ("data set", "rows", "features", "labels", "labels a row")
    grid = Grid("Data sets as they were used", header, "lrrrr", rows, ())
    return "\n".join(lines) + "\n\n" + render_grids([grid], "md")


def _links() -> str:
    pages = {
        "ranks.md": "mean ranks and critical differences",
        "tables.md": "data sets by methods",
        "speed.md": "speed against accuracy",
        "failures.md": "where each method fails, and why",
        "sensitivity.md": "how far ranks depend on metrics and data sets",
    }
    files = {
        "benchmark.csv.xz": "every number, a row for each data set, split, method, cut and metric; also as parquet",
        "rows.csv.xz": "the fold that tests each row, with the hashes of the splits in splits.csv",
    }
    return "\n".join(f"- [{name}]({name}): {what}" for name, what in ({**pages, **files}).items())


def _tables(records: Sequence[RunRecord]) -> str:
    grids = []
    for metric in METRICS_OF_PAGES:
        shown = [_column(one) for one in records if METRICS[metric].needs == "sets" or not is_tuned(one)]
        grids += arrange(shown, [metric], GridLayout.of(cols="dataset"), 4)
    return render_grids([replace(grid, notes=()) for grid in grids], "md")


def _column(record: RunRecord) -> RunRecord:
    """Return the run as one of its method, on a data set that is called after the cut where that is tuned."""
    method, cut = method_and_cut(record)
    name = record.dataset.name if cut == "natural" else f"{record.dataset.name}, {cut}"
    return replace(record, method=method, dataset=replace(record.dataset, name=name))


def _rank_text(one: Ranked) -> str:
    rows = tuple(
        (Shown(name), Shown(f"{rank:.2f}"), *(Shown(f"{score:.4f}") for score in column))
        for name, rank, column in zip(one.methods, one.mean_ranks, one.scores.T, strict=True)
    )
    header = ("method", "mean rank", *one.datasets)
    grid = Grid(f"{one.metric}, {one.cut} cut", header, "l" + "r" * (len(header) - 1), rows, one.left_out)
    test = "Too few data sets, or no difference: nothing is tested."
    if one.difference is not None:
        test = (
            f"Friedman's test by F: p = {one.p:.2g}. By Nemenyi's test at 0.05 two methods differ if their mean ranks "
            f"are {one.difference:.2f} or more apart; the bars of the figure join those that are not.\n\n"
            f"![Critical differences]({_figure_name(one)})"
        )
    return f"{test}\n\n{render_grids([grid], 'md')}"


def _figure_name(one: Ranked) -> str:
    return f"ranks-{one.metric}-{one.cut}.svg"


def _critical(one: Ranked) -> CriticalFigure:
    ranks, difference = tuple(map(float, one.mean_ranks)), one.difference or 0.0
    return CriticalFigure(f"{one.metric}, {one.cut} cut", one.methods, ranks, difference, one.groups)


def _pace(records: Sequence[RunRecord]) -> list[tuple[str, float, float, bool]]:
    """Return method, median seconds of a fit, mean rank in lrap, and whether no other is both faster and better."""
    one = ranked(records, "lrap", "natural")
    if one is None:
        return []
    seconds = {
        name: median(
            record.time.fit or 0.0
            for record in records
            if record.method == name and record.done and record.dataset.name in one.datasets
        )
        for name in one.methods
    }
    points = [(name, seconds[name], float(rank)) for name, rank in zip(one.methods, one.mean_ranks, strict=True)]
    return [
        (name, time, rank, not any((t <= time and r <= rank) and (t < time or r < rank) for _, t, r in points))
        for name, time, rank in points
    ]


def _speed(records: Sequence[RunRecord]) -> str:
    rows = tuple(
        (Shown(name), Shown(f"{seconds:.3g}"), Shown(f"{rank:.2f}"), Shown("yes" if first else ""))
        for name, seconds, rank, first in _pace(records)
    )
    header = ("method", "median seconds of a fit", "mean rank in lrap", "none is faster and better")
    notes = ("seconds with one thread, on the machines that the first page names",)
    return render_grids([Grid("Natural cuts", header, "lrrl", rows, notes)], "md")


def _speed_figure(records: Sequence[RunRecord]) -> PanelFigure | None:
    points = _pace(records)
    if not points:
        return None
    curves = []
    for label, first in (("none is faster and better", True), ("others", False)):
        mine = [point for point in points if point[3] is first]
        if mine:
            seconds, ranks = tuple(point[1] for point in mine), tuple(point[2] for point in mine)
            names = tuple(point[0] for point in mine) if first else ()
            curves.append(Curve(label, seconds, ranks, kind="points", names=names))
    title = "Seconds of a fit against the mean rank in lrap"
    return PanelFigure(title, (Panel("natural cuts", tuple(curves)),), "median seconds", "mean rank", log_x=True)


def _failures(records: Sequence[RunRecord]) -> str:
    rows = []
    groups: dict[tuple[str, str], list[RunRecord]] = {}
    for one in records:
        groups.setdefault((one.method, one.dataset.name), []).append(one)
    for (method, dataset), mine in sorted(groups.items()):
        reasons = Counter(one.reason for one in mine if not one.done)
        lost = sum(one.search.n_failed for one in mine if one.done)
        stopped = sum(one.done and not one.fit.converged for one in mine)
        if reasons or lost or stopped:
            why = "; ".join(f"{reason} ({count})" for reason, count in reasons.most_common())
            counts = (Shown(str(n)) for n in (sum(reasons.values()), lost, stopped))
            rows.append((Shown(method), Shown(dataset), *counts, Shown(why)))
    if not rows:
        return "No run failed, no point of a search failed, and every fit reached its tolerance."
    header = ("method", "data set", "runs failed", "points failed in the other runs", "stopped before tolerance", "why")
    return render_grids([Grid("Runs that failed or stopped early", header, "llrrrl", tuple(rows), ())], "md")


def _leaving_out(found: Sequence[Ranked]) -> str:
    return "\n\n".join(_spans(one) for one in found if one.without is not None) or "One data set: none can be left out."


def _spans(one: Ranked) -> str:
    without = one.without
    if without is None:
        raise ValueError("one data set cannot be left out")
    rows = tuple(
        (Shown(name), Shown(f"{rank:.2f}"), Shown(f"{column.min():.2f} to {column.max():.2f}"))
        for name, rank, column in zip(one.methods, one.mean_ranks, without.T, strict=True)
    )
    firsts = Counter(one.methods[int(row.argmin())] for row in without)
    note = "first with each data set left out: " + ", ".join(f"{name} {n} times" for name, n in firsts.most_common())
    title = f"{one.metric}, {one.cut} cut: mean ranks with each data set left out"
    return render_grids([Grid(title, ("method", "all", "with one left out"), "lrr", rows, (note,))], "md")


def _agreements(records: Sequence[RunRecord], metrics: Sequence[str], note: str) -> str:
    """Return Kendall's tau between the orders of methods by metrics that differ in what they average."""
    found = [one for metric in metrics if (one := ranked(records, metric, "natural"))]
    rows = tuple(_agreement(one, found) for one in found)
    header = ("metric", *(one.metric for one in found))
    title = "Kendall's tau between the mean ranks of two metrics, natural cuts"
    notes = (f"1: the same order of the methods; {note}",)
    return render_grids([Grid(title, header, "l" + "r" * len(found), rows, notes)], "md") if rows else ""


def _agreement(one: Ranked, found: Sequence[Ranked]) -> tuple[Shown, ...]:
    values = [tau(one, other) for other in found]
    return (Shown(one.metric), *(Shown("-" if value is None else f"{value:.2f}") for value in values))


def _conventions(records: Sequence[RunRecord], found: Sequence[Ranked]) -> str:
    """Return how far ranks move where undefined terms count 0 or 1, as in other packages, and are not left out."""
    rows = []
    for ours in found:
        metric, cut = ours.metric, ours.cut
        terms = [one.metrics[metric] for one in records if metric in one.metrics and is_tuned(one) == (cut == "tuned")]
        if lacking := sum(one.n_total - one.n_defined for one in terms):
            share = f"{lacking / sum(one.n_total for one in terms):.1%}"
            moved = [cell for value in (0.0, 1.0) for cell in _moved(ours, ranked(records, metric, cut, value))]
            rows.append((Shown(metric), Shown(cut), Shown(share), *moved))
    if not rows:
        return "No term of the metrics of these pages is undefined: no convention for such terms changes a rank."
    header = ("metric", "cut", "undefined", "tau if 0", "moves most if 0", "tau if 1", "moves most if 1")
    notes = (
        "undefined: share of the labels or rows that a mean is over, such as F1 of a label that no row has or is given",
        "tau: Kendall's, with the order where undefined terms are left out, as in all tables here",
        "moves most: the method whose mean rank changes most, and by how much; minus: to a better one",
    )
    return render_grids([Grid("Where undefined terms count 0 or 1", header, "llrrlrl", tuple(rows), notes)], "md")


def _moved(ours: Ranked, other: Ranked | None) -> tuple[Shown, Shown]:
    """Return Kendall's tau of two orders, and the method whose mean rank changes most from one to the other."""
    value = None if other is None else tau(ours, other)
    if other is None or value is None:
        return Shown("-"), Shown("-")
    before, after = (dict(zip(one.methods, one.mean_ranks.tolist(), strict=True)) for one in (ours, other))
    most = max((name for name in after if name in before), key=lambda name: abs(after[name] - before[name]))
    change = after[most] - before[most]
    return Shown(f"{value:.2f}"), Shown(f"{most} {change:+.2f}" if change else "none")
