"""A comparison as a page to read: the verdict in three lines, paper and ours in one cell, reasons folded below."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from mlrank.recipes.claims import ClaimResult
from mlrank.recipes.compare import SECONDS, ComparedCell, Comparison
from mlrank.recipes.recipe import GRADES
from mlrank.recipes.verdicts import CELL_VERDICTS, printed_decimals
from mlrank.tables.markup import markdown, markdown_table

__all__ = ["CELL_MARKS", "cells_in_words", "claim_mark", "claims_in_words", "comparison_page", "folded"]

CELL_MARKS = {"matches": "✓", "close": "≈", "differs": "✗", "not attainable as named": "!", "not comparable": ""}
CLAIM_MARKS = {
    "holds": "✓",
    "fails": "✗",
    "contradicts its own table": "!",
    "depends on the reading": "±",
    "undecided": "?",
}
# How many a verdict is given to, for one and for several.
_CELLS = {
    "matches": ("matches", "match"),
    "close": ("is close", "are close"),
    "differs": ("differs", "differ"),
    "not attainable as named": ("is not attainable as named", "are not attainable as named"),
    "not comparable": ("is not comparable", "are not comparable"),
}
_CLAIMS = {
    "holds": ("holds", "hold"),
    "fails": ("fails", "fail"),
    "undecided": ("is undecided", "are undecided"),
    "other data": ("is judged on other data", "are judged on other data"),
    "depends on the reading": ("depends on the reading", "depend on the reading"),
    "contradicts its own table": ("contradicts its own table", "contradict their own table"),
    "not comparable": ("is not comparable", "are not comparable"),
}
SECONDS_DECIMALS = 2
NONE = "-"


def comparison_page(comparison: Comparison, image: str | None = None) -> str:
    """Return the page in Markdown.

    Parameters
    ----------
    image : the file beside the page with a figure to show
    """
    lines = [f"# {markdown(comparison.recipe)}: {markdown(comparison.table)}", "", markdown(comparison.paper), ""]
    lines += [*_headline(comparison), ""]
    if comparison.cells:
        lines += [*_table(comparison), "", *_legend(comparison), ""]
    if image:
        lines += [f"![{markdown(comparison.title)}]({image})", ""]
    if comparison.claims:
        lines += ["## Claims", "", *(f"- {_marked(claim)}" for claim in comparison.claims), ""]
        found = [(claim.text, claim.details) for claim in comparison.claims if claim.details]
        body = [line for text, details in found for line in (f"- {markdown(text)}", *_items(details, "  "))]
        lines += folded("What each claim was judged by", body)
    if any(cell.verdict != "not comparable" for cell in comparison.cells):
        lines += folded("Every number with its spread, and the reason for its verdict", _reasons(comparison))
    protocol = [note.removeprefix(PROTOCOL) for note in comparison.notes if note.startswith(PROTOCOL)]
    others = [note for note in comparison.notes if not note.startswith((PROTOCOL, "data: "))]
    lines += folded("What was decided where the paper is silent", list(_items(protocol)))
    lines += folded("Notes", list(_items(others)))
    return "\n".join(lines).rstrip() + "\n"


PROTOCOL = "protocol: "


def claim_mark(verdict: str) -> str:
    """Return the mark of a claim's verdict; "" for one that is about other data, or none."""
    return CLAIM_MARKS.get(verdict, "")


def folded(title: str, body: Sequence[str]) -> list[str]:
    """Return lines that are shown on a click; none without a body."""
    return ["<details>", f"<summary>{title}</summary>", "", *body, "", "</details>", ""] if body else []


def cells_in_words(cells: Iterable[ComparedCell]) -> str:
    """Return how many numbers have which verdict, such as "2 match, 1 is close"."""
    return _counted(_CELLS, [cell.verdict for cell in cells])


def claims_in_words(claims: Iterable[ClaimResult]) -> str:
    """Return how many claims have which verdict."""
    return _counted(_CLAIMS, [claim.verdict for claim in claims])


