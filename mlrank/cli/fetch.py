"""``mlrank datasets fetch``."""

from typing import TYPE_CHECKING, Annotated

import typer

from mlrank.cli.completion import complete_dataset
from mlrank.cli.options import Json, Quiet

if TYPE_CHECKING:
    from mlrank.datasets.catalogue import Entry

__all__ = ["fetch", "fetch_entries"]


def fetch(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME...|all", help="Catalogue names, or all.", autocompletion=complete_dataset),
    ] = None,
    show_list: Annotated[bool, typer.Option("--list", help="Only print addresses and hashes.")] = False,
    mirror: Annotated[
        list[str] | None,
        typer.Option("--mirror", metavar="URL", help="Another address, tried after the published ones."),
    ] = None,
    unpinned: Annotated[bool, typer.Option("--unpinned", help="Accept files without a known hash.")] = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Download data sets into the cache: files are resumed, checked by SHA-256, and skipped if they are there.

    Examples:

    * `mlrank datasets fetch imageclef2007 scene`
    * `mlrank datasets fetch all`
    * `mlrank datasets fetch openml:40597`, of which `openml:40597` is the name then
    * `mlrank datasets fetch scene --list` to fetch by hand
    """
    from mlrank.datasets.catalogue import find_entry, read_catalogue
    from mlrank.datasets.catalogue.fetch import fetchable
    from mlrank.datasets.openml import fetch_openml_table, openml_number
    from mlrank.errors import UserError

    everything = names == ["all"] or (show_list and not names)
    if not names and not show_list:
        raise UserError("which data set? 'mlrank datasets list' shows them; or all")
    numbers = {name: number for name in names or () if (number := openml_number(name)) is not None}
    if numbers and (show_list or mirror):
        raise UserError("--list and --mirror are for data sets of the catalogue, not for OpenML's")
    others = [name for name in names or () if name not in numbers]
    entries = list(read_catalogue().values()) if everything else [find_entry(name) for name in others]
    for name, number in numbers.items():
        table = fetch_openml_table(number)
        if not quiet:
            print(f"{name}: {table.title}, {len(table.labels)} label columns, in {table.path}")
    if everything:
        entries = [entry for entry in entries if fetchable(entry) is None and (entry.pinned or unpinned or show_list)]
    if show_list:
        _show(entries, as_json)
        return
    failed = fetch_entries(entries, mirror or [], unpinned, quiet)
    if failed:
        raise UserError("; ".join(failed))


def fetch_entries(entries: list["Entry"], mirrors: list[str], unpinned: bool, quiet: bool) -> list[str]:
    """Fetch entries, one after the other; return the errors of those that failed."""
    from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn, TransferSpeedColumn

    from mlrank.cli.terminal import new_console
    from mlrank.datasets.catalogue.fetch import fetch as fetch_entry
    from mlrank.errors import UserError

    console = new_console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    failed = []
    with Progress(*columns, console=console, disable=quiet or not console.is_terminal) as progress:
        tasks: dict[str, TaskID] = {}

        def show(name: str, here: int, size: int | None) -> None:
            if name not in tasks:
                tasks[name] = progress.add_task(name, total=size)
            progress.update(tasks[name], completed=here)

        for entry in entries:
            try:
                for line in fetch_entry(entry, mirrors=mirrors, unpinned=unpinned, progress=show):
                    if not quiet:
                        console.print(line, highlight=False, markup=False, soft_wrap=True)
            except UserError as error:
                failed.append(str(error))
    return failed


def _show(entries: list["Entry"], as_json: bool) -> None:
    from mlrank.datasets.cache import cache_folder
    from mlrank.datasets.catalogue.fetch import addresses, fetchable, files_to_fetch

    if as_json:
        import json

        rows = [
            {"name": entry.name, "files": [file.model_dump() for file in files_to_fetch(entry)]} for entry in entries
        ]
        print(json.dumps(rows, indent=2))
        return
    for entry in entries:
        print(entry.name)
        if reason := fetchable(entry):
            print(f"  {reason}")
        for file in files_to_fetch(entry):
            print(f"  {cache_folder() / file.path}")
            print(f"    {file.bytes or '?'} bytes, sha256 {file.sha256 or 'unknown: unpinned'}")
            for address in addresses(file):
                print(f"    {address}")
        for address in entry.by_hand:
            print(f"  the same data, to be unpacked by hand: {address}")
