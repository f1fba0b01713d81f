"""Whether what a paper says of the curves of a figure holds on ours, by the same tests as claims on its tables."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

import numpy as np

from mlrank.arrays import FloatArray
from mlrank.metrics import METRICS
from mlrank.recipes.claims import ClaimResult, combined, corrected, share_of, support
from mlrank.recipes.compare import Comparison
from mlrank.recipes.evidence import PartEvidence, better, decide, within
from mlrank.recipes.figures import FLAT, Runs, value_of
from mlrank.recipes.recipe import Recipe
from mlrank.recipes.recipe_parts import GRADES, DataOption, FigureClaim, FigureRecipe, grade_on

__all__ = ["compare_figure", "judge_figure"]

# How many parts that came out otherwise are spelled out.
SPELLED_OUT = 4
# A rise by no more than this share is none.
ROUNDING = 1e-6

Parts = Mapping[str, PartEvidence]


def compare_figure(recipe: Recipe, name: str, option: DataOption, runs: Runs) -> Comparison:
    """Return what came of the claims on a figure; a figure prints no numbers to set beside ours.

    Parameters
    ----------
    name : key of the recipe's figures or regions
    option : the data that the runs are of
    """
    figure = recipe.figures.get(name)
    title = recipe.regions[name].title if figure is None else figure.title
    records = [record for found in runs.values() for record in found]
    grade = grade_on(option, any(record.dataset.stand_in for record in records))
    dataset = records[0].dataset.name if records else option.dataset
    table, _, shows = title.partition(": ")
    protocol = () if figure is None else figure.protocol
    notes = (f"data: {option.note}", *([f"it shows: {shows}"] if shows else []), *(f"protocol: {p}" for p in protocol))
    return Comparison(
        title=f"{title}; {recipe.paper}; ours on {dataset} ({GRADES[grade]})",
        recipe=recipe.name,
        paper=recipe.paper,
        table=table,
        dataset=dataset,
        grade=grade,
        n_splits=len({record.split for record in records}),
        cells=(),
        claims=() if figure is None else judge_figure(figure, runs, grade),
        notes=notes,
    )


def judge_figure(figure: FigureRecipe, runs: Runs, grade: str) -> tuple[ClaimResult, ...]:
    """Judge the claims on a figure, with Holm's correction over all of them.

    Parameters
    ----------
    runs : per value on the x axis, and under FLAT, the records of its experiment
    grade : key of GRADES
    """
    records = [record for found in runs.values() for record in found]
    splits = list(dict.fromkeys(record.split for record in records))
    share = share_of([record for record in records if record.done])
    alone = []
    for claim in figure.claims:
        curves = {method: _curve(figure, runs, method, splits) for method in claim.methods}
        parts = dict(_parts(claim, figure, curves, share))
        decision = decide(list(parts.values()), 1 if claim.ahead_somewhere else len(parts))
        alone.append(combined(claim.named, [decision], _details(claim, figure, curves, parts), len(splits), grade))
    return tuple(corrected(alone, grade))


def _curve(figure: FigureRecipe, runs: Runs, method: str, splits: Sequence[str]) -> list[FloatArray | None]:
    """Return the values over the splits at each value on the x axis; None where one is missing."""
    keys = [FLAT] * len(figure.values) if method in figure.flat else list(figure.values)
    return [_over_splits(runs, key, method, figure.y.metric, splits) for key in keys]


def _over_splits(runs: Runs, key: float | str, method: str, metric: str, splits: Sequence[str]) -> FloatArray | None:
    done = {record.split: record for record in runs.get(key, ()) if record.method == method and record.done}
    values = [value_of(done[split], metric) for split in splits if split in done]
    if not values or len(values) < len(splits) or None in values:
        return None
    return np.array(values, dtype=np.float64)


Curves = Mapping[str, Sequence[FloatArray | None]]


def _parts(
    claim: FigureClaim, figure: FigureRecipe, curves: Curves, share: float
) -> Iterator[tuple[str, PartEvidence]]:
    """Yield what is to be so, each in words."""
    sign = METRICS[figure.y.metric].sign if figure.y.metric in METRICS else -1.0
    for first, second in (*claim.ahead, *claim.ahead_somewhere):
        for x, one, other in zip(figure.values, curves[first], curves[second], strict=True):
            yield f"{first} and {second} at {x:g}", better(one, other, sign, share)
    for first, second in claim.near:
        for x, one, other in zip(figure.values, curves[first], curves[second], strict=True):
            yield f"{first} and {second} at {x:g}", within(one, other, claim.within, share)
    for first, second in claim.slower:
        less, more = _powers(figure, curves[first]), _powers(figure, curves[second])
        yield f"{first} and {second}", better(more, less, 1.0, share)
    for method in claim.falls:
        for x, then, before, after in _steps(figure, curves[method]):
            # What is left of rounding where a curve has come to its end is no rise.
            yield f"{method} from {x:g} to {then:g}", better(before, _times(after, 1.0 - ROUNDING), 1.0, share)
    for method in claim.rises:
        for x, then, before, after in _steps(figure, curves[method]):
            yield f"{method} from {x:g} to {then:g}", better(after, before, 1.0, share)
    by = figure.values.index(claim.by) if claim.by is not None else 0
    for method in claim.settles:
        at, last = curves[method][by], curves[method][-1]
        shares = None if at is None or last is None else at / last
        yield f"{method} at {claim.by:g}", within(shares, _times(shares, 0.0, 1.0), claim.within, share)
    for method in claim.best_by:
        for x, values in zip(figure.values[by + 1 :], curves[method][by + 1 :], strict=True):
            yield f"{method} at {claim.by:g} and {x:g}", better(curves[method][by], values, sign, share)


def _steps(
    figure: FigureRecipe, curve: Sequence[FloatArray | None]
) -> Iterator[tuple[float, float, FloatArray | None, FloatArray | None]]:
    for (x, before), (then, after) in pairwise(zip(figure.values, curve, strict=True)):
        yield x, then, before, after


def _times(values: FloatArray | None, factor: float, plus: float = 0.0) -> FloatArray | None:
    return None if values is None else factor * values + plus


def _powers(figure: FigureRecipe, curve: Sequence[FloatArray | None]) -> FloatArray | None:
    """Return per split the power of x with which a curve grows: the slope of the logarithms by least squares."""
    known = [values for values in curve if values is not None]
    if len(known) < len(curve) or len(known) < 2:
        return None
    x = np.log(np.array(figure.values, dtype=np.float64))
    y = np.log(np.array(known))
    centered = x - x.mean()
    slopes: FloatArray = centered @ (y - y.mean(axis=0)) / (centered @ centered)
    return slopes


def _details(claim: FigureClaim, figure: FigureRecipe, curves: Curves, parts: Parts) -> list[str]:
    others = [name for name, part in parts.items() if not part.as_claimed]
    text = f"{figure.y.metric}: {len(parts) - len(others)} of {len(parts)} parts as claimed"
    if others:
        more = f" and {len(others) - SPELLED_OUT} more" if len(others) > SPELLED_OUT else ""
        text += f"; not {', '.join(others[:SPELLED_OUT])}{more}"
    lines = [f"{text}{support(list(parts.values()))}"]
    if claim.settles:
        lines.append(f"settled is within {claim.within:.0%} of the value at {figure.values[-1]:g} (a margin of ours)")
    if claim.ahead_somewhere:
        lines.append("one part is enough; that there are several to choose from is counted in p")
    if claim.near:
        lines.append(f"near is within {claim.within:g} (a margin of ours)")
    if claim.slower:
        powers = {method: _powers(figure, curves[method]) for method in claim.methods}
        powers_of = [f"{m} with the power {p.mean():.2f}" for m, p in powers.items() if p is not None]
        lines.append(f"seconds grow with {figure.x.label}: {', '.join(powers_of) or 'not known'}")
    return lines
