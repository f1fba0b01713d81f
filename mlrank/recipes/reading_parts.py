"""The questions that a paper leaves open, each with the choices that a reader has, as frozen objects."""

from collections.abc import Iterator
from typing import Literal, Self

from pydantic import BaseModel, Field, model_validator

from mlrank.recipes.recipe_parts import FROZEN
from mlrank.yamlfile import YamlMapping

__all__ = ["DERIVED", "Choice", "Question"]

# Measures that are no metric of ours, and the metrics that they are computed from.
DERIVED: dict[str, tuple[str, str]] = {"f1_of_means": ("precision_macro", "recall_macro")}


class Choice(BaseModel):
    """One way to read a paper where it leaves something open: what it changes of the recipe as it stands.

    The first four change what is fitted. The last three only change what is read from the fits, so they cost none.

    Parameters
    ----------
    methods : settings, of the solver or of its threshold, by method
    split, subset, search : keys of the experiment's; a split of another kind takes the place of the recipe's
    scale : that of the experiment
    metrics : per metric of the paper's table, the metric or the derived measure that stands for it
    undefined : whether labels or rows for which a measure is undefined are left out of its mean, or count as 0
    """

    model_config = FROZEN

    methods: dict[str, YamlMapping] = {}
    split: YamlMapping = {}
    subset: YamlMapping = {}
    search: YamlMapping = {}
    scale: str | None = None
    metrics: dict[str, str] = {}
    undefined: Literal["skip", "zero"] | None = None

    @property
    def changes(self) -> YamlMapping:
        """What it changes, by name."""
        return self.model_dump(exclude_defaults=True)

    @property
    def costs_fits(self) -> bool:
        """Whether it changes what is fitted."""
        return bool(set(self.changes) - {"metrics", "undefined"})


class Question(BaseModel):
    """Something that a paper leaves open.

    Parameters
    ----------
    paper : where the paper speaks of it, and what it leaves open
    default : the choice that the recipe makes
    choices : by name; the default changes nothing
    """

    model_config = FROZEN

    paper: str = Field(min_length=1)
    default: str
    choices: dict[str, Choice] = Field(min_length=2)

    @model_validator(mode="after")
    def _default_is_the_recipe(self) -> Self:
        if self.default not in self.choices:
            raise ValueError(f"the default {self.default!r} is none of the choices {', '.join(self.choices)}")
        for name, choice in self.choices.items():
            if (name == self.default) == bool(choice.changes):
                found = "changes something" if name == self.default else "changes nothing"
                raise ValueError(f"the default alone is the recipe as it stands, but the choice {name!r} {found}")
        return self

    @property
    def names(self) -> list[str]:
        """The names of the choices, the default first."""
        return sorted(self.choices, key=lambda name: name != self.default)

    @property
    def costs_fits(self) -> bool:
        """Whether one of its choices changes what is fitted."""
        return any(choice.costs_fits for choice in self.choices.values())

    def mentions(self) -> Iterator[tuple[str, str, tuple[str, ...]]]:
        """Yield what the choices name: "method", "metric of the paper's table" or "measure", its name, its place."""
        for name, choice in self.choices.items():
            at = ("choices", name)
            for method in choice.methods:
                yield "method", method, (*at, "methods", method)
            for printed, measured in choice.metrics.items():
                yield "metric of the paper's table", printed, (*at, "metrics", printed)
                yield "measure", measured, (*at, "metrics", printed)
