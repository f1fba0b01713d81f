"""The paper's table of related labels: which labels a mapping of low rank takes to be alike."""

from collections.abc import Mapping, Sequence
from typing import Any

from mlrank.reproduce.data import experiment_mapping
from mlrank.reproduce.parts import GRADES, DataOption, RelatedTable, grade_on, is_called
from mlrank.reproduce.recipe import Recipe
from mlrank.tables.markup import markdown, markdown_table

__all__ = ["related_mapping", "related_markdown", "related_of"]

Related = Mapping[str, Sequence[tuple[str, float]]]


def related_of(recipe: Recipe, table: str) -> RelatedTable | None:
    """Return the table of related labels if that is asked for, by its name or number."""
    found = recipe.related
    return found if found is not None and is_called(found.table, table) else None


def related_mapping(recipe: Recipe, table: RelatedTable, option: DataOption, user_data: Any = None) -> dict[str, Any]:
    """Return the experiment as the mapping that a YAML config would hold: one method, on the recipe's first split."""
    mapping = experiment_mapping(recipe, option, recipe.default_grid, user_data)
    methods = {table.method: dict(table.settings)}
    name = f"{recipe.name}-related"
    return mapping | {"name": name, "methods": methods, "split": mapping["split"] | {"repeats": 1}}


def related_markdown(table: RelatedTable, option: DataOption, record: Mapping[str, Any], related: Related) -> str:
    """Return the table, the paper's labels beside ours.

    Parameters
    ----------
    record : of the run that the mapping is from
    related : per label, the most similar ones with their cosines
    """
    grade = grade_on(option, record["dataset"]["stand_in"])
    named = [label for label in related if label in table.expected]
    header = ["label", "ours", *(["paper"] if named else [])]
    rows = [
        [label, ", ".join(f"{other} ({value:.3f})" for other, value in found) or "none", table.expected.get(label, "")]
        for label, found in related.items()
    ]
    cells = [[markdown(cell) for cell in row[: len(header)]] for row in rows]
    agreed = "- the labels have no names of the paper's here, so its own are not shown"
    if named:
        theirs = {label: table.expected[label].split(", ") for label in named}
        common = sum(other in theirs[label] for label in named for other, _ in related[label])
        agreed = f"- {common} of the {sum(map(len, theirs.values()))} labels that the paper names are among ours"
    notes = [
        f"- data: {markdown(option.note)}",
        f"- {markdown(record['split'])}, {table.method}, converged: {record['info']['converged']}",
        *(f"- {markdown(line)}" for line in table.protocol),
        agreed,
    ]
    dataset = record["dataset"]["name"]
    title = f"**{markdown(f'{table.table}: {table.title}, on {dataset} ({GRADES[grade]})')}**"
    return "\n".join([title, "", *markdown_table(header, cells, "l" * len(header)), "", *notes]) + "\n"
