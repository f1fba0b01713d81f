"""The parts of a recipe: data options, claims and figures, as frozen objects."""

from collections.abc import Mapping
from typing import Annotated, Literal, Self, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, model_validator

from mlrank.yamlfile import YamlMapping

__all__ = [
    "FROZEN",
    "GRADES",
    "NOT_METRICS",
    "USER",
    "Claim",
    "DataOption",
    "Effort",
    "FigureClaim",
    "FigureRecipe",
    "RegionsRecipe",
    "RelatedTable",
    "Sizes",
    "Source",
    "SpeedClaim",
    "TimesTable",
    "XAxis",
    "YAxis",
    "grade_on",
    "is_called",
    "named_claim",
]

# What a comparison with the paper is worth, from best to worst.
GRADES: Mapping[str, str] = {
    "exact": "same data and split",
    "same-source": "same source, new sample",
    "related": "related collection",
    "stand-in": "stand-in data",
}
# The option that stands for files named by the user.
USER = "user"

# What a figure can show beside metrics: what records say of a fit.
NOT_METRICS = ("fit_seconds", "objective")

FROZEN = ConfigDict(frozen=True, extra="forbid")


def is_called(title: str, asked: str) -> bool:
    """Return whether a table is asked for: by its title, whole or up to the comma, or the last word of either.

    >>> [is_called("Table 1, column Music", asked) for asked in ("1", "Table 1", "Music", "Table", "2")]
    [True, True, True, False, False]
    """
    return any(asked in (name, name.split()[-1]) for name in (title, title.partition(",")[0]))


class DataOption(BaseModel):
    """One data set on which a table can be attempted.

    Parameters
    ----------
    dataset : catalogue name, or "user" for files that the user names
    grade : key of GRADES
    note : how the data differ from the paper's
    how_to : how to get them
    subset, split : replace those of the recipe's experiment
    """

    model_config = FROZEN

    dataset: str
    grade: Literal["exact", "same-source", "related", "stand-in"]
    note: str
    how_to: str
    subset: YamlMapping | None = None
    split: YamlMapping | None = None


def grade_on(option: DataOption, stand_in: bool) -> str:
    """Return the key of GRADES for runs on an option: of data that call themselves generated, stand-in in any case."""
    return "stand-in" if stand_in else option.grade


class Effort(BaseModel):
    """What a grid changes of an experiment, so that fewer runs are made: keys of its split, search and subset."""

    model_config = FROZEN

    split: YamlMapping = {}
    search: YamlMapping = {}
    subset: YamlMapping = {}


# Where a paper makes a claim: in a sentence, or in what a table or figure shows, which is then put in words of ours.
Source: TypeAlias = Literal["text", "table", "figure"]


def named_claim(text: str, source: Source) -> str:
    """Return a claim as it is shown: with its source if it is no sentence of the paper.

    >>> named_claim("A is fast", "table")
    'A is fast (from the table)'
    """
    return text if source == "text" else f"{text} (from the {source})"


