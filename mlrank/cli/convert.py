"""``mlrank datasets convert``."""

from pathlib import Path
from typing import Annotated, Any

import typer

from mlrank.cli.check import columns
from mlrank.cli.options import NameOrPath

__all__ = ["convert"]


def convert(
    data: NameOrPath,
    target: Annotated[Path, typer.Argument(metavar="TARGET", help="The file to write; others are put beside it.")],
    to: Annotated[str | None, typer.Option("--to", metavar="KEY", help="Key of the format to write.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace files that are there.")] = False,
    test: Annotated[Path | None, typer.Option("--test", metavar="FILE", help="The test part's file.")] = None,
    labels: Annotated[Path | None, typer.Option("--labels", metavar="FILE", help="Label names, or Mulan XML.")] = None,
    features: Annotated[Path | None, typer.Option("--features", metavar="FILE", help="Feature names.")] = None,
    label_columns: Annotated[
        str | None, typer.Option("--label-columns", metavar="N|NAMES", help="n first, -n last, or a,b,c.")
    ] = None,
    source_format: Annotated[str | None, typer.Option("--from", metavar="KEY", help="Format to read.")] = None,
    zero_based: Annotated[bool | None, typer.Option("--zero-based/--one-based", help="How features count.")] = None,
    impute: Annotated[str | None, typer.Option("--impute", help="mean, median or zero.")] = None,
) -> None:
    """Write a data set in another format; refused where anything would be lost.

    What was written is read again and compared before it is kept. The last lines say how to name it in a config.

    Examples:

    * `mlrank datasets convert yeast yeast.svm`
    * `mlrank datasets convert mine.csv mine.arff --label-columns -6 --to meka`
    """
    from mlrank.datasets import load_dataset
    from mlrank.datasets.convert import convert as write
    from mlrank.datasets.formats import format_to_write

    key = format_to_write(target, to).key
    options: dict[str, Any] = {"test": test, "labels": labels, "features": features, "impute": impute}
    options |= {"label_columns": columns(label_columns), "format": source_format, "zero_based": zero_based}
    written = write(load_dataset(data, **options), target, key, replace_files=force)
    from mlrank.yamlfile import dump_yaml

    plain = {name: str(value) if isinstance(value, Path) else value for name, value in written.items()}
    typer.echo(dump_yaml({"datasets": [plain]}), nl=False)
