"""The paper's table of related labels: which labels a mapping of low rank takes to be alike."""

from collections.abc import Mapping, Sequence
from typing import Any

from mlrank.recipes.data import experiment_mapping
from mlrank.recipes.recipe import Recipe
from mlrank.recipes.recipe_parts import GRADES, DataOption, RelatedTable, grade_on, is_called
from mlrank.records import RunRecord
from mlrank.tables import Grid, Shown
from mlrank.yamlfile import YamlMapping

__all__ = ["Related", "related_grid", "related_mapping", "related_of"]

# Per label, the most similar labels with their cosines.
Related = Mapping[str, Sequence[tuple[str, float]]]


def related_of(recipe: Recipe, table: str) -> RelatedTable | None:
    """Return the table of related labels if that is asked for, by its name or number."""
    found = recipe.related
    return found if found is not None and is_called(found.table, table) else None


def related_mapping(recipe: Recipe, table: RelatedTable, option: DataOption, user_data: Any = None) -> YamlMapping:
    """Return the experiment as the mapping that a YAML config would hold: one method, on the recipe's first split."""
    mapping = experiment_mapping(recipe, option, recipe.default_grid, user_data)
    methods = {table.method: dict(table.settings)}
    split, origin = mapping["split"] | {"repeats": 1}, mapping["recipe"] | {"part": "related"}
    return mapping | {"name": f"{recipe.name}-related", "methods": methods, "split": split, "recipe": origin}


def related_grid(table: RelatedTable, option: DataOption, record: RunRecord, related: Related) -> Grid:
    """Return the table, the paper's labels beside ours.

    Parameters
    ----------
    record : of the run that the mapping is from
    related : per label, the most similar ones with their cosines
    """
    grade = grade_on(option, record.dataset.stand_in)
    named = [label for label in related if label in table.expected]
    header = ("label", "ours", *(["paper"] if named else []))
    rows = [
        [label, ", ".join(f"{other} ({value:.3f})" for other, value in most) or "none", table.expected.get(label, "")]
        for label, most in related.items()
    ]
    agreed = "the labels have no names of the paper's here, so its own are not shown"
    if named:
        theirs = {label: table.expected[label].split(", ") for label in named}
        common = sum(other in theirs[label] for label in named for other, _ in related[label])
        agreed = f"{common} of the {sum(map(len, theirs.values()))} labels that the paper names are among ours"
    notes = (
        f"data: {option.note}",
        f"{record.split}, {table.method}, converged: {record.fit.converged}",
        *table.protocol,
        agreed,
    )
    title = f"{table.table}: {table.title}, on {record.dataset.name} ({GRADES[grade]})"
    body = tuple(tuple(Shown(cell) for cell in row[: len(header)]) for row in rows)
    return Grid(title, header, "l" * len(header), body, notes)
