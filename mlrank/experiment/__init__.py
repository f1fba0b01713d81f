"""The whole chain, once: dataset > split > search > fit > threshold > metrics > result."""

from mlrank.experiment.data import SplitDataset, plan, prepare_data
from mlrank.experiment.events import Event
from mlrank.experiment.run import plan_cells, run, run_experiment
from mlrank.experiment.trials import stored_trials

__all__ = ["Event", "SplitDataset", "plan", "plan_cells", "prepare_data", "run", "run_experiment", "stored_trials"]
