"""Whole recipes in one call: the tables of a paper beside ours, as `mlrank.reproduce` returns them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from mlrank.datasets.catalogue.fetch import fetch as fetch_entry
from mlrank.recipes.compare import Comparison
from mlrank.recipes.recipe import Recipe, load_recipe, recipes
from mlrank.recipes.render import comparison_grid
from mlrank.recipes.run import (
    RecipeRequest,
    Runner,
    attempt_all,
    data_to_fetch,
    draw_figures,
    plan_table,
    run_planned,
    run_table,
    write_page,
    write_summary,
)
from mlrank.recipes.summary import TableOutcome
from mlrank.records import RunRecord
from mlrank.tables import Grid, grid_to_html, render_grids
from mlrank.tables.markup import html

__all__ = ["Reproduction", "reproduce_all", "reproduce_one"]


@dataclass(frozen=True, repr=False)
class Reproduction:
    """Tables of a paper beside ours; a notebook shows them.

    Parameters
    ----------
    comparisons : tuple of Comparison
        The paper's numbers, ours, and the verdicts; empty for a table of related labels.
    tables : tuple of Grid
        What is shown.
    folder : Path
        The results folder of the table; for ``"all"`` the folder of SUMMARY.md.
    files : tuple of Path
        The files with tables and figures.
    notes : tuple of str
        Which data were used, how to get better ones, and what failed.
    """

    comparisons: tuple[Comparison, ...]
    tables: tuple[Grid, ...]
    folder: Path
    files: tuple[Path, ...]
    notes: tuple[str, ...]

    def __repr__(self) -> str:
        return "\n".join([*self.notes, "", render_grids(self.tables, "md")])

    def _repr_html_(self) -> str:
        notes = "".join(f"<li>{html(note)}</li>" for note in self.notes)
        return f"<ul>{notes}</ul>" + "".join(map(grid_to_html, self.tables))


def reproduce_one(name: str, request: RecipeRequest, runner: Runner, fetch: bool = False) -> Reproduction:
    """Run a table of a recipe; see `mlrank.reproduce`."""
    recipe = load_recipe(name)
    notes = _fetched([recipe]) if fetch else []
    runner = replace(runner, show=notes.append)
    plan = plan_table(recipe, request, runner)
    done = run_table(plan, runner)
    drawn = draw_figures(plan, done.experiment.folder, runner) if request.figures else []
    comparisons = (done.comparison,) if done.comparison else ()
    tables = (*map(comparison_grid, comparisons), *([done.related_table] if done.related_table else ()))
    notes += _failures(done.experiment.records)
    return Reproduction(comparisons, tables, done.experiment.folder.path, (*done.files, *drawn), tuple(notes))


def reproduce_all(runner: Runner, results: Path, fetch: bool = False) -> Reproduction:
    """Run every table and figure of every recipe and write the summary; one that cannot be run becomes a note."""
    chosen = [load_recipe(name) for name in recipes()]
    notes = _fetched(chosen) if fetch else []
    runner = replace(runner, show=notes.append)
    outcomes: list[TableOutcome] = []
    files: list[Path] = []
    for outcome in attempt_all(chosen, runner, partial(run_planned, runner=runner)):
        outcomes.append(outcome)
        files += write_page(outcome, results)
    files.insert(0, write_summary(outcomes, results))
    notes += [f"{o.table} of {o.recipe} was not run: {o.problem}" for o in outcomes if o.problem]
    notes += [f"{o.table} of {o.recipe}: failed fits: {o.n_failed}" for o in outcomes if o.n_failed]
    comparisons = tuple(outcome.comparison for outcome in outcomes if outcome.comparison)
    tables = (*map(comparison_grid, comparisons), *(outcome.grid for outcome in outcomes if outcome.grid))
    return Reproduction(comparisons, tables, files[0].parent, tuple(files), tuple(notes))


def _fetched(chosen: list[Recipe]) -> list[str]:
    entries = [entry for recipe in chosen if (entry := data_to_fetch(recipe))]
    return [line for entry in entries for line in fetch_entry(entry)]


def _failures(records: Sequence[RunRecord]) -> list[str]:
    return [f"{record.label} failed: {record.reason}" for record in records if not record.done]
