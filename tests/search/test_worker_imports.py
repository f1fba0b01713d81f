"""What a worker process loads: what its tasks need, as scikit-learn and pydantic alone outlast many a search."""

import json
import pickle
import subprocess
import sys

from mlrank.experiment import plan_cells
from mlrank.search.pools import _shared_work
from mlrank.search.shared_memory import SharedData, map_folder
from tests.experiment.kills import ROOT
from tests.experiment.small import CONFIG, small_config

HEAD, TAIL = CONFIG.split("methods:")[0], "search: {{folds: 2}}\nseed: 3\n"
# As a worker does: it is sent a function with its arguments, and sends back what it returns.
WORKER = """
import json, pickle, sys
function, tasks, data = pickle.load(sys.stdin.buffer)
before = set(sys.modules)
results = [pickle.dumps(function(task, data)) for task in tasks]
failed = [result.error for text in results for result in pickle.loads(text) if result.error]
print(json.dumps({"failed": failed, "before": sorted(before), "after": sorted(sys.modules)}))
"""
# Machines are compiled by numba; scikit-learn, and what it loads, is for those of kernels alone.
NEVER = {"pydantic", "matplotlib", "typer", "sklearn", "pandas", "rich", "scipy.special"}


def test_linear_machines_load_nothing_that_they_do_not_use(tmp_path):
    methods = "methods:\n  A: {{solver: binary_svm, C: [0.1, 1], loss: squared_hinge}}\n"
    ((data, (cell,)),) = plan_cells(small_config(tmp_path, text=HEAD + methods + TAIL))
    tasks = [next(cell.tasks(cell.outcome({}).missing, 0)), cell.refit_task(0, 0)]
    with map_folder(tmp_path) as folder:
        given = pickle.dumps((_shared_work, tasks, SharedData.write(folder, data.task_data)))
        command = [sys.executable, "-c", WORKER]
        done = subprocess.run(command, input=given, capture_output=True, cwd=ROOT, timeout=60, check=True)
    found = json.loads(done.stdout)
    assert found["failed"] == []
    before, after = set(found["before"]), set(found["after"])
    assert before & NEVER == set()
    assert "numba" in after
    assert after & NEVER == set()
    solvers = {name.split(".")[2] for name in after if name.startswith("mlrank.solvers.")}
    assert solvers == {"base", "binary_svm", "label_machine", "models", "one_vs_rest", "scales"}