def _counted(words: dict[str, tuple[str, str]], verdicts: Sequence[str]) -> str:
    counts = Counter(verdicts)
    return ", ".join(f"{counts[name]} {words[name][counts[name] > 1]}" for name in words if counts[name])


def _headline(comparison: Comparison) -> Iterator[str]:
    judged = [cell for cell in comparison.cells if cell.verdict != "not comparable"]
    near = sum(cell.verdict in ("matches", "close") for cell in judged)
    if judged:
        numbers = f"{near} of {len(judged)} are recovered ({cells_in_words(judged)})"
    elif comparison.cells and all(cell.metric == SECONDS for cell in comparison.cells):
        numbers = "none is comparable: they are seconds of another machine"
    else:
        numbers = "none is comparable"
    splits = f"{comparison.n_splits} split{'s' if comparison.n_splits != 1 else ''}"
    data = next((note.removeprefix("data: ") for note in comparison.notes if note.startswith("data: ")), "")
    if comparison.cells:
        yield f"**Numbers:** {numbers}.  "
    yield f"**Claims:** {claims_in_words(comparison.claims) or 'none'}.  "
    yield f"**Data:** {markdown(comparison.dataset)}, {GRADES[comparison.grade]}, {splits}: {markdown(data)}."


def _table(comparison: Comparison) -> list[str]:
    metrics = list(dict.fromkeys(cell.metric for cell in comparison.cells))
    methods = list(dict.fromkeys(cell.method for cell in comparison.cells))
    cells = {(cell.method, cell.metric): cell for cell in comparison.cells}
    decimals = printed_decimals(cell.paper for cell in comparison.cells)
    rows = [
        [markdown(method), *(_cell(cells.get((method, metric)), decimals) for metric in metrics)] for method in methods
    ]
    return markdown_table(["method", *map(markdown, metrics)], rows, "l" + "r" * len(metrics))


def _cell(cell: ComparedCell | None, decimals: int) -> str:
    if cell is None:
        return ""
    paper, ours = (_number(value, cell.metric, decimals) for value in (cell.paper, cell.ours))
    return f"{paper} / {ours} {CELL_MARKS[cell.verdict]}".rstrip()


def _number(value: float | None, metric: str, decimals: int) -> str:
    """Return a number as papers print it, without a zero before the point."""
    if value is None:
        return NONE
    if metric == SECONDS:
        return f"{value:.{SECONDS_DECIMALS}f}"
    text = f"{value:.{decimals}f}"
    return text.replace("0.", ".", 1) if text.startswith(("0.", "-0.")) else text


def _legend(comparison: Comparison) -> Iterator[str]:
    found = {cell.verdict for cell in comparison.cells}
    marks = [f"{mark} {verdict}" for verdict, mark in CELL_MARKS.items() if mark and verdict in found]
    others = ["no mark: not comparable"] if marks and "not comparable" in found else []
    what = f": {', '.join([*marks, *others])}" if marks else ""
    yield f"The paper's number / ours{what}. Rules: `mlrank explain matches`."


def _marked(claim: ClaimResult) -> str:
    return f"{claim_mark(claim.verdict)} {markdown(claim.line)}".strip()


def _reasons(comparison: Comparison) -> list[str]:
    header = ("method", "metric", "paper", "ours", "ours minus paper's", "verdict", "reason")
    rows = [
        [
            markdown(cell.method),
            markdown(cell.metric),
            _spread(cell.paper, cell.paper_spread),
            _spread(cell.ours, cell.ours_spread),
            NONE if cell.difference is None else f"{cell.difference:+.4f}",
            cell.verdict,
            markdown(cell.reason),
        ]
        for cell in comparison.cells
        if cell.verdict in CELL_VERDICTS
    ]
    return markdown_table(header, rows, "llrrrll")


def _spread(value: float | None, spread: float | None) -> str:
    if value is None:
        return NONE
    return f"{value:.4f}" + ("" if spread is None else f" ± {spread:.4f}")


def _items(lines: Iterable[str], indent: str = "") -> Iterator[str]:
    return (f"{indent}- {markdown(line)}" for line in lines)
