"""``mlrank datasets convert``."""

from pathlib import Path
from typing import Annotated

import typer

from mlrank.cli.completion import format_keys
from mlrank.cli.options import (
    Decimal,
    FeatureFile,
    FoldColumn,
    Force,
    GroupColumn,
    Header,
    IdColumn,
    IgnoreColumns,
    Impute,
    InputFormat,
    LabelColumns,
    LabelFile,
    NameOrPath,
    OneHot,
    Positive,
    Separator,
    TestFile,
    TextColumns,
    Thousands,
    ZeroBased,
    column_options,
    parsed_columns,
    parsed_labels,
)

__all__ = ["convert"]


def convert(
    data: NameOrPath,
    target: Annotated[Path, typer.Argument(metavar="TARGET", help="File to write; others go beside it.")],
    format: Annotated[
        str | None,
        typer.Option(
            "--format",
            "-f",
            metavar="KEY",
            help=f"Format to write: {', '.join(format_keys())}. Default: by the ending of TARGET.",
        ),
    ] = None,
    old_format: Annotated[str | None, typer.Option("--to", hidden=True)] = None,
    force: Force = False,
    drop: Annotated[
        list[str] | None,
        typer.Option("--drop", metavar="KIND", help="ids, groups or folds of the rows to leave out; repeatable."),
    ] = None,
    test: TestFile = None,
    labels: LabelFile = None,
    features: FeatureFile = None,
    label_columns: LabelColumns = None,
    ignore_columns: IgnoreColumns = None,
    id_column: IdColumn = None,
    group_column: GroupColumn = None,
    fold_column: FoldColumn = None,
    text_columns: TextColumns = None,
    one_hot: OneHot = None,
    positive: Positive = None,
    header: Header = None,
    separator: Separator = None,
    decimal: Decimal = None,
    thousands: Thousands = None,
    source_format: InputFormat = None,
    zero_based: ZeroBased = None,
    impute: Impute = None,
) -> None:
    """Write a data set in another format; a format that would lose anything is refused.

    The written files are read again and compared with the data set. The output is the entry for a configuration.

    Examples:

    * `mlrank datasets convert yeast yeast.svm`
    * `mlrank datasets convert mine.csv mine.arff --label-columns -6 --format meka`
    * `mlrank datasets convert mine.csv mine.svm --label-columns "y_*" --id-column name --drop ids`
    """
    from mlrank.datasets import load_dataset
    from mlrank.datasets.convert import convert as write
    from mlrank.datasets.convert import without
    from mlrank.datasets.formats import format_to_write
    from mlrank.datasets.formats.base import LoadOptions

    key = format_to_write(target, format or old_format).key
    options: LoadOptions = {"test": test, "labels": parsed_labels(labels), "features": features, "impute": impute}
    options |= column_options(
        ignore_columns,
        id_column,
        group_column,
        fold_column,
        text_columns,
        one_hot,
        positive,
        header,
        separator,
        decimal,
        thousands,
    )
    options |= {"label_columns": parsed_columns(label_columns), "format": source_format, "zero_based": zero_based}
    written = write(without(load_dataset(data, **options), drop or ()), target, key, replace_files=force)
    from mlrank.yamlfile import dump_yaml

    plain = {name: str(value) if isinstance(value, Path) else value for name, value in written.items()}
    print(dump_yaml({"datasets": [plain]}), end="")