class Claim(BaseModel):
    """A statement of the paper, judged in each of `metrics`, in one of four forms.

    Parameters
    ----------
    text : the statement
    metrics : keys of METRICS
    order : these methods come out from best to worst
    pairs : of each pair of methods the first comes out better
    close, within : the two methods of each pair come out no further apart than `within`
    best, among, places : this method is one of the best so many among these
    source : "text" if the paper says so in a sentence, "table" or "figure" if it only shows it there
    """

    model_config = FROZEN

    text: str
    source: Source = "text"
    metrics: tuple[str, ...] = Field(min_length=1)
    order: Annotated[tuple[str, ...], Field(min_length=2)] | None = None
    pairs: Annotated[tuple[tuple[str, str], ...], Field(min_length=1)] | None = None
    close: Annotated[tuple[tuple[str, str], ...], Field(min_length=1)] | None = None
    within: float = Field(default=0.0, ge=0.0)
    best: str | None = None
    among: tuple[str, ...] = ()
    places: int = Field(default=1, ge=1)

    @property
    def named(self) -> str:
        """Its text, with where it comes from if that is no sentence of the paper."""
        return named_claim(self.text, self.source)

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods it is about, each once."""
        pairs = (*(self.pairs or ()), *(self.close or ()))
        best = () if self.best is None else (self.best, *self.among)
        return tuple(dict.fromkeys([*(self.order or ()), *(method for pair in pairs for method in pair), *best]))


class SpeedClaim(BaseModel):
    """A statement of the paper on run times.

    Parameters
    ----------
    text : the statement
    faster_first : the first of these methods is faster than each of the others
    factor : by how much, at least
    source : as of Claim
    """

    model_config = FROZEN

    text: str
    faster_first: tuple[str, ...] = Field(min_length=2)
    factor: float = Field(default=1.0, ge=1.0)
    source: Source = "text"

    @property
    def named(self) -> str:
        """Its text, with where it comes from if that is no sentence of the paper."""
        return named_claim(self.text, self.source)


class TimesTable(BaseModel):
    """Another table of the paper, of run times on the same data.

    Parameters
    ----------
    table : what the paper calls it, such as "Table 3"
    protocol : what was decided where the paper is silent, one line each
    methods : what is timed, each with settings that leave nothing to search
    expected : the paper's seconds per method, null where it prints none
    spread : their standard deviations, where the paper gives them
    claims : what the paper concludes
    repeats : splits to fit on, where not as many as for the recipe's own table
    predictions : whether seconds are those of the fit and of the predictions on the test rows, and not of the fit alone
    """

    model_config = FROZEN

    table: str
    protocol: tuple[str, ...] = ()
    methods: dict[str, YamlMapping] = Field(min_length=2)
    expected: dict[str, float | None] = Field(min_length=2)
    spread: dict[str, float] = {}
    claims: tuple[SpeedClaim, ...] = Field(min_length=1)
    repeats: int | None = Field(default=None, ge=1)
    predictions: bool = False


class Sizes(BaseModel):
    """What a paper counts of its data, in a table of its own: null where it does not."""

    model_config = FROZEN

    table: str
    rows: int | None = None
    features: int | None = None
    labels: int | None = None
    labels_per_row: float | None = None

    def beside(self, rows: int, features: int, labels: int, labels_per_row: float) -> str:
        """Return the paper's counts beside those of other data, and which are not the same, in words.

        >>> Sizes(table="Table 1", rows=5000, labels_per_row=3.522).beside(5000, 499, 374, 3.5218)
        "Table 1, the paper's / ours: rows 5000 / 5000, labels per row 3.522 / 3.522: the same"
        """
        ours: dict[str, float] = {
            "rows": rows,
            "features": features,
            "labels": labels,
            "labels_per_row": round(labels_per_row, 3),
        }
        known = {name: (theirs, ours[name]) for name in ours if (theirs := getattr(self, name)) is not None}
        counts = ", ".join(f"{name.replace('_', ' ')} {a:g} / {b:g}" for name, (a, b) in known.items())
        others = [name.replace("_", " ") for name, (a, b) in known.items() if a != b]
        verdict = f"not the same: {', '.join(others)}" if others else "the same"
        return f"{self.table}, the paper's / ours: {counts}: {verdict}"


class XAxis(BaseModel):
    """The x axis: its label, what values are divided by, and whether they stand evenly whatever they are."""

    model_config = FROZEN

    label: str
    divide: float = Field(default=1.0, gt=0.0)
    spacing: Literal["value", "even"] = "value"


class YAxis(BaseModel):
    """The y axis: a key of METRICS, "fit_seconds" or "objective", and its label."""

    model_config = FROZEN

    metric: str
    label: str


class FigureClaim(BaseModel):
    """A statement of the paper on the curves of a figure, in one of eight forms.

    Parameters
    ----------
    text : the statement
    ahead : of each pair of methods the curve of the first is the better one, at every value on the x axis
    ahead_somewhere : the same, at one value at least
    near, within : the curves of each pair are no further apart than `within`, at every value
    slower : of each pair of methods, the seconds of the first grow with a lower power of x than those of the second
    falls, rises : the curves of these methods fall or rise from each value to the next
    settles, by, within : the curves of these methods are, at the value `by`, no further from the last than this share
    best_by, by : the curves of these methods are better at the value `by` than at every larger one
    source : as of Claim
    """

    model_config = FROZEN

    text: str
    ahead: tuple[tuple[str, str], ...] = ()
    ahead_somewhere: tuple[tuple[str, str], ...] = ()
    near: tuple[tuple[str, str], ...] = ()
    slower: tuple[tuple[str, str], ...] = ()
    falls: tuple[str, ...] = ()
    rises: tuple[str, ...] = ()
    settles: tuple[str, ...] = ()
    best_by: tuple[str, ...] = ()
    by: float | None = None
    within: float = Field(default=0.01, gt=0.0)
    source: Source = "text"

    @property
    def named(self) -> str:
        """Its text, with where it comes from if that is no sentence of the paper."""
        return named_claim(self.text, self.source)

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods it is about, each once."""
        pairs = (*self.ahead, *self.ahead_somewhere, *self.near, *self.slower)
        alone = (*self.falls, *self.rises, *self.settles, *self.best_by)
        return tuple(dict.fromkeys([*(method for pair in pairs for method in pair), *alone]))

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        forms = ("ahead", "ahead_somewhere", "near", "slower", "falls", "rises", "settles", "best_by")
        given = [name for name in forms if getattr(self, name)]
        if len(given) != 1:
            found = " and ".join(given) or "none"
            raise ValueError(f"a claim on a figure has one of {', '.join(forms)}, found {found}")
        if (given[0] in ("settles", "best_by")) != (self.by is not None):
            raise ValueError("'by' goes with 'settles' and 'best_by'")
        return self


