"""Metrics of scores and label sets; `mlrank.metrics.definitions` has each with its written definition."""

from mlrank.metrics.base import Metric, MetricValue
from mlrank.metrics.definitions import METRICS, SearchValue, evaluate, measure, search_value

__all__ = ["METRICS", "Metric", "MetricValue", "SearchValue", "evaluate", "measure", "search_value"]
