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
NOT_RUN, SAME = "not run yet", "nothing has changed since it was run"
RUN_HELP = "Results folder of an experiment, or its YAML file, or the name of an example."


def status(
    run: Annotated[Path | None, typer.Argument(metavar="[RUN]", help=f"{RUN_HELP} Default: all in --results.")] = None,
    every: Annotated[bool, typer.Option("--list", help="List every run, instead of sums for each data set.")] = False,
    results: Results = Path("results"),
    as_json: Json = False,
) -> None:
    """Show how many runs are planned, running, done, failed or stale, and what failed.

    A run is stale if the data, the configuration or the version it was made with have changed; `mlrank why` says which.

    Examples:

    * `mlrank status`
    * `mlrank status results/quickstart --list` shows each run with how far its search is
    * `mlrank status results/quickstart --json`
    * `mlrank status my.yaml` shows what `mlrank train my.yaml` would do
    """
    from mlrank.errors import UserError
    from mlrank.experiment.states import run_states
    from mlrank.records import dump_json

    places = [run] if run is not None else sorted(path.parent for path in results.glob("*/config.yaml"))
    if not places:
        raise UserError("no experiment was run here yet", results)
    found, unread = {}, []
    for place in places:
        try:
            config, folder = open_run(place, results)
            found[config.name] = run_states(config, folder)
        except UserError as error:
            unread.append(error)
    if unread and not found:
        raise unread[0]
    # Of several, one whose data are elsewhere or whose files are broken does not hide the rest.
    for reason in unread:
        typer.echo(f"mlrank: {reason}", err=True)
    if as_json:
        print(dump_json({name: [vars(state) for state in states] for name, states in found.items()}), end="")
    else:
        (_print_runs if every else _print_sums)(found)
        _print_errors(found)
    if unread or any(state.state == "failed" or state.errors for states in found.values() for state in states):
        raise typer.Exit(2)


def open_run(place: Path, results: Path) -> tuple["ExperimentConfig", "RunFolder"]:
    """Return the configuration and the results folder that a user's RUN names."""
    from mlrank.config import load_config, load_stored_config
    from mlrank.config.loading import is_example
    from mlrank.records import RunFolder

    if place.is_file() or is_example(place):
        config = load_config(place)
        return config, RunFolder.of(results, config.name)
    folder = RunFolder.open(place)
    return load_stored_config(folder.path / "config.yaml"), folder


def _print_sums(found: dict[str, list["RunState"]]) -> None:
    """Print a row for each data set: its runs by state, and the fits of their searches."""
    from mlrank.cli.grids import print_table

    shown = [name for name in COLOURS if name == "done" or any(_in(states, name) for states in found.values())]
    failing = _failed(found)
    header = ("experiment", "data set", "runs", *shown, "search fits", *failing)
    rows: list[list[str | tuple[str, str]]] = []
    for name, states in found.items():
        for dataset in dict.fromkeys(state.dataset for state in states):
            mine = [state for state in states if state.dataset == dataset]
            counts = ((str(_in(mine, kind) or ""), COLOURS[kind]) for kind in shown)
            fits = f"{sum(state.n_done for state in mine)}/{sum(state.n_trials for state in mine)}"
            failed = str(sum(len(state.errors) for state in mine) or "")
            rows.append([name, dataset, str(len(mine)), *counts, fits, *[failed for _ in failing]])
    print_table(header, rows, "ll" + "r" * (len(header) - 2))


def _failed(found: dict[str, list["RunState"]]) -> list[str]:
    """Return the heading of a column of failed fits, if there are any."""
    return ["failed"] if any(state.errors for states in found.values() for state in states) else []


def _in(states: list["RunState"], kind: str) -> int:
    return sum(state.state == kind for state in states)


def _print_runs(found: dict[str, list["RunState"]]) -> None:
    from mlrank.cli.grids import print_table

    failing = _failed(found)
    header = ("experiment", "data set", "split", "method", "state", "search fits", *failing)
    rows: list[list[str | tuple[str, str]]] = []
    for name, states in found.items():
        for state in states:
            names = (name, state.dataset, state.split, state.method)
            shown = (state.state, COLOURS[state.state])
            failed = [str(len(state.errors) or "") for _ in failing]
            rows.append([*names, shown, f"{state.n_done}/{state.n_trials}", *failed])
    print_table(header, rows, "lllll" + "r" * (1 + len(failing)))


def _print_errors(found: dict[str, list["RunState"]]) -> None:
    """Print what failed, and what software runs were made with that is another now."""
    from mlrank.cli.terminal import new_console
    from mlrank.records import run_label

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
    method: Annotated[
        str | None, typer.Argument(metavar="[METHOD]", help="A method of the configuration. Default: all of them.")
    ] = None,
    results: Results = Path("results"),
    as_json: Json = False,
) -> None:
    """Say why runs would be made again: which data, which line of the configuration or which version changed.

    Of all methods, runs for which nothing has changed are counted.

    Examples:

    * `mlrank why my.yaml`
    * `mlrank why my.yaml Rank-SVM` compares what is stored with the file as it is now
    * `mlrank why results/quickstart Rank-SVM`
    """
    from mlrank.errors import UserError, unknown_name
    from mlrank.experiment.states import changes
    from mlrank.records import dump_json

    config, folder = open_run(run, results)
    if method is not None and method not in config.methods:
        raise UserError(unknown_name("method", method, config.methods), run)
    found = changes(config, folder, method)
    if as_json:
        plain = {label: None if those is None else [vars(change) for change in those] for label, those in found.items()}
        print(dump_json(plain), end="")
        return
    file = run if run.is_file() else folder.path / "config.yaml"
    counted = dict.fromkeys((NOT_RUN, SAME), 0)
    for label, those in found.items():
        plain_word = NOT_RUN if those is None else SAME
        if those:
            name = next(name for name in config.methods if label.endswith(f" / {name}"))
            for change in those:
                print(f"{label}: {_place(file, name, change.name)}{_described(change)}")
        elif method is None:
            counted[plain_word] += 1
        else:
            print(f"{label}: {plain_word}")
    for word, count in counted.items():
        if count:
            print(f"{count} of {len(found)} runs: {word}")


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