class FigureRecipe(BaseModel):
    """One figure of a paper: curves over experiments that differ in one number.

    Parameters
    ----------
    title : what the paper calls it, and what it shows
    vary : where the number goes: "split.KEY", "subset.KEY", or "settings.KEY" for every method
    values : the numbers, in the order of the x axis
    x, y : the axes
    methods : method mappings as in an experiment
    flat : methods that the number does not concern, run once
    panels : per title of a panel, the methods in it
    paper_at : the value at which the numbers of the paper's table belong
    claims : what the paper concludes from it
    protocol : what was decided where the paper is silent, one line each
    data : the options where they differ from the recipe's
    subset, split : replace those of the experiment
    """

    model_config = FROZEN

    title: str
    vary: str = Field(pattern=r"^(split|subset|settings)\.[A-Za-z_]+$")
    values: tuple[int | float, ...] = Field(min_length=1)
    x: XAxis
    y: YAxis
    methods: dict[str, YamlMapping] = Field(min_length=1)
    flat: dict[str, YamlMapping] = {}
    panels: dict[str, tuple[str, ...]] = Field(min_length=1)
    paper_at: float | None = None
    claims: tuple[FigureClaim, ...] = ()
    protocol: tuple[str, ...] = ()
    data: tuple[DataOption, ...] = ()
    subset: YamlMapping | None = None
    split: YamlMapping | None = None


class RegionsRecipe(BaseModel):
    """A figure of the plane: which label each method scores best at each test row, beside the training points.

    It is drawn from the runs of the recipe's own experiment, whose test rows must make up a grid of the plane.

    Parameters
    ----------
    title : what the paper calls it, and what it shows
    panels : per title of a panel, a method of the experiment, or null for the training points alone
    """

    model_config = FROZEN

    title: str
    panels: dict[str, str | None] = Field(min_length=1)


class RelatedTable(BaseModel):
    """A table of the paper, of the labels that a mapping takes to be alike.

    Parameters
    ----------
    table : what the paper calls it, such as "Table 3"
    title : what it shows
    protocol : what was decided where the paper is silent or wrong, one line each
    method, settings : what is fitted, with settings that leave nothing to search
    n_related : labels shown for each
    expected : per label, those that the paper names, with commas between
    """

    model_config = FROZEN

    table: str
    title: str
    protocol: tuple[str, ...] = ()
    method: str
    settings: YamlMapping
    n_related: int = Field(default=2, ge=1)
    expected: dict[str, str] = {}
