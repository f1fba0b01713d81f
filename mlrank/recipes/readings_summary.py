"""The readings of all recipes on one page: what each table recovers, by luck how likely, and which tables none does."""

from collections.abc import Sequence
from pathlib import Path

from mlrank.recipes.compare import OWN_DATA
from mlrank.recipes.readings_page import ENOUGH, chance_in_words, departed
from mlrank.recipes.recipe import GRADES
from mlrank.recipes.recovery import ReadingsReport, stored_readings
from mlrank.tables.markup import markdown, markdown_table

__all__ = ["PAGE", "READINGS_END", "all_stored_readings", "readings_summary", "share_recovered"]

PAGE = "readings.md"
READINGS_END = "-readings.json"
HEADER = (
    "table",
    "recipe",
    "grade",
    "grid",
    "splits",
    "readings",
    "numbers",
    "as the recipe stands",
    "best single reading",
    "which",
    "luck",
    "claims that change",
)
SIDES = "llllrrrrrlrr"


def all_stored_readings(folder: Path) -> list[ReadingsReport]:
    """Return the readings that are stored in a folder, by the names of their recipes.

    Raises
    ------
    UserError
        If a file is damaged.
    """
    names = sorted(path.name.removesuffix(READINGS_END) for path in folder.glob(f"*{READINGS_END}"))
    return [report for name in names if (report := stored_readings(folder, name)) is not None]


def share_recovered(reports: Sequence[ReadingsReport]) -> tuple[int, int, int]:
    """Return how many numbers from the papers' own data can be recovered, how many are as the recipes stand, and how
    many under one reading for each table.
    """
    own = [report for report in reports if report.grade in OWN_DATA]
    n = sum(report.n_numbers for report in own)
    return n, sum(one.readings[0].recovered for one in own), sum(one.readings[one.best].recovered for one in own)


def readings_summary(reports: Sequence[ReadingsReport], recipes: Sequence[str]) -> str:
    """Return the page; the same reports give the same text.

    Parameters
    ----------
    recipes : names of all recipes, those without stored readings too
    """
    lines = ["# What readings of the papers recover", ""]
    lines += [
        "Written by `mlrank reproduce NAME --readings` from all readings that are stored (`NAME-readings.json`). A "
        "reading takes one choice for everything that a paper leaves open; the best one is chosen for a whole table, "
        "never for one number. Luck is the share of orders of the printed rows in which the best of as many readings "
        "recovers as many numbers: near 1, the numbers say nothing about the methods. Rules: `mlrank explain "
        "readings`, `mlrank explain recovered`, `mlrank explain luck`.",
        "",
    ]
    lines += [f"- {line}" for line in _totals(reports)]
    if missing := [name for name in recipes if name not in {report.recipe for report in reports}]:
        lines.append(f"- no readings are stored of: {', '.join(missing)}")
    lines += ["", *markdown_table(HEADER, [_row(report) for report in reports], SIDES), ""]
    lines += ["## Claims that depend on the reading", ""]
    depends = [
        f"- {report.recipe}: '{markdown(claim.text)}': {markdown(claim.says)}"
        for report in reports
        for claim in report.claims
        if claim.verdict == "depends on the reading"
    ]
    return "\n".join([*lines, *(depends or ["None."])]) + "\n"


def _totals(reports: Sequence[ReadingsReport]) -> list[str]:
    lines = []
    n, own, best = share_recovered(reports)
    if n:
        enough = "that is what we ask for" if best >= ENOUGH * n else f"we ask for {ENOUGH:.0%}"
        lines.append(
            f"of {n} numbers from the papers' own data, {own} ({own / n:.0%}) match or are close as the recipes stand, "
            f"and {best} ({best / n:.0%}) under one stated reading for each table: {enough}"
        )
    groups = {
        "recovered by their best reading": [one for one in reports if _is_recovered(one)],
        "that no reading recovers": [one for one in reports if one.n_numbers and not _is_recovered(one)],
    }
    for what, found in groups.items():
        named = ", ".join(f"{one.recipe} ({one.readings[one.best].recovered} of {one.n_numbers})" for one in found)
        lines.append(f"tables {what} ({ENOUGH:.0%} of their numbers): {named or 'none'}")
    if standing := [report.recipe for report in reports if not report.n_numbers]:
        lines.append(f"on stand-in data, where the claims alone are read: {', '.join(standing)}")
    return lines


def _is_recovered(report: ReadingsReport) -> bool:
    return bool(report.n_numbers) and report.readings[report.best].recovered >= ENOUGH * report.n_numbers


def _row(report: ReadingsReport) -> list[str]:
    own, best = report.readings[0], report.readings[report.best]
    tried = str(len(report.readings)) + (f" of {len(report.readings) + report.left_out}" if report.left_out else "")
    counts = [str(own.recovered), str(best.recovered)] if report.n_numbers else ["-", "-"]
    which = departed(report, best) or "the recipe"
    depend = sum(claim.verdict == "depends on the reading" for claim in report.claims)
    return [
        f"[{markdown(report.table)}]({report.recipe}-readings.md)",
        report.recipe,
        GRADES[report.grade],
        report.grid,
        str(report.n_splits),
        tried,
        str(report.n_numbers),
        *counts,
        markdown(which) if report.n_numbers else "-",
        "-" if report.chance is None else chance_in_words(report.chance),
        # On one split none can change, as none is decided.
        f"{depend} of {len(report.claims)}" if report.n_splits > 1 else "-",
    ]
