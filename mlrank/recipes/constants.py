"""What predictors reach that look at no features: every number that a paper prints is set against them.

A number below theirs is that of a method which is worse than none, or it is not what it is called. Where even the best
number of a column is below, and on every split, the second is the case.
"""

from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from mlrank.arrays import BoolArray, FloatArray
from mlrank.config import ExperimentConfig
from mlrank.experiment import SplitDataset, plan
from mlrank.metrics import METRICS, search_value

__all__ = ["Constants", "below_constants", "constant_predictions", "constant_values", "unattainable"]

# Per metric and predictor, its values over the splits.
Constants = Mapping[str, Mapping[str, FloatArray]]

PRIOR_ORDER = "labels in the order of their frequency"
PRIOR_SETS = "as many labels as are true, the most frequent first,"


def constant_predictions(
    Y_train: BoolArray, Y_test: BoolArray, sizes_known: bool, known: BoolArray | None = None
) -> dict[str, BoolArray | FloatArray]:
    """Return what predictors without features say of the test rows: label sets, and scores for the order of labels.

    Parameters
    ----------
    Y_train : (n_train, n_labels) bool ndarray
    Y_test : (n_test, n_labels) bool ndarray
        Used for the sizes of its rows alone, and for these only with `sizes_known`.
    sizes_known : whether every method predicts as many labels as a row truly has; the predictors then do so too
    known : (n_train, n_labels) bool ndarray, optional
        Which training entries count.

    Returns
    -------
    dict from a name to (n_test, n_labels) bool or float64
    """
    shape = Y_test.shape
    counted = np.ones_like(Y_train) if known is None else known
    frequency = (Y_train & counted).sum(axis=0) / np.maximum(counted.sum(axis=0), 1)
    order = np.argsort(-frequency, kind="stable")
    scores = np.broadcast_to(frequency.astype(np.float64), shape).copy()
    if sizes_known:
        rank = np.argsort(order)
        return {PRIOR_ORDER: scores, PRIOR_SETS: rank < Y_test.sum(axis=1)[:, None]}
    return {
        PRIOR_ORDER: scores,
        "no label": np.zeros(shape, dtype=np.bool_),
        "every label": np.ones(shape, dtype=np.bool_),
        "the most frequent label": np.broadcast_to(np.arange(shape[1]) == order[0], shape).copy(),
    }


def constant_values(config: ExperimentConfig, metrics: Iterable[str]) -> Constants:
    """Return what these predictors reach on the splits of an experiment of one data set.

    Terms of a mean that a predictor leaves undefined count as the worst value, as in a search.
    """
    (data,) = plan(config)
    sizes_known = all(method.threshold == "oracle_size" for method in config.methods.values())
    found: dict[str, dict[str, list[float | None]]] = {metric: {} for metric in metrics}
    for number in range(len(data.splits)):
        for metric, name, value in _of_split(data, number, sizes_known, tuple(found)):
            found[metric].setdefault(name, []).append(value)
    return {
        metric: {name: np.array(values, dtype=np.float64) for name, values in by_name.items() if None not in values}
        for metric, by_name in found.items()
    }


def _of_split(
    data: SplitDataset, number: int, sizes_known: bool, metrics: Iterable[str]
) -> Iterator[tuple[str, str, float | None]]:
    split, Y = data.splits[number], data.dataset.Y
    masks = data.task_data.known
    known = None if masks is None else masks[data.mask(number)]
    train_known, test_known = (None, None) if known is None else (known[split.train], known[split.test])
    predicted = constant_predictions(Y[split.train], Y[split.test], sizes_known, train_known)
    for metric in metrics:
        needs = METRICS[metric].needs
        for name, values in predicted.items():
            if (values.dtype == np.bool_) == (needs == "sets") and needs != "probabilities":
                yield metric, name, search_value(metric, Y[split.test], values, test_known).value


def unattainable(metric: str, printed: Iterable[float | None], constants: Constants, decimals: int) -> str:
    """Return which predictor without features is better on every split than all numbers printed; "" if none is.

    Parameters
    ----------
    printed : the numbers of all methods
    decimals : how many the paper prints, so that no more is read into them than is there
    """
    sign = METRICS[metric].sign
    numbers = [number for number in printed if number is not None]
    if not numbers:
        return ""
    best = max(numbers, key=lambda number: sign * number)
    return _better(metric, best, constants, decimals, "the best number printed")


def below_constants(
    metric: str, printed: Mapping[str, float | None], constants: Constants, decimals: int
) -> Iterator[str]:
    """Yield the printed numbers of single methods that a predictor without features betters on every split."""
    for method, number in printed.items():
        if number is not None and (words := _better(metric, number, constants, decimals, f"{method}'s")):
            yield words


def _better(metric: str, number: float, constants: Constants, decimals: int, whose: str) -> str:
    sign, half = METRICS[metric].sign, 0.5 * 10.0**-decimals
    better = {
        name: values
        for name, values in constants.get(metric, {}).items()
        if values.size and (sign * (values - number)).min() > half
    }
    if not better:
        return ""
    name, values = max(better.items(), key=lambda item: sign * float(item[1].mean()))
    side = "below" if sign > 0 else "above"
    return (
        f"{whose} {number:g} in {metric} is {side} the {values.mean():.4f} of predicting {name} for every row of the "
        "same data"
    )
