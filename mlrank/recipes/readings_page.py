"""What readings recover, as a page in Markdown, as a grid for the terminal, and as a specification curve."""

from collections.abc import Sequence

from mlrank.plots.specification import Specification, SpecificationFigure
from mlrank.recipes.compare import Comparison
from mlrank.recipes.recipe import GRADES
from mlrank.recipes.recovery import ReadingOutcome, ReadingsReport
from mlrank.recipes.render import render_comparison
from mlrank.tables import Grid, Shown
from mlrank.tables.markup import markdown, markdown_table

__all__ = [
    "ENOUGH",
    "chance_in_words",
    "departed",
    "headline",
    "readings_grid",
    "readings_page",
    "specification_figure",
]

# The share of a table's numbers from which on a reading is called one that recovers it; ours, as no paper has one.
ENOUGH = 0.6


def headline(report: ReadingsReport) -> list[str]:
    """Return what came of the readings, in a few sentences."""
    own, best, n = report.readings[0], report.readings[report.best], report.n_numbers
    splits = f"{report.n_splits} split{'s' if report.n_splits != 1 else ''}"
    tried = f"{len(report.readings)} readings were tried in grid '{report.grid}' on {splits}"
    if report.left_out:
        tried += f"; a budget left out {report.left_out} more"
    if not n:
        return [
            f"{tried}. On {GRADES[report.grade]} no number of the paper can be recovered: the claims alone are read.",
            *_one_split(report),
        ]
    lines = [f"{tried}. There the recipe as it stands recovers {_counted(own, n)}."]
    if report.best == 0:
        lines.append("No other reading recovers more.")
    else:
        most = "most" if best.recovered > own.recovered else "as many, with more matches"
        lines.append(f"Of the whole table {departed(report, best)} recovers {most}: {_counted(best, n)}.")
    verdict = "That is a table recovered" if best.recovered >= ENOUGH * n else "No reading recovers the table"
    lines.append(f"{verdict} (we ask for {ENOUGH:.0%} of its numbers under one reading).{_luck(report)}")
    return [*lines, *_one_split(report)]


def _one_split(report: ReadingsReport) -> list[str]:
    """Return the sentence that keeps readings without a test from being taken for readings that agree."""
    return ["On one split no claim is decided under any reading."] if report.claims and report.n_splits == 1 else []


def _counted(outcome: ReadingOutcome, n: int) -> str:
    return f"{outcome.recovered} of {n} numbers ({outcome.matches} match, {outcome.close} are close)"


def departed(report: ReadingsReport, outcome: ReadingOutcome) -> str:
    """Return the choices of a reading that are not the recipe's, in words; empty for the recipe as it stands."""
    choices = outcome.choices.items()
    return ", ".join(f"{name}: {choice}" for name, choice in choices if choice != report.questions[name].default)


def _luck(report: ReadingsReport) -> str:
    best = report.readings[report.best].recovered
    if report.chance is None or not best:
        return ""
    deals = f"all {report.deals} orders" if report.every_deal else f"{report.deals} random orders"
    return (
        f" With the printed rows dealt to the methods anew, the best of the {len(report.readings)} readings recovers "
        f"at least {best} in {chance_in_words(report.chance)} of {deals}."
    )


def chance_in_words(chance: float) -> str:
    """Return a chance in percent; never as 0, as the printed order is among those that it is a share of.

    >>> chance_in_words(0.083), chance_in_words(0.0001)
    ('8.3%', 'under 0.1%')
    """
    return "under 0.1%" if chance < 0.0005 else f"{chance:.1%}"


def _varied(report: ReadingsReport) -> list[str]:
    """Return the questions of which more than one choice was read."""
    return [name for name, question in report.questions.items() if len(question.choices) > 1]


def _ranked(report: ReadingsReport) -> list[tuple[int, ReadingOutcome]]:
    """Return the readings with their places, those that recover most first."""
    return sorted(enumerate(report.readings), key=lambda one: (-one[1].recovered, -one[1].matches, one[0]))


_SHORT = {"holds": "holds", "fails": "fails", "undecided": "-"}


