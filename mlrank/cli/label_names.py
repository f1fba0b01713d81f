"""The names of labels, which only the data hold."""

from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from mlrank.cli.folders import Stored

__all__ = ["label_names"]


def label_names(stored: "Stored") -> dict[str, tuple[str, ...]]:
    """Return the label names of each data set whose data are at hand and still the same; say which are not."""
    from mlrank.config import load_stored_config
    from mlrank.errors import UserError
    from mlrank.experiment import plan

    found: dict[str, tuple[str, ...]] = {}
    for folder in stored.folders.values():
        try:
            for data in plan(load_stored_config(folder.path / "config.yaml")):
                known = {r.dataset.hash for r in stored.records if r.dataset.name == data.dataset.name}
                if known == {data.hash}:
                    found[data.dataset.name] = data.dataset.label_names
        except UserError as error:
            typer.echo(f"labels are called by number, since the data cannot be read: {error}", err=True)
    return found
