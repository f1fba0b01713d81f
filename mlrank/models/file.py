"""Model files: one zip of npy arrays and a JSON header, with nothing in it that could run."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ValidationError
from scipy.sparse import csr_array, issparse

from mlrank.arrays import BoolArray, Features, FloatArray
from mlrank.datasets.columns import TextColumn
from mlrank.datasets.formats.base import StreamRequest
from mlrank.datasets.formats.frames import FrameTable, stream_tables
from mlrank.datasets.formats.missing import filled
from mlrank.datasets.formats.selection import Selection
from mlrank.datasets.memory import frame_of
from mlrank.errors import UserError, check_regular, memory_errors
from mlrank.labels import TopScores
from mlrank.models.header import FORMAT, KIND, Header, header_of
from mlrank.models.predictor import Fit, Predictor, restored
from mlrank.room import check_room
from mlrank.solvers import Capabilities
from mlrank.stored import ArchiveContent, dump_json, read_archive
from mlrank.thresholds.cuts import check_scores

__all__ = ["StoredModel", "load_model", "model_content", "scoring"]

HEADER = "header.json"


@dataclass(frozen=True)
class StoredModel:
    """A model from a file.

    Parameters
    ----------
    header : Header
    predictor : Predictor
    """

    header: Header
    predictor: Predictor

    def __repr__(self) -> str:
        about = self.header
        fitted = f", fitted to {about.data.n_train} rows of {about.data.name}" if about.data.name else ""
        sizes = f"{len(about.feature_names)} features, {len(about.label_names)} labels"
        return f"<StoredModel {about.method} ({about.solver.kind}): {sizes}{fitted}>"

    @property
    def label_names(self) -> tuple[str, ...]:
        """Names of the labels, in the order of the scores."""
        return self.header.label_names

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features, in the order of the columns of X."""
        return self.header.feature_names

    @property
    def fill(self) -> FloatArray | None:
        """What missing cells of each feature are filled with, (n_features,); None where none may be missing."""
        return None if self.header.fill is None else np.array(self.header.fill)

    @property
    def text(self) -> tuple[TextColumn, ...]:
        """The columns of text that features count the terms of."""
        return tuple(TextColumn(**{**column.model_dump(), "ngrams": column.ngrams}) for column in self.header.text)

    @property
    def selection(self) -> Selection:
        """The columns that the model takes."""
        pairwise = Capabilities.of(self.predictor.model).pairwise
        owner = "the model (kernel values with training rows)" if pairwise else "the model"
        return Selection(self.feature_names, self.label_names, owner, self.fill, self.text)

    def decision_function(self, X: Any) -> FloatArray:
        """Return scores (n_samples, n_labels), larger = more relevant.

        Parameters
        ----------
        X : (n_samples, n_features) ndarray or sparse matrix in the order of `feature_names`; or a DataFrame or Arrow
            table, whose columns are found by name, whatever their order, and may be more than the model uses

        Raises
        ------
        UserError
            If the rows do not fit the model, a column is missing, numbers are too large for finite scores, or there is
            no room for all scores.
        """
        rows = self._whole(X)
        with scoring():
            scores = self.predictor.decision_function(rows)
            check_scores(scores)
        return scores

    def top_scores(self, X: Any, k: int) -> TopScores:
        """Return the `k` best scored labels of each row, as `decision_function` takes them; see `TopScores`."""
        rows = self._rows(X)
        with scoring():
            found = self.predictor.top_scores(rows, k, len(self.label_names))
            check_scores(np.where(found.labels < 0, 0.0, found.scores))
        return found

    def predict(self, X: Any) -> BoolArray:
        """Return label sets (n_samples, n_labels) of rows as `decision_function` takes them."""
        rows = self._whole(X)
        with scoring():
            return self.predictor.predict(rows)[1]

    def _whole(self, X: Any) -> Features:
        """Return the rows of `_rows` if there is room for all of their scores."""
        rows, k = self._rows(X), len(self.label_names)
        n = np.shape(rows)[0] if np.ndim(rows) else 0
        check_room(
            8.0 * n * k, f"all scores of {n} rows and {k} labels", hint="take the best of each: top_scores(X, 5)"
        )
        return rows

    def _rows(self, X: Any) -> Features:
        """Return the rows of a frame or an array as the model takes them, missing values filled where it can."""
        if isinstance(X, np.ndarray) or issparse(X):
            return X if self.fill is None or X.shape[1:] != self.fill.shape else filled(X, self.fill)[0]
        frame = frame_of(X)
        if frame is None:
            return X
        table = FrameTable(Path("the frame"), frame)
        request = StreamRequest(table.path, self.selection, None, max(len(frame), 1), 0, [])
        (rows,) = stream_tables(request, table)
        return filled(rows, self.fill)[0]