def readings_grid(report: ReadingsReport) -> Grid:
    """Return all readings as a table, those that recover most first."""
    claims = [f"claim {place + 1}" for place in range(len(report.claims))]
    varied = _varied(report)
    header = ("", *varied, "matches", "close", "recovered", *claims)
    rows = []
    for place, one in _ranked(report):
        choices = [Shown("the recipe" if place == 0 else ""), *(Shown(one.choices[name]) for name in varied)]
        counts = [Shown(str(count)) for count in (one.matches, one.close, one.recovered)]
        rows.append((*choices, *counts, *(Shown(_SHORT[claim.ordering]) for claim in one.claims)))
    sides = "l" * (1 + len(varied)) + "rrr" + "l" * len(claims)
    title = f"Readings of {report.table} of {report.paper} on {report.dataset} ({GRADES[report.grade]})"
    notes = [*headline(report)]
    notes += [
        f"claim {place + 1}, '{claim.text}': {claim.verdict} ({claim.says})"
        for place, claim in enumerate(report.claims)
    ]
    return Grid(title, header, sides, tuple(rows), tuple(notes))


def readings_page(report: ReadingsReport, under_best: Comparison, figure: str | None = None) -> str:
    """Return the page of a table's readings.

    Parameters
    ----------
    under_best : the paper's table beside ours, under the reading that recovers most
    figure : the name of the file with the specification curve beside the page
    """
    grid = readings_grid(report)
    questions = [
        [markdown(name), markdown(q.paper), ", ".join(_choice(c, q.default) for c in q.choices)]
        for name, q in report.questions.items()
        if len(q.choices) > 1
    ]
    claims = [
        [str(place + 1), markdown(claim.text), claim.verdict, markdown(claim.says)]
        for place, claim in enumerate(report.claims)
    ]
    body = [[markdown(cell.text) for cell in row] for row in grid.rows]
    lines = [f"# {markdown(grid.title)}", "", *(f"{markdown(line)}  " for line in headline(report)), ""]
    lines += ["## What the paper leaves open", ""]
    lines += [
        *markdown_table(("question", "what the paper has", "choices (the recipe's in bold)"), questions, "lll"),
        "",
    ]
    lines += ["## Claims", ""]
    lines += [*markdown_table(("", "claim", "verdict", "under which readings"), claims, "rlll"), ""]
    if figure:
        lines += [f"![Specification curve of a claim]({figure})", ""]
    lines += ["## All readings", "", *markdown_table([markdown(h) for h in grid.header], body, grid.sides), ""]
    lines += ["A dash stands for undecided. Rules: `mlrank explain readings`.", ""]
    lines += ["## The table under the reading that recovers most", "", render_comparison(under_best, "md").rstrip()]
    return "\n".join(lines) + "\n"


def _choice(name: str, default: str) -> str:
    return f"**{markdown(name)}**" if name == default else markdown(name)


def specification_figure(report: ReadingsReport) -> SpecificationFigure | None:
    """Return the curve of the claim that depends most on the reading, by how many readings decide it otherwise.

    None where there is one reading, or no claim whose difference is known under all.
    """
    known = [
        place
        for place in range(len(report.claims))
        if all(one.claims[place].difference is not None for one in report.readings)
    ]
    if len(report.readings) < 2 or not known:
        return None
    place = max(known, key=lambda at: (_disputed(report.readings, at), -at))
    marks = {report.best: "recovers most", 0: "the recipe"}
    if report.best == 0:
        marks = {0: "the recipe, recovers most" if report.readings[0].recovered else "the recipe"}
    found = ("holds", "fails", "undecided")
    varied = _varied(report)
    specifications = tuple(
        Specification(
            float(one.claims[place].difference or 0.0),
            one.claims[place].ordering,
            {name: one.choices[name] for name in varied},
            marks.get(at, ""),
        )
        for at, one in enumerate(report.readings)
    )
    claim = report.claims[place]
    title = f"'{claim.text}'\n{report.table}, {report.dataset}"
    notes = (
        "difference of the pair of methods that is furthest from the claim, over its measures: above 0 all pairs are "
        "as claimed",
        f"{claim.verdict}: {claim.says}",
    )
    return SpecificationFigure(title, "difference", specifications, found, notes)


def _disputed(readings: Sequence[ReadingOutcome], place: int) -> int:
    orderings = [one.claims[place].ordering for one in readings]
    return min(orderings.count("holds"), orderings.count("fails"))
