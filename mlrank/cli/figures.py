"""The figures of ``mlrank reproduce --figures``."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

    from mlrank.records import RunFolder
    from mlrank.reproduce import DataOption, Recipe

__all__ = ["draw_figures"]


def draw_figures(
    recipe: "Recipe",
    option: "DataOption",
    files: dict[str, str] | None,
    folder: "RunFolder",
    results: Path,
    jobs: int,
    quiet: bool,
    console: "Console",
) -> None:
    """Run what the recipe's figures need, and write them below the folder of its table."""
    from mlrank.datasets import is_available
    from mlrank.errors import UserError
    from mlrank.plots import FORMATS, render
    from mlrank.records.atomic import write_atomic
    from mlrank.reproduce import choose_data, figure_experiments, paper_figure

    if not (recipe.figures or recipe.regions):
        raise UserError(f"the recipe '{recipe.name}' has no figures")
    for name, figure in recipe.figures.items():
        console.print(figure.title, highlight=False, markup=False)
        try:
            used = choose_data(recipe, is_available, False, figure.data) if figure.data else option
        except UserError as error:
            console.print(f"not drawn: {error}", highlight=False, markup=False)
            continue
        # Two fits at a time would disturb each other's clock.
        workers = 1 if figure.y.metric == "fit_seconds" else jobs
        runs = {}
        for value, mapping in figure_experiments(recipe, name, used, files):
            runs[value] = _records(mapping, f"{name} of recipe {recipe.name}", results, workers, quiet)
        drawn = paper_figure(recipe, name, used, runs)
        for fmt in FORMATS:
            write_atomic(folder.path / "figures" / f"{name}.{fmt}", render(drawn, fmt))
        console.print(f"  {folder.path / 'figures' / name}.png", highlight=False, markup=False)
    if recipe.regions:
        _draw_regions(recipe, option, folder, console)


def _draw_regions(recipe: "Recipe", option: "DataOption", folder: "RunFolder", console: "Console") -> None:
    """Draw the recipe's figures of the plane from the runs of its table."""
    from mlrank.datasets import load_dataset
    from mlrank.plots import FORMATS, render_regions
    from mlrank.records.atomic import write_atomic
    from mlrank.reproduce import plane_figure

    dataset = load_dataset(option.dataset)
    done = [record for record in folder.runs() if record["status"] == "done"]
    arrays = {record["method"]: folder.run_arrays(record) for record in done}
    scores = {method: (found["rows"], found["scores"]) for method, found in arrays.items()}
    for name, regions in recipe.regions.items():
        console.print(regions.title, highlight=False, markup=False)
        drawn = plane_figure(recipe, name, option, dataset, scores)
        for fmt in FORMATS:
            write_atomic(folder.path / "figures" / f"{name}.{fmt}", render_regions(drawn, fmt))
        console.print(f"  {folder.path / 'figures' / name}.png", highlight=False, markup=False)


def _records(mapping: dict[str, Any], where: str, results: Path, jobs: int, quiet: bool) -> list[dict[str, Any]]:
    from mlrank.cli.progress import run_with_progress
    from mlrank.config import parse_config
    from mlrank.yamlfile import dump_yaml

    return run_with_progress(parse_config(dump_yaml(mapping), where), results, jobs, quiet).runs()