@contextmanager
def scoring() -> Iterator[None]:
    """Turn what a model of unknown origin makes of some rows in the block into a UserError."""
    try:
        with np.errstate(all="ignore"):
            yield
    except (ValueError, ArithmeticError, LookupError, TypeError) as error:
        raise UserError(f"the model cannot score these rows: {_one_line(error)}") from error


def model_content(fit: Fit, about: Mapping[str, object]) -> ArchiveContent:
    """Return the content of a model file; equal models are written as equal bytes.

    Parameters
    ----------
    fit : Fit
    about : the fields of Header beside kind, format, versions, sparse and parts
    """
    header = header_of({**about, "sparse": fit.sparse, "parts": fit.parts})
    return ArchiveContent({HEADER: dump_json(header.plain())}, fit.arrays)


def load_model(path: Path | str) -> StoredModel:
    """Open a model file.

    Nothing in it is run, and its arrays are checked before they are used, so a file of unknown origin does no harm.

    Raises
    ------
    UserError
        If the file is missing, damaged or no model, or of a later format.
    """
    path = Path(path)
    check_regular(path)
    with memory_errors(path):
        return _load(path)


def _load(path: Path) -> StoredModel:
    found = read_archive(path)
    header = _header(found.pop(HEADER, None), path)
    if stray := sorted(name for name in found if name.endswith(".json")):
        raise UserError(f"damaged: holds {stray[0]}, which is no part of a model", path)
    try:
        predictor = restored(header.parts, found, header.sparse)
        _check(predictor, header)
    except Exception as error:  # whatever an array that does not fit makes the parts raise
        raise UserError(f"damaged: the parts of the model do not fit together ({_one_line(error)})", path) from error
    return StoredModel(header, predictor)


def _header(found: Any, path: Path) -> Header:
    if not isinstance(found, dict) or found.get("kind") != KIND:
        raise UserError(f"no model of mlrank: it holds no {HEADER} that says so", path)
    if found.get("format") != FORMAT:
        raise UserError(f"has model format {str(found.get('format'))[:20]}, this version reads {FORMAT}", path)
    try:
        return Header.model_validate(found)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))[:80]
        raise UserError(f"damaged: {HEADER}: {where}: {first['msg'].lower()}", path) from error


def _check(predictor: Predictor, header: Header) -> None:
    """Score a row of zeros, or look at the scores of a model that knows its own rows alone."""
    shape = (1, len(header.feature_names))
    row = csr_array(shape) if header.sparse else np.zeros(shape)
    with np.errstate(all="ignore"):
        if predictor.transductive:
            model = predictor.model
            if model.digests.shape != (len(model.scores), 16) or not 0 <= model.n_train <= len(model.scores):
                raise ValueError("rows and scores differ in number")
            scores = model.scores[:1]
            predictor.scaling(row)
        else:
            scores = predictor.decision_function(row)
    if scores.dtype != np.float64 or scores.shape != (1, len(header.label_names)):
        raise ValueError(f"scores of shape {scores.shape} for {len(header.label_names)} labels")
    if predictor.calibration is not None:
        predictor.calibration(scores)
    seen = predictor.scaling(row)
    if predictor.projection is not None:
        seen = predictor.projection.transform(seen)
    predictor.cut(np.zeros(scores.shape), seen, np.zeros(scores.shape, np.bool_))


def _one_line(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:120]
