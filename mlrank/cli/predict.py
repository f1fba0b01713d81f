"""``mlrank predict``."""

from pathlib import Path
from typing import Annotated

import typer

from mlrank.cli.options import Quiet

__all__ = ["predict"]


def predict(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A .model file, as every run of an experiment has.")],
    data: Annotated[Path, typer.Argument(metavar="DATA", help="Rows to predict, with or without labels.")],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="Written: .csv, .svm or .npz.")],
    top: Annotated[
        int | None, typer.Option("--top", metavar="K", min=1, help="The K best labels of each row and their scores.")
    ] = None,
    scores: Annotated[bool, typer.Option("--scores", help="The scores of all labels.")] = False,
    format: Annotated[
        str | None, typer.Option("--from", metavar="KEY", help="Format of DATA, where its ending does not tell.")
    ] = None,
    zero_based: Annotated[
        bool | None, typer.Option("--zero-based/--one-based", help="How the features of DATA count.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace FILE if it is there.")] = False,
    quiet: Quiet = False,
) -> None:
    """Predict labels for the rows of a file with a stored model.

    Written are label sets, as the model's threshold cuts the scores, unless --top or --scores asks for something else.
    Features are found by their names, or by their numbers in LIBSVM files; labels that DATA holds are passed over.
    Missing features are filled as those of the training data were, and refused if these had to be whole.
    Rows are read, scored and written block by block, so there may be any number of them (of MATLAB files alone, and of
    .npz files whose X lies column by column, X is read whole).

    Examples:

    * `mlrank predict results/quickstart/runs/yeast/official/Rank-SVM.model new.arff --out labels.csv`
    * `mlrank predict my.model new.svm --top 3 --out best.csv`
    * `mlrank predict my.model new.csv --scores --out scores.npz`
    """
    from mlrank.errors import UserError
    from mlrank.models.file import load_model
    from mlrank.prediction import predict_file

    if out.exists() and not force:
        raise UserError("is there already; say --force to have it replaced", out)
    done = predict_file(load_model(model), data, out, scores=scores, top=top, format=format, zero_based=zero_based)
    for note in done.notes:
        typer.echo(f"mlrank: {data}: {note}", err=True)
    if not quiet:
        typer.echo(f"{done.n_rows} rows written to {out}")
