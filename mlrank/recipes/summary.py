"""The results of all recipes on one page: papers by verdict, then the tables of each, and its claims with verdicts."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mlrank.recipes.compare import Comparison
from mlrank.recipes.page import CELL_MARKS, cells_in_words, claim_mark, claims_in_words
from mlrank.recipes.readings_page import headline
from mlrank.recipes.readings_summary import PAGE, share_recovered
from mlrank.recipes.recipe import GRADES
from mlrank.recipes.recovery import ReadingsReport
from mlrank.recipes.verdicts import CELL_VERDICTS, CLAIM_VERDICTS
from mlrank.records import RunRecord
from mlrank.tables import Grid
from mlrank.tables.markup import markdown, markdown_table

__all__ = ["TableOutcome", "render_summary"]

CLAIM_COLUMNS = (*CLAIM_VERDICTS, "not comparable")
HEADER = ("table", "recipe", "data", "grade", "splits", "numbers", "claims", "failed fits")
SIDES = "llllrllr"
# What the first table counts: verdicts that say something of a paper, numbers first.
NUMBERS = tuple(name for name in CELL_VERDICTS if name != "not comparable")
CLAIMS = tuple(CLAIM_VERDICTS)


@dataclass(frozen=True)
class TableOutcome:
    """What became of one table.

    Parameters
    ----------
    recipe, paper, table : str
    page : str
        Name of the file that shows the whole table.
    comparison : Comparison or None
        None where it could not be run.
    records : sequence of run records
    problem : str
        Why it could not be run.
    readings : ReadingsReport or None
        What was stored of the table's readings.
    grid : Grid or None
        A table of related labels, which has no comparison.
    image : bytes or None
        The figure, as SVG.
    """

    recipe: str
    paper: str
    table: str
    page: str
    comparison: Comparison | None = None
    records: Sequence[RunRecord] = ()
    problem: str = ""
    readings: ReadingsReport | None = None
    grid: Grid | None = None
    image: bytes | None = None

    @property
    def image_name(self) -> str:
        """What the file of the figure is called."""
        return f"{self.page.removesuffix('.md')}.svg"

    @property
    def n_failed(self) -> int:
        """How many fits failed."""
        return sum(record.n_failed for record in self.records)


def render_summary(outcomes: Sequence[TableOutcome]) -> str:
    """Return the summary as Markdown; the same runs give the same text, whenever it is written."""
    lines = ["# The papers' tables beside ours", "", *_by_paper(outcomes), "", *_head(outcomes), ""]
    for paper in dict.fromkeys(outcome.paper for outcome in outcomes):
        mine = [outcome for outcome in outcomes if outcome.paper == paper]
        lines += [f"## {markdown(paper)}", "", *markdown_table(HEADER, [_row(o) for o in mine], SIDES), ""]
        lines += [*(line for outcome in mine for line in _lines(outcome)), ""]
    return "\n".join(lines).rstrip() + "\n"


def _by_paper(outcomes: Sequence[TableOutcome]) -> list[str]:
    """Return one row for each paper: how many of its numbers and claims have which verdict."""
    numbers = [_with_mark(name, CELL_MARKS[name]) for name in NUMBERS]
    header = ("paper", *numbers, *(_with_mark(name, claim_mark(name)) for name in CLAIMS))
    papers = dict.fromkeys(outcome.paper for outcome in outcomes)
    groups = {paper: [one for one in outcomes if one.paper == paper] for paper in papers}
    rows = [[markdown(_short(paper)), *map(str, _tally(mine))] for paper, mine in groups.items()]
    rows.append(["**all**", *(f"**{count}**" for count in _tally(outcomes))])
    explained = (
        f"The first {len(NUMBERS)} counts are of printed numbers, the others of claims. Seconds, and what is on "
        f"stand-in data, are left out, but for claims that their own table denies.{_on_related(outcomes)}"
    )
    return [*markdown_table(header, rows, "l" + "r" * (len(header) - 1)), "", explained]


def _on_related(outcomes: Iterable[TableOutcome]) -> str:
    """Return the sentence on numbers that no match could be found for, as they are of other collections."""
    found = [outcome.comparison for outcome in outcomes if outcome.comparison]
    cells = Counter(cell.verdict for one in found if one.grade == "related" for cell in one.cells)
    counted = _listed({name: cells[name] for name in NUMBERS if cells[name]})
    return f" Numbers on related collections, which cannot match, are among them: {counted}." if counted else ""


def _with_mark(name: str, mark: str) -> str:
    return f"{name} {mark}".rstrip()


def _tally(outcomes: Iterable[TableOutcome]) -> list[int]:
    found = [outcome.comparison for outcome in outcomes if outcome.comparison]
    cells = Counter(cell.verdict for comparison in found for cell in comparison.cells)
    claims = Counter(claim.verdict for comparison in found for claim in comparison.claims)
    return [*(cells[name] for name in NUMBERS), *(claims[name] for name in CLAIMS)]


def _short(paper: str) -> str:
    """Return the authors and the venue of a citation, if it is written in that order around a title.

    >>> _short("Sun, Ji and Ye, Hypergraph spectral learning, KDD 2008")
    'Sun, Ji and Ye, KDD 2008'
    """
    found = re.fullmatch(r"(.+? and [^,]+), .+, ([^,]+)", paper)
    return ", ".join(found.groups()) if found else paper


def _head(outcomes: Sequence[TableOutcome]) -> list[str]:
    records = [record for outcome in outcomes for record in outcome.records]
    versions = sorted({record.software.mlrank for record in records})
    commits = sorted({(record.software.commit or "no commit")[:12] for record in records})
    machines = sorted({record.time.machine for record in records if record.time.machine})
    found = [outcome.comparison for outcome in outcomes if outcome.comparison]
    read = [outcome.readings for outcome in outcomes if outcome.readings]
    cells = _counts(CELL_VERDICTS, (cell.verdict for comparison in found for cell in comparison.cells))
    claims = _counts(CLAIM_COLUMNS, (claim.verdict for comparison in found for claim in comparison.claims))
    return [
        "Written by `mlrank reproduce all`, from runs of the recipes' default grids. `mlrank explain` gives the rule "
        f"of each verdict: {', '.join(dict.fromkeys([*CELL_VERDICTS, *CLAIM_COLUMNS]))}.",
        "",
        f"- software: mlrank {', '.join(versions) or 'unknown'}, commit {', '.join(commits) or 'unknown'}",
        f"- machine: {markdown('; '.join(machines) or 'unknown')}; every fit with 1 thread",
        f"- numbers: {_listed(cells)}",
        f"- claims: {_listed(claims)}",
        *(_read(read) if read else ()),
        "- seconds are those of this machine: of run times only the claims are judged, by ratios",
    ]


def _read(reports: Sequence[ReadingsReport]) -> list[str]:
    """Return the line on readings, if numbers of the papers' own data were read."""
    n, own, best = share_recovered(reports)
    if not n:
        return [f"- [readings]({PAGE})"]
    return [
        f"- [readings]({PAGE}): of {n} numbers from the papers' own data {best} ({best / n:.0%}) match or are close "
        f"under one stated reading for each table, {own} ({own / n:.0%}) as the recipes stand, in their grids"
    ]


