"""``mlrank explain``: what a metric, solver, threshold, projection, verdict, recipe or key of a configuration is."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mlrank.cli.completion import complete_topic
from mlrank.cli.options import Json, Methods

if TYPE_CHECKING:
    from mlrank.cli.folders import Stored
    from mlrank.explain import Topic
    from mlrank.tables import Grid

__all__ = ["explain"]


def explain(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            help="A metric, solver, threshold, projection, verdict, recipe, or a key or value of a configuration; with "
            "--run also a method of the run.",
            autocompletion=complete_topic,
        ),
    ] = None,
    run: Annotated[
        Path | None,
        typer.Option(
            "--run",
            metavar="RUN",
            help="Results folder: its values in the metric, by each rule; or the certificates of its fits.",
        ),
    ] = None,
    method: Methods = None,
    as_json: Json = False,
) -> None:
    """Explain a name: its definition, where it comes from, its settings. Without a name: list what can be explained.

    For a metric also what mlrank, scikit-learn, Mulan and MEKA do where definitions leave cases open (a label that is
    absent, a tied pair, a row without labels), with --run the value of stored runs under each of these rules. For a
    solver, or a method of the run, --run puts the numbers of the run into the definition of its certificate.

    Examples:

    * `mlrank explain`
    * `mlrank explain f1_macro`
    * `mlrank explain f1_macro --run results/quickstart`
    * `mlrank explain rank_svm`
    * `mlrank explain Rank-SVM --run results/quickstart`
    * `mlrank explain svr_midpoint`
    * `mlrank explain imageclef`
    * `mlrank explain split`, `mlrank explain kfold`, `mlrank explain label_columns` (keys and values of configurations)
    * `mlrank explain matches` (a verdict on a number of a paper)
    """
    from mlrank import explain as topics
    from mlrank.cli.grids import print_grids
    from mlrank.records import dump_json

    if name is None:
        _list(as_json)
        return
    if run is None:
        found, values = topics.explain(name), []
    else:
        from mlrank.cli.folders import read_folders

        stored = read_folders([run])
        name, method = _solver_of(stored, name, method)
        found = topics.explain(name)
        values = [_values(found, run, stored, method)]
    if as_json:
        shown = [asdict(topic) for topic in found]
        print(dump_json({"topics": shown, "values": [asdict(grid) for grid in values]}), end="")
        return
    for place, topic in enumerate(found):
        if place:
            print()
        _print(topic)
    if values:
        print()
        print_grids(values, "rich")


def _list(as_json: bool) -> None:
    from rich.table import Table

    from mlrank.cli.grids import print_as_wide
    from mlrank.explain import topics
    from mlrank.records import dump_json

    found = topics()
    if as_json:
        print(dump_json(found), end="")
        return
    for kind, names in found.items():
        table = Table(title=f"{kind}s", title_justify="left", box=None, show_header=False, pad_edge=False)
        for name, summary in names.items():
            table.add_row(name, summary)
        print_as_wide(table, "")


def _values(found: Sequence["Topic"], run: Path, stored: "Stored", methods: Sequence[str] | None) -> "Grid":
    from mlrank.errors import UserError, unknown_name
    from mlrank.explain import certificates_of, values_of

    metric = next((topic.name for topic in found if topic.kind == "metric"), None)
    solver = next((topic.name for topic in found if topic.kind == "solver"), None)
    if metric is None and solver is None:
        what = f"'{found[0].name}' is a {found[0].kind}"
        raise UserError(f"--run goes with a metric, a solver or a method of the run, {what}")
    known = dict.fromkeys(record.method for record in stored.records)
    for name in methods or ():
        if name not in known:
            raise UserError(unknown_name("method", name, known))
    records = [record for record in stored.records if record.done and (not methods or record.method in methods)]
    if not records:
        raise UserError("no run is finished without failure", run)
    if metric is not None:
        return values_of(metric, records, stored.arrays)
    records = [record for record in records if record.solver == solver]
    if not records:
        raise UserError(f"no finished run has the solver '{solver}'", run)
    return certificates_of(records)


def _solver_of(stored: "Stored", name: str, methods: list[str] | None) -> tuple[str, list[str] | None]:
    """Return the solver of a method of the run, and the method as the only one; what is given for another name."""
    solvers = {record.method: record.solver for record in stored.records}
    return (solvers[name], [name]) if name in solvers and ":" not in solvers[name] else (name, methods)


def _print(topic: "Topic") -> None:
    from rich.text import Text

    from mlrank.cli.grids import print_as_wide, print_grids, terminal_width

    unbound = terminal_width() is None
    parts = [Text.assemble((topic.name, "bold"), f" ({topic.kind})")]
    for text in (topic.summary, *topic.paragraphs):
        for paragraph in text.split("\n\n"):
            # What is indented are formulas, whose lines stay whole where there is room for them.
            formula = unbound and paragraph.startswith(" ")
            parts += [Text(), Text(paragraph, no_wrap=formula, overflow="ignore" if formula else "fold")]
    print_as_wide(*parts)
    if topic.grids:
        print()
        print_grids(topic.grids, "rich")
