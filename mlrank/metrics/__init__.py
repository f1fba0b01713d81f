"""Metrics of scores and label sets; `mlrank.metrics.definitions` has each with its written definition."""

from mlrank.metrics.base import Metric, MetricValue
from mlrank.metrics.definitions import METRICS, SearchValue, evaluate, measure, search_value
from mlrank.metrics.own import metric_from, own_names
from mlrank.metrics.propensity import propensities

__all__ = [
    "METRICS",
    "Metric",
    "MetricValue",
    "SearchValue",
    "evaluate",
    "measure",
    "metric_from",
    "own_names",
    "propensities",
    "search_value",
]
