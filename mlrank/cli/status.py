"""``mlrank status`` and ``mlrank why``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mlrank.cli.options import Json, Results

if TYPE_CHECKING:
    from mlrank.config import ExperimentConfig
    from mlrank.experiment.states import Change, RunState
    from mlrank.records import RunFolder

__all__ = ["status", "why"]

COLOURS = {"planned": "dim", "running": "cyan", "done": "green", "failed": "red", "stale": "yellow"}
# Inputs of a run that are hashes of what a reader knows under another name.
_HASHED = {
    "data": "the data",
    "rows": "the rows of the split",
    "folds": "the rows of the folds",
    "known": "the label entries that are known",
}
RUN_HELP = "Results folder of an experiment, or its YAML file."


def status(
    run: Annotated[Path | None, typer.Argument(metavar="[RUN]", help=f"{RUN_HELP} Default: all in --results.")] = None,
    results: Results = Path("results"),
    as_json: Json = False,
) -> None:
    """Show which runs are planned, running, done, failed or stale, and what failed.

    A run is stale if the data, the configuration or the version it was made with have changed; `mlrank why` says which.

    Examples:

    * `mlrank status`
    * `mlrank status results/quickstart --json`
    * `mlrank status my.yaml` shows what `mlrank train my.yaml` would do
    """
    from mlrank.errors import UserError
    from mlrank.experiment.states import run_states
    from mlrank.records import dump_json

    places = [run] if run is not None else sorted(path.parent for path in results.glob("*/config.yaml"))
    if not places:
        raise UserError("no experiment was run here yet", results)
    found = {}
    for place in places:
        config, folder = open_run(place, results)
        found[config.name] = run_states(config, folder)
    if as_json:
        print(dump_json({name: [vars(state) for state in states] for name, states in found.items()}), end="")
    else:
        _print_states(found)
    if any(state.state == "failed" or state.errors for states in found.values() for state in states):
        raise typer.Exit(2)


def open_run(place: Path, results: Path) -> tuple["ExperimentConfig", "RunFolder"]:
    """Return the configuration and the results folder that a user's RUN names."""
    from mlrank.config import load_config, load_stored_config
    from mlrank.records import RunFolder

    if place.is_file():
        config = load_config(place)
        return config, RunFolder.of(results, config.name)
    folder = RunFolder.open(place)
    return load_stored_config(folder.path / "config.yaml"), folder


def _print_states(found: dict[str, list["RunState"]]) -> None:
    from rich.markup import escape
    from rich.table import Table

    from mlrank.cli.grids import print_as_wide
    from mlrank.cli.terminal import new_console
    from mlrank.records import run_label

    table = Table("experiment", "data set", "split", "method", "state", "search fits", "failed")
    for name, states in found.items():
        for state in states:
            shown = f"[{COLOURS[state.state]}]{state.state}"
            fits = f"{state.n_done}/{state.n_trials}"
            failed = str(len(state.errors) or "")
            names = map(escape, (name, state.dataset, state.split, state.method))
            table.add_row(*names, shown, fits, failed)
    print_as_wide(table)
    console = new_console()
    for states in found.values():
        for state in states:
            for error in dict.fromkeys(state.errors):
                where = run_label(state.dataset, state.split, state.method)
                console.print(f"{where}: {error}", highlight=False, markup=False, soft_wrap=True)
    other = [state.other_software for states in found.values() for state in states if state.other_software]
    if other:
        differences = ", ".join(dict.fromkeys(part for parts in other for part in parts))
        runs = f"{len(other)} run{'s'[: len(other) != 1]} made with other software than now: "
        console.print(f"{runs}{differences}", highlight=False, markup=False, soft_wrap=True)


def why(
    run: Annotated[Path, typer.Argument(metavar="RUN", help=RUN_HELP)],
    method: Annotated[str, typer.Argument(metavar="METHOD", help="Name of a method in the configuration.")],
    results: Results = Path("results"),
    as_json: Json = False,
) -> None:
    """Say why a method would be run again: which data, which line of the configuration or which version changed.

    Examples:

    * `mlrank why my.yaml Rank-SVM` compares what is stored with the file as it is now
    * `mlrank why results/quickstart Rank-SVM`
    """
    from mlrank.errors import UserError, unknown_name
    from mlrank.experiment.states import changes
    from mlrank.records import dump_json

    config, folder = open_run(run, results)
    if method not in config.methods:
        raise UserError(unknown_name("method", method, config.methods), run)
    found = changes(config, folder, method)
    if as_json:
        plain = {label: None if those is None else [vars(change) for change in those] for label, those in found.items()}
        print(dump_json(plain), end="")
        return
    file = run if run.is_file() else folder.path / "config.yaml"
    for label, those in found.items():
        if those is None:
            print(f"{label}: not run yet")
        elif not those:
            print(f"{label}: nothing has changed since it was run")
        for change in those or ():
            print(f"{label}: {_place(file, method, change.name)}{_described(change)}")


def _described(change: "Change") -> str:
    part, _, rest = change.name.partition(".")
    if part in ("source", "metric_source"):
        return f"the file {rest} changed (hash {_shown(change.then)}, now {_shown(change.now)})"
    if part == "default":
        owner, _, setting = rest.partition(".")
        return f"the default of the {owner}'s '{setting}' was {_shown(change.then)}, is {_shown(change.now)}"
    name = _HASHED.get(change.name)
    if name is not None:
        return f"{name} changed (hash {change.then}, now {change.now})"
    name = "mlrank's version" if change.name == "version" else change.name.removeprefix("method.")
    return f"{name} was {_shown(change.then)}, is {_shown(change.now)}"


def _shown(value: Any) -> str:
    return "not set" if value is None else str(value)


def _place(file: Path, method: str, name: str) -> str:
    """Return "file:line: " of what an input's name stands for in the configuration, or nothing."""
    from mlrank.yamlfile import load_yaml

    block, _, key = name.partition(".")
    where: tuple[str, ...] = {"method": ("methods", method, key), "search": ("search", key)}.get(block, (block,))
    if name in ("data", "version") or block in ("source", "metric_source", "default"):
        return ""
    if name == "own_metrics":
        where = ("metrics",)
    elif name in ("rows", "known", "missing_labels"):
        where = ("split",)
    elif name in ("folds", "time_limit") or name == "search.axes":
        where = ("search",) if name != "search.axes" else ("methods", method)
    problem = load_yaml(file)[1].error("", *where)
    return f"{problem.path}:{problem.line}: "
