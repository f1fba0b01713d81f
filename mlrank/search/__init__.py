"""Searching grids and fitting what they choose: the only package that starts jobs."""

from mlrank.search.cluster import cluster_pool
from mlrank.search.estimates import Estimate, Pilot, workers_that_fit
from mlrank.search.limits import is_over_limit
from mlrank.search.pilots import PilotFits
from mlrank.search.pools import Pool, growing_pool, local_pool, pools_ahead
from mlrank.search.schedule import execute
from mlrank.search.strategies import STRATEGIES, Plan, count_fits
from mlrank.search.task_data import TaskData
from mlrank.search.tasks import Chain, Point, Refit, Result, Task, groups

__all__ = [
    "STRATEGIES",
    "Chain",
    "Estimate",
    "Pilot",
    "PilotFits",
    "Plan",
    "Point",
    "Pool",
    "Refit",
    "Result",
    "Task",
    "TaskData",
    "cluster_pool",
    "count_fits",
    "execute",
    "groups",
    "growing_pool",
    "is_over_limit",
    "local_pool",
    "pools_ahead",
    "workers_that_fit",
]
