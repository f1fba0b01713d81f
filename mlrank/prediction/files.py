"""Predictions of a model for the rows of a file."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mlrank.arrays import Features, IntArray
from mlrank.datasets.formats.base import TextStyle
from mlrank.datasets.stream import RowStream
from mlrank.errors import UserError
from mlrank.models.file import StoredModel, scoring
from mlrank.prediction.outputs import ScoredBlock, Wish, output_format, writer

__all__ = ["Done", "bounds_notes", "predict_file"]

# What a block of rows may take, in numbers of 8 bytes.
BLOCK_CELLS = 1 << 22


@dataclass(frozen=True)
class Done:
    """How many rows were predicted, with the notes."""

    n_rows: int
    notes: tuple[str, ...]


def predict_file(
    model: StoredModel,
    data: Path,
    out: Path,
    *,
    scores: bool = False,
    proba: bool = False,
    top: int | None = None,
    format: str | None = None,
    zero_based: bool | None = None,
    id_column: str | None = None,
    style: TextStyle = TextStyle(),  # noqa: B008, it cannot change
    progress: Callable[[int], None] = lambda n_rows: None,
) -> Done:
    """Write the label sets of the rows of a file, or their scores, or their best labels.

    Missing features are filled as those of the training data were, where the model has the values, else refused.

    Rows are read, scored and written block by block, so memory does not grow with their number; of MATLAB files and
    .npz files whose X lies column by column alone, X is read whole.

    Parameters
    ----------
    model : StoredModel
    data : a file in any format that can be read, with or without labels
    out : .csv, .svm or .npz, written whole or not at all
    scores : write all scores instead of label sets
    proba : write the probabilities of all labels instead, where scores are such
    top : write so many of the best labels with their scores instead
    format : of `data`, where its ending does not tell
    zero_based : whether features of `data` count from 0; left out, their numbers are the names the model knows
    id_column : column of a table that names the rows, which are written with the names
    style : how `data` is written, where it is separated text
    progress : is called with the number of rows done

    Raises
    ------
    UserError
        If the file cannot be understood or its features are not those of the model, or scores are no probabilities.
    """
    if proba and scores:
        raise UserError("ask for scores or for probabilities, not for both")
    if proba and not model.predictor.gives_probabilities:
        raise UserError(
            "the scores of this model are no probabilities; train it with 'calibrate: sigmoid' or 'calibrate: isotonic'"
        )
    wish = Wish(model.label_names, scores or proba, top, id_column)
    _check(wish, data, out)
    stream = RowStream(data, model.selection, format, zero_based, BLOCK_CELLS, id_column, style)
    n_rows, bounded = 0, np.zeros(2, np.int64)
    with writer(out, wish) as sink:
        for X in _pieces(stream, _block_rows(model, wish)):
            if n_rows and wish.sets and getattr(model.predictor.cut, "TOGETHER", False):
                raise UserError(
                    f"the threshold of this model decides over all rows together, and only {n_rows} are scored at a "
                    "time; ask for scores or for the best labels instead",
                    data,
                )
            sink.write(_predicted(model, X, wish, bounded, stream.take_ids(X.shape[0])))
            n_rows += X.shape[0]
            progress(n_rows)
    return Done(n_rows, (*stream.notes, *bounds_notes(*bounded)))


def bounds_notes(n_filled: int, n_shortened: int) -> tuple[str, ...]:
    """Return a note on how many label sets the bounds of a threshold changed."""
    if not n_filled and not n_shortened:
        return ()
    return (f"by the bounds of the threshold {n_filled} label sets were filled up and {n_shortened} shortened",)


def _check(wish: Wish, data: Path, out: Path) -> None:
    output_format(out)
    if wish.top is not None and wish.scores:
        raise UserError("ask for all scores or for the best labels, not for both")
    if wish.top is not None and not 1 <= wish.top <= len(wish.labels):
        raise UserError(f"the model has {len(wish.labels)} labels, so 1 to {len(wish.labels)} of them can be the best")
    if out.exists() and out.resolve() == data.resolve():
        raise UserError("would be written over the data", out)


def _predicted(model: StoredModel, X: Features, wish: Wish, bounded: IntArray, ids: Sequence[str]) -> ScoredBlock:
    """Return the predictions of a block, and add to `bounded` how many label sets were filled up and shortened."""
    if wish.sets:
        with scoring():
            scores, counted = model.predictor.counted(X)
        bounded += (counted.n_filled, counted.n_shortened)
        return ScoredBlock(scores, counted.sets, ids)
    if wish.top is not None:
        return ScoredBlock(np.zeros((X.shape[0], 0)), None, ids, model.top_scores(X, wish.top))
    return ScoredBlock(model.decision_function(X), None, ids)


def _block_rows(model: StoredModel, wish: Wish) -> int:
    """Return how many rows may be scored at a time."""
    header = model.header
    scored = wish.top if wish.top is not None and model.predictor.finds_best else len(header.label_names)
    widths = [scored, 1 if header.sparse else len(header.feature_names)]
    if header.parts["model"]["kind"] not in ("linear", "sparse_linear"):  # others compare each row with training rows
        widths.append(header.data.n_train)
    return max(1, BLOCK_CELLS // max(widths))


def _pieces(stream: RowStream, rows: int) -> Iterator[Features]:
    for X in stream:
        for start in range(0, X.shape[0], rows):
            yield X if X.shape[0] <= rows else X[np.arange(start, min(start + rows, X.shape[0]))]
