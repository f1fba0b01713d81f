"""What a model file says of itself, beside the arrays."""

from collections.abc import Mapping
from importlib.metadata import version
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, FiniteFloat, model_validator

from mlrank import __version__
from mlrank.stored import short_names

__all__ = ["FORMAT", "KIND", "Header", "header_of", "versions"]

KIND = "mlrank model"
FORMAT = 1
# Every column has a name; as the readers of data do, refuse more.
MOST_FEATURES, MOST_LABELS = 1 << 23, 1 << 24

_STRICT = ConfigDict(frozen=True, extra="forbid", strict=True)


def _names(value: Any) -> Any:
    """Return names written in full where they are consecutive numbers."""
    if isinstance(value, dict) and value.keys() == {"from", "count"}:
        first, count = value["from"], value["count"]
        if type(first) is int and type(count) is int and 0 <= first <= MOST_LABELS and 0 < count <= MOST_LABELS:
            return tuple(map(str, range(first, first + count)))
    return _tuple(value)


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


class _Settings(BaseModel):
    """A named thing and its settings."""

    model_config = _STRICT

    kind: str
    settings: dict[str, Any]


class _Threshold(_Settings):
    """A threshold, the scores that it was fitted to, and whether it looks at the true labels."""

    scores: str
    oracle: bool


class _Data(BaseModel):
    """What the model was fitted on."""

    model_config = _STRICT

    name: str
    source: str
    hash: str | None
    n_train: int


class _Text(BaseModel):
    """A column of text, as `mlrank.datasets.columns.TextColumn` has it."""

    model_config = _STRICT

    column: str
    max_features: int | None
    ngrams: Annotated[tuple[Annotated[int, Field(ge=1, le=9)], ...], BeforeValidator(_tuple), Field(min_length=2)]
    lowercase: bool
    min_rows: int


class Header(BaseModel):
    """Everything in a model file that is not an array.

    `sparse` says of what kind the features were, `parts` how scaling, projection, model and cut are put together again,
    `fill` what missing cells of each feature are filled with; files of models whose data had to be whole lack it.
    `propensities` are those of the labels by the training rows, for the metrics that weigh by them.
    `text` says how the terms of texts are counted.
    """

    model_config = _STRICT

    kind: Literal["mlrank model"]
    format: Literal[1]
    experiment: str
    method: str
    split: str
    solver: _Settings
    threshold: _Threshold
    scale: str
    projection: _Settings | None
    data: _Data
    sparse: bool
    label_names: Annotated[tuple[str, ...], BeforeValidator(_names), Field(min_length=1, max_length=MOST_LABELS)]
    feature_names: Annotated[tuple[str, ...], BeforeValidator(_names), Field(min_length=1, max_length=MOST_FEATURES)]
    config: dict[str, Any] | None
    versions: dict[str, str]
    commit: str | None
    parts: dict[str, Any]
    fill: Annotated[tuple[FiniteFloat, ...], BeforeValidator(_tuple)] | None = None
    text: Annotated[tuple[_Text, ...], BeforeValidator(_tuple)] = ()
    propensities: Annotated[tuple[FiniteFloat, ...], BeforeValidator(_tuple)] | None = None

    @model_validator(mode="after")
    def _check_fill(self) -> "Header":
        if self.fill is not None and len(self.fill) != len(self.feature_names):
            raise ValueError(f"fill has {len(self.fill)} values for {len(self.feature_names)} features")
        if self.propensities is not None:
            if len(self.propensities) != len(self.label_names):
                raise ValueError(f"{len(self.propensities)} propensities for {len(self.label_names)} labels")
            if not all(0 < value <= 1 for value in self.propensities):
                raise ValueError("a propensity lies above 0 and is at most 1")
        return self

    def plain(self) -> dict[str, Any]:
        """Return JSON values; names that are consecutive numbers are written short."""
        values = self.model_dump()
        for key in ("label_names", "feature_names"):
            values[key] = short_names(values[key])
        for key in ("fill", "propensities"):
            if values[key] is None:
                del values[key]
        if not self.text:
            del values["text"]
        return values


def versions() -> dict[str, str]:
    """Return the versions of mlrank and of the libraries that compute scores."""
    return {"mlrank": __version__, **{name: version(name) for name in ("numpy", "scipy", "scikit-learn")}}


def header_of(values: Mapping[str, Any]) -> Header:
    """Return a header of these values, with the versions of this installation."""
    return Header.model_validate({"kind": KIND, "format": FORMAT, "versions": versions(), **values})
