"""``mlrank datasets``: the data sets known by name, and what is in them."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from mlrank.cli.check import check
from mlrank.cli.completion import complete_dataset
from mlrank.cli.convert import convert
from mlrank.cli.fetch import fetch
from mlrank.cli.help import CommandLine
from mlrank.cli.init import init
from mlrank.cli.options import Json

if TYPE_CHECKING:
    from mlrank.datasets.catalogue import Entry

__all__ = ["app"]

app = CommandLine(help="List, describe, check, convert and fetch data sets.")
app.command("check")(check)
app.command("convert")(convert)
app.command("fetch")(fetch)
app.command("init")(init)

# How many of the most and the least frequent labels `info` shows, and how many files of a kind.
SHOWN_LABELS = 5
SHOWN_FILES = 4


@app.command(name="list")
def list_datasets(as_json: Json = False) -> None:
    """List the catalogue: sizes as loaded, and where each data set would be read from.

    Examples:

    * `mlrank datasets list`
    * `MLRANK_DATA=~/data mlrank datasets list --json`
    """
    from mlrank.datasets import read_catalogue

    rows = [_summary(entry) for entry in read_catalogue().values()]
    if as_json:
        _print_json(rows)
        return
    from mlrank.cli.grids import print_table

    lines = []
    for row in rows:
        n = f"{row['n_train']} + {row['n_test']}" if row["n_test"] else str(row["n_train"])
        sizes = ("?" if row[key] is None else str(row[key]) for key in ("n_features", "n_labels"))
        cells = (n, *sizes, "?" if row["cardinality"] is None else f"{row['cardinality']:.3f}")
        lines.append((str(row["name"]), *cells, str(row["read_from"])))
    print_table(("name", "n (train + test)", "d", "k", "labels/row", "read from"), lines, "lrrrrl")
    print("missing: 'mlrank datasets info NAME' says how to get it")


@app.command()
def info(
    name: Annotated[
        str,
        typer.Argument(metavar="NAME", help="A name from 'mlrank datasets list'.", autocompletion=complete_dataset),
    ],
    as_json: Json = False,
) -> None:
    """Describe one data set: its files, addresses and citation and, if it is here, what is in it.

    Examples:

    * `mlrank datasets info scene`
    * `mlrank datasets info voc2007 --json` lists all of many files
    """
    from mlrank.datasets import load_dataset
    from mlrank.datasets.catalogue import find_entry, locate, missing_message
    from mlrank.datasets.doctor import facts

    entry = find_entry(name)
    described = {**_summary(entry), **_origin(entry)}
    if locate(entry) is None:
        described["missing"] = missing_message(entry)
    else:
        described["loaded"] = facts(load_dataset(entry.name))
    if as_json:
        _print_json(described)
    else:
        _print_described(described)


def _summary(entry: "Entry") -> dict[str, object]:
    from mlrank.datasets.catalogue import locate

    location = locate(entry)
    sizes = ("n_train", "n_test", "n_features", "n_labels", "cardinality")
    return {
        "name": entry.name,
        "title": entry.title,
        **{key: getattr(entry, key) for key in sizes},
        "split": entry.split,
        "read_from": location.where if location else "missing",
    }


def _origin(entry: "Entry") -> dict[str, object]:
    fields = entry.model_dump(mode="json")
    files = ("files", "archive", "embedded", "made_from", "also", "further", "by_hand")
    kept = ("aliases", "format", *files, "generate", "features", "n_attributes", "citation", "caveat", "note")
    return {key: fields[key] for key in kept if fields[key]}


def _print_json(value: Any) -> None:
    import json

    print(json.dumps(value, indent=2))


def _print_described(described: dict[str, object]) -> None:
    from rich.markup import escape
    from rich.table import Table

    from mlrank.cli.grids import print_as_wide

    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold")
    # Addresses and hashes are there to be copied: better long than cut.
    grid.add_column(overflow="fold")
    for key, value in described.items():
        for place, line in enumerate(_lines(key, value)):
            grid.add_row("" if place else key.replace("_", " "), escape(line))
    print_as_wide(grid)


def _lines(key: str, value: Any) -> list[str]:
    """Return a value as lines of text."""
    if key == "loaded":
        return [line for inner, part in value.items() for line in _loaded_lines(inner, part)]
    if key in ("files", "embedded"):
        return _files_lines([(f"{role}: ", file) for role, file in value.items()])
    if key == "archive":
        return _file_lines("", value)
    if key == "also":
        return [line for form in value for line in _lines("files", form["files"])]
    if key in ("made_from", "further"):
        return _files_lines([("", file) for file in value])
    if isinstance(value, dict):
        return [", ".join(f"{inner}={part}" for inner, part in value.items())]
    return [", ".join(value) if isinstance(value, list) else str(value)]


def _files_lines(files: list[tuple[str, dict[str, object]]]) -> list[str]:
    lines = [line for role, file in files[:SHOWN_FILES] for line in _file_lines(role, file)]
    left_out = len(files) - SHOWN_FILES
    return [*lines, f"... {left_out} more files (--json lists all)"] if left_out > 0 else lines


def _file_lines(role: str, file: dict[str, object]) -> list[str]:
    size = f"{file['bytes']} bytes" if file["bytes"] else "unknown size"
    lines = [f"{role}{file['path']}, {size}", f"  sha256 {file['sha256'] or 'unknown: unpinned'}"]
    return [*lines, f"  {file['url']}"] if file["url"] else lines


def _loaded_lines(key: str, value: Any) -> list[str]:
    if key != "label_frequencies":
        digits = {"density": ".4g", "cardinality": ".3f"}.get(key, "")
        return [f"{key.replace('_', ' ')}: {value:{digits}}"]
    rows = [f"  {row['positives']:>{len(str(value[0]['positives']))}} {row['label']}" for row in value]
    if len(rows) > 2 * SHOWN_LABELS:
        rows[SHOWN_LABELS:-SHOWN_LABELS] = [f"  ... {len(rows) - 2 * SHOWN_LABELS} more"]
    return ["label frequencies:", *rows]
