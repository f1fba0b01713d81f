"""The whole chain, once: dataset > split > search > fit > threshold > metrics > result."""

from mlrank.experiment.data import Data, plan
from mlrank.experiment.run import Event, run

__all__ = ["Data", "Event", "plan", "run"]
