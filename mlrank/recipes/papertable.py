"""How a paper prints its table: the part of a recipe that says what rows, columns and names it has."""

from typing import Literal, Self, TypeAlias

from pydantic import BaseModel, Field, model_validator

from mlrank.recipes.recipe_parts import FROZEN

__all__ = ["PaperLayout", "Side"]

Side: TypeAlias = Literal["dataset", "method", "metric"]


class PaperLayout(BaseModel):
    """The layout of a table.

    Parameters
    ----------
    caption : what the paper says of it
    dataset : what the paper calls the data
    rows, cols : what rows and columns are for; with one metric, or one data set, that side may be left out
    corner : what stands above the names of the rows
    metrics : per metric, or "fit_seconds", what the paper calls it, in its order
    methods : per method what the paper calls it, in its order
    factor : what values are multiplied by: 100 for percent
    decimals : digits after the point
    times : the layout of the table of run times, where that is another table than the recipe's own
    """

    model_config = FROZEN

    caption: str
    dataset: str
    rows: tuple[Side, ...] = Field(default=("method",), min_length=1)
    cols: tuple[Side, ...] = Field(default=("metric",), min_length=1)
    corner: str = ""
    metrics: dict[str, str] = Field(min_length=1)
    methods: dict[str, str] = Field(min_length=1)
    factor: Literal[1, 100] = 1
    decimals: int = Field(default=4, ge=0)
    times: "PaperLayout | None" = None

    @model_validator(mode="after")
    def _every_cell_has_a_place(self) -> Self:
        sides = (*self.rows, *self.cols)
        if len(set(sides)) < len(sides):
            raise ValueError(f"rows and columns must be for different things, found {' and '.join(sides)}")
        needed = {"method", "metric"} if len(self.metrics) > 1 else {"method"}
        if absent := sorted(needed - set(sides)):
            raise ValueError(f"neither rows nor columns are for each {absent[0]}")
        return self