def _counts(names: Iterable[str], found: Iterable[str]) -> dict[str, int]:
    counts = Counter(found)
    return {name: counts[name] for name in names}


def _listed(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.items())


def _row(outcome: TableOutcome) -> list[str]:
    found = outcome.comparison
    if found is None and outcome.grid is not None:
        linked = f"[{markdown(outcome.table)}]({outcome.page})"
        return [linked, outcome.recipe, *["-"] * (len(HEADER) - 3), str(outcome.n_failed)]
    if found is None:
        return [markdown(outcome.table), outcome.recipe, "not run", *["-"] * (len(HEADER) - 3)]
    linked = f"[{markdown(outcome.table)}]({outcome.page})"
    numbers, claims = cells_in_words(found.cells) or "none", claims_in_words(found.claims) or "none"
    head = [linked, outcome.recipe, markdown(found.dataset), GRADES[found.grade], str(found.n_splits)]
    return [*head, numbers, claims, str(outcome.n_failed)]


def _lines(outcome: TableOutcome) -> list[str]:
    where = f"**{markdown(outcome.table)}, {outcome.recipe}**"
    if outcome.comparison is None and outcome.grid is not None:
        return []
    if outcome.comparison is None:
        return [f"- {where}: not run: {markdown(outcome.problem)}"]
    claims = outcome.comparison.claims
    read = outcome.readings
    tried = [f"- {where}: {markdown(' '.join(headline(read)))} [Readings]({read.recipe}-readings.md)"] if read else []
    return tried + [
        f"- {claim_mark(claim.verdict)} {where}: {markdown(claim.line)}".replace("-  ", "- ", 1) for claim in claims
    ]
