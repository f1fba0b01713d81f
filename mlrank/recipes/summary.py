"""The results of all recipes on one page: a line for each table of each paper, then every claim with its verdict."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mlrank.recipes.compare import Comparison
from mlrank.recipes.recipe import GRADES
from mlrank.recipes.verdicts import CELL_VERDICTS, CLAIM_VERDICTS
from mlrank.records import RunRecord
from mlrank.tables.markup import markdown, markdown_table

__all__ = ["TableOutcome", "render_summary"]

CLAIM_COLUMNS = (*CLAIM_VERDICTS, "not comparable")
HEADER = ("table", "recipe", "data", "grade", "splits", *CELL_VERDICTS, *CLAIM_COLUMNS, "failed fits")
SIDES = "llll" + "r" * (len(HEADER) - 4)


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
    """

    recipe: str
    paper: str
    table: str
    page: str
    comparison: Comparison | None = None
    records: Sequence[RunRecord] = ()
    problem: str = ""

    @property
    def n_failed(self) -> int:
        """How many fits failed."""
        return sum(record.n_failed for record in self.records)


def render_summary(outcomes: Sequence[TableOutcome]) -> str:
    """Return the summary as Markdown; the same runs give the same text, whenever it is written."""
    lines = ["# The papers' tables beside ours", "", *_head(outcomes), ""]
    for paper in dict.fromkeys(outcome.paper for outcome in outcomes):
        mine = [outcome for outcome in outcomes if outcome.paper == paper]
        lines += [f"## {markdown(paper)}", "", *markdown_table(HEADER, [_row(o) for o in mine], SIDES), ""]
        lines += [*(line for outcome in mine for line in _lines(outcome)), ""]
    return "\n".join(lines).rstrip() + "\n"


def _head(outcomes: Sequence[TableOutcome]) -> list[str]:
    records = [record for outcome in outcomes for record in outcome.records]
    versions = sorted({record.software.mlrank for record in records})
    commits = sorted({(record.software.commit or "no commit")[:12] for record in records})
    machines = sorted({record.time.machine for record in records if record.time.machine})
    found = [outcome.comparison for outcome in outcomes if outcome.comparison]
    cells = _counts(CELL_VERDICTS, (cell.verdict for comparison in found for cell in comparison.cells))
    claims = _counts(CLAIM_COLUMNS, (claim.verdict for comparison in found for claim in comparison.claims))
    return [
        "Written by `mlrank reproduce all`, from runs of the recipes' default grids. In each row the first "
        f"{len(CELL_VERDICTS)} counts are of numbers of the paper, the next {len(CLAIM_COLUMNS)} of its claims; "
        f"`mlrank explain` gives the rule of each: {', '.join(dict.fromkeys([*CELL_VERDICTS, *CLAIM_COLUMNS]))}.",
        "",
        f"- software: mlrank {', '.join(versions) or 'unknown'}, commit {', '.join(commits) or 'unknown'}",
        f"- machine: {markdown('; '.join(machines) or 'unknown')}; every fit with 1 thread",
        f"- numbers: {_listed(cells)}",
        f"- claims: {_listed(claims)}",
        "- seconds are those of this machine: of run times only the claims are judged, by ratios",
    ]


def _counts(names: Iterable[str], found: Iterable[str]) -> dict[str, int]:
    counts = Counter(found)
    return {name: counts[name] for name in names}


def _listed(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.items())


def _row(outcome: TableOutcome) -> list[str]:
    found = outcome.comparison
    if found is None:
        return [markdown(outcome.table), outcome.recipe, "not run", *["-"] * (len(HEADER) - 3)]
    cells = _counts(CELL_VERDICTS, (cell.verdict for cell in found.cells))
    claims = _counts(CLAIM_COLUMNS, (claim.verdict for claim in found.claims))
    numbers = (found.n_splits, *cells.values(), *claims.values(), outcome.n_failed)
    linked = f"[{markdown(outcome.table)}]({outcome.page})"
    return [linked, outcome.recipe, markdown(found.dataset), GRADES[found.grade], *map(str, numbers)]


def _lines(outcome: TableOutcome) -> list[str]:
    where = f"**{markdown(outcome.table)}, {outcome.recipe}**"
    if outcome.comparison is None:
        return [f"- {where}: not run: {markdown(outcome.problem)}"]
    return [f"- {where}: {markdown(claim.line)}" for claim in outcome.comparison.claims]
