"""``mlrank reproduce --table`` of related labels."""

from typing import TYPE_CHECKING

from mlrank.cli.attempts import Asked, chosen_data, run_asked
from mlrank.cli.show import tell_failures

if TYPE_CHECKING:
    from rich.console import Console

    from mlrank.reproduce import Recipe
    from mlrank.reproduce.parts import RelatedTable

__all__ = ["show_related"]


def show_related(
    recipe: "Recipe", table: "RelatedTable", asked: Asked, console: "Console", files: dict[str, str] | None
) -> int:
    """Fit the method of the table, and show which labels it takes to be alike; return the exit code."""
    from mlrank.cli.forecast import show_forecast
    from mlrank.config import parse_config
    from mlrank.models.file import load_model
    from mlrank.records import dump_json
    from mlrank.reproduce import related_mapping, related_markdown
    from mlrank.solvers.slrm import related_labels
    from mlrank.yamlfile import dump_yaml

    option = chosen_data(recipe, table.table, console, files is not None)
    config = parse_config(dump_yaml(related_mapping(recipe, table, option, files)), f"recipe {recipe.name}")
    if asked.dry_run:
        show_forecast(config, asked.results, asked.jobs, asked.as_json)
        return 0
    folder = run_asked(config, asked, asked.jobs)
    (record,) = folder.runs()
    if record["status"] == "failed":
        return tell_failures([record])
    path = folder.model_path(record["dataset"]["name"], record["split"], record["method"])
    stored = load_model(path)
    related = related_labels(stored.predictor.model, stored.label_names, table.n_related)
    text = related_markdown(table, option, record, related)
    folder.write_text("tables/related.md", text)
    if asked.as_json:
        print(dump_json(related), end="")
    else:
        console.print(text, highlight=False, markup=False, soft_wrap=True)
    return 0
