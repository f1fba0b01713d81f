"""``mlrank benchmark``: the reference benchmark, run in pieces, verified, published, and one's own method beside it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mlrank.cli.completion import complete_benchmark
from mlrank.cli.help import CommandLine
from mlrank.cli.options import DryRun, Jobs, Json, Quiet, Results, RetryFailed, worker_count

if TYPE_CHECKING:
    from mlrank.config import ExperimentConfig
    from mlrank.experiment import Event

__all__ = ["app"]

app = CommandLine(help="Run, verify and publish the reference benchmark.")

Published = Annotated[
    Path, typer.Option("--out", "-o", metavar="DIR", help="Folder that holds the pieces and what is published.")
]
DataSets = Annotated[
    str | None,
    typer.Option(
        "--datasets",
        metavar="A,B",
        help="Only these data sets; small: those of at most 2500 rows.",
        autocompletion=complete_benchmark,
    ),
]
OUT = Path("results/benchmark")


@app.command()
def run(
    datasets: DataSets = None,
    methods: Annotated[
        str | None, typer.Option("--methods", metavar="A,B", help="Only these methods, with both cuts.")
    ] = None,
    solver: Annotated[
        str | None,
        typer.Option("--solver", metavar="KEY|MODULE:CLASS", help="Run this one on the published rows instead."),
    ] = None,
    settings: Annotated[
        str | None,
        typer.Option("--settings", metavar="YAML", help='Settings of --solver; lists are searched: "C: [0.1, 1]".'),
    ] = None,
    out: Published = OUT,
    retry_failed: RetryFailed = False,
    dry_run: DryRun = False,
    results: Results = Path("results"),
    jobs: Jobs = 0,
    quiet: Quiet = False,
) -> None:
    """Run what of the benchmark no piece has yet, or your own method on its rows.

    Each finished method on a data set is a small file below DIR/cells, to be kept where results folders are not: a run
    that starts from these files makes only what is missing. Runs of another version, configuration or data are made
    again. With --solver nothing but your method is fitted; it is compared with every published one afterwards, and a
    LaTeX table is written.

    Examples:

    * `mlrank benchmark run --dry-run`
    * `mlrank benchmark run --datasets emotions,birds --jobs 2`
    * `mlrank benchmark run --solver "mine:Mine" --datasets small`
    * `mlrank benchmark run --solver rank_svm --settings "C: [0.1, 1]" --datasets emotions`
    """
    from mlrank.benchmark import CELLS, Pieces, benchmark_config, own_config
    from mlrank.cli.forecast import show_forecast
    from mlrank.errors import UserError

    if solver is None and settings is not None:
        raise UserError("--settings goes with --solver")
    if solver is not None and methods is not None:
        raise UserError("--methods chooses published methods, found together with --solver")
    chosen = _names(datasets)
    if solver is None:
        config = benchmark_config(chosen, _names(methods))
    else:
        config = own_config(solver, chosen, _settings(settings))
    if dry_run:
        stored = Pieces(out / CELLS).read() if solver is None else []
        show_forecast(config, results, worker_count(jobs), False, stored)
    elif solver is None:
        raise typer.Exit(_run_pieces(config, out, results, jobs, quiet, retry_failed))
    else:
        raise typer.Exit(_run_own(config, results, jobs, quiet, retry_failed))


def _run_pieces(
    config: "ExperimentConfig", out: Path, results: Path, jobs: int, quiet: bool, retry_failed: bool
) -> int:
    from mlrank.benchmark import CELLS, Pieces, check_rows, read_rows, rows_of, write_rows
    from mlrank.cli.progress import run_with_progress
    from mlrank.cli.show import show_failures
    from mlrank.experiment.events import RunEvent
    from mlrank.records import RunFolder

    pieces, folder = Pieces(out / CELLS), RunFolder.create(results, config.name)
    lock = folder.path / ".pieces"
    rows = rows_of(config)
    check_rows(rows, read_rows(out))
    write_rows(out, rows)
    restored = pieces.restore(folder)

    def pack(event: "Event") -> None:
        if isinstance(event, RunEvent):
            pieces.add(event.record, lock)

    done = run_with_progress(
        config, results, worker_count(jobs), quiet, retry_failed=retry_failed, notify=pack, by_method=True
    )
    pieces.add_missing(folder, lock)
    print(
        f"{len(done.records)} runs, {restored} of them from pieces in {pieces.folder}; mlrank benchmark pages is next"
    )
    return show_failures(done.records)


def _run_own(config: "ExperimentConfig", results: Path, jobs: int, quiet: bool, retry_failed: bool) -> int:
    from mlrank.benchmark import benchmark_folder, check_rows, published_records, read_rows, rows_of
    from mlrank.cli.progress import run_with_progress
    from mlrank.cli.show import show_failures

    published_records()  # that there is something to compare with is known before the first fit
    check_rows(rows_of(config), read_rows(benchmark_folder()))
    done = run_with_progress(config, results, worker_count(jobs), quiet, retry_failed=retry_failed, by_method=True)
    _compare(done.folder.path, next(iter(config.methods)), config.search.metric)
    return show_failures(done.records)


def _compare(path: Path, method: str, shown: str) -> None:
    """Write the tables of a method beside the published ones for a paper, and print that of one metric."""
    from mlrank.cli.folders import read_folders, with_published
    from mlrank.cli.grids import arranged, print_grids
    from mlrank.records.atomic import write_atomic
    from mlrank.tables import GridLayout, render_grids
    from mlrank.tables.paper import PaperOptions, for_paper

    stored = with_published(read_folders([path]), "benchmark")
    grids = arranged(stored, stored.metrics, GridLayout.of(cols="dataset"), against=method)
    grids = [for_paper(grid, PaperOptions(ranks=True)) for grid in grids]
    print_grids([grids[stored.metrics.index(shown)]], "rich")
    for note in stored.notes:
        print(note)
    write_atomic(path / "comparison.tex", render_grids(grids, "latex").encode())
    print(
        f"all metrics for a paper: {path / 'comparison.tex'}; tests: mlrank compare {path} --with benchmark --details"
    )


def _names(text: str | None) -> tuple[str, ...]:
    return () if text is None else tuple(name.strip() for name in text.split(",") if name.strip())


def _settings(text: str | None) -> dict[str, object]:
    from mlrank.errors import UserError
    from mlrank.yamlfile import parse_yaml

    if text is None:
        return {}
    found: object = parse_yaml(text, "--settings").data
    if not isinstance(found, dict):
        raise UserError(f'--settings must be a mapping such as "C: [0.1, 1]", found {text!r}')
    return found


@app.command()
def verify(
    sample: Annotated[int, typer.Option("--sample", min=1, metavar="N", help="Make so many runs again.")] = 50,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Decides which runs are drawn.")] = 0,
    datasets: DataSets = None,
    results: Results = Path("results"),
    jobs: Jobs = 0,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Draw published runs, make them again here with their searches, and say how many agree.

    Exit code 2 if one does not agree within the tolerance.

    Examples:

    * `mlrank benchmark verify --sample 50`
    * `mlrank benchmark verify --sample 5 --datasets emotions --seed 1`
    """
    from dataclasses import asdict

    from mlrank.benchmark import benchmark_config, published_records
    from mlrank.benchmark.verify import TOLERANCE, drawn, other_kernels, verified
    from mlrank.cli.progress import run_with_progress
    from mlrank.records import dump_json

    chosen = {str(one.name) for one in benchmark_config(_names(datasets)).datasets}
    records = drawn([one for one in published_records() if one.dataset.name in chosen], sample, seed)
    config = benchmark_config(list(dict.fromkeys(one.dataset.name for one in records)))
    config = config.model_copy(update={"name": f"{config.name}-verified"})
    keys = {record.key for record in records}
    done = run_with_progress(config, results, worker_count(jobs), quiet, only=keys)
    again = {record.key: record for record in done.records}
    found = [verified(record, again.get(record.key)) for record in records]
    equal, close = sum(one.is_equal for one in found), sum(one.is_close for one in found)
    if as_json:
        print(dump_json([asdict(one) for one in found]), end="")
    else:
        for one in found:
            if not one.is_equal:
                settings = "" if one.same_settings else ", other settings chosen"
                print(f"{one.label}: {one.reason or f'largest difference {one.largest:.2g}{settings}'}")
        total = len(found)
        print(f"{equal} of {total} runs agree to the last digit, {close} of {total} within {TOLERANCE:g}")
        if note := other_kernels(records, done.records):
            print(note)
    raise typer.Exit(0 if close == len(found) else 2)


@app.command()
def pages(out: Published = OUT) -> None:
    """Write what is published, from the pieces: the tidy table, the pages and their figures.

    Examples:

    * `mlrank benchmark pages`
    """
    from mlrank.benchmark import published_records, write_table
    from mlrank.benchmark.pages import write_pages

    records = published_records(out)
    write_table(out, records)
    for path in write_pages(out, records):
        print(path)
