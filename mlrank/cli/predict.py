"""``mlrank predict``."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from mlrank.cli.options import (
    STANDARD,
    Decimal,
    Force,
    Header,
    IdColumn,
    InputFormat,
    Quiet,
    Separator,
    Thousands,
    ZeroBased,
    column_options,
    printed,
    spooled,
)

__all__ = ["predict"]


def predict(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A .model file; every run of an experiment has one.")],
    data: Annotated[Path, typer.Argument(metavar="DATA", help="Rows to predict, with or without labels; - for stdin.")],
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="File to write: .csv, .json, .parquet, .svm or .npz; - for CSV on stdout.",
        ),
    ],
    top: Annotated[
        int | None,
        typer.Option("--top", metavar="K", min=1, help="Write the K best labels of each row with scores."),
    ] = None,
    scores: Annotated[bool, typer.Option("--scores", help="Write the scores of all labels.")] = False,
    proba: Annotated[bool, typer.Option("--proba", help="Write the probabilities of all labels.")] = False,
    data_format: InputFormat = None,
    out_format: Annotated[
        str | None, typer.Option("--format", "-f", metavar="KEY", help="For --out -: csv, json or libsvm.")
    ] = None,
    zero_based: ZeroBased = None,
    id_column: IdColumn = None,
    header: Header = None,
    separator: Separator = None,
    decimal: Decimal = None,
    thousands: Thousands = None,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Predict labels for the rows of a file with a stored model.

    The file gets label sets by the model's threshold; --top and --scores write scores instead, and --proba
    probabilities, where scores are calibrated (`calibrate: sigmoid`) or are shares of neighbors. Features are matched
    by name, in LIBSVM files by number; labels in DATA are ignored. Missing features are filled as in the training data,
    and refused if the training data had to be complete. Rows are read, scored and written block by block, so a file may
    be larger than memory (but X of MATLAB files, and of .npz files that store it by columns, is read whole).

    Examples:

    * `mlrank predict results/quickstart/runs/yeast/official/Rank-SVM.model new.arff --out labels.csv`
    * `mlrank predict my.model new.svm --top 3 --out best.csv`
    * `mlrank predict my.model new.csv --scores --out scores.npz`
    * `zcat new.csv.gz | mlrank predict my.model - --id-column name --out - > labels.csv`
    * `mlrank predict my.model new.csv --proba --out probabilities.csv`
    """
    from mlrank.datasets.formats.base import LoadOptions, TextStyle
    from mlrank.errors import UserError
    from mlrank.models.file import load_model
    from mlrank.prediction import predict_file

    if out.exists() and not force:
        raise UserError("this file exists; --force replaces it", out)
    about: LoadOptions = column_options(header=header, separator=separator, decimal=decimal, thousands=thousands)
    with spooled(data, data_format) as source, printed(out, out_format) as target:
        done = predict_file(
            load_model(model),
            source,
            target,
            scores=scores,
            proba=proba,
            top=top,
            format=data_format,
            zero_based=zero_based,
            id_column=id_column,
            style=TextStyle(**{option: about[option] for option in ("header", "separator", "decimal", "thousands")}),
        )
    for note in done.notes:
        print(f"mlrank: {data}: {note}", file=sys.stderr)
    if not quiet and out != STANDARD:
        print(f"{done.n_rows} rows written to {out}")
