"""Configurations of the benchmark: the whole, a part of it, or a method of one's own on its rows."""

from collections.abc import Mapping, Sequence

from mlrank.benchmark.pieces import TUNED
from mlrank.config import ExperimentConfig, config_of, load_config
from mlrank.datasets import read_catalogue
from mlrank.errors import UserError, unknown_name
from mlrank.resources import shipped
from mlrank.yamlfile import load_yaml

__all__ = ["SMALL", "benchmark_config", "own_config"]

# Stands for the data sets of at most so many rows.
SMALL, SMALL_ROWS = "small", 2500
FILE = "benchmark.yaml"
# The cut that every method has beside its natural one.
CUT = {"kind": "per_label_f1", "scores": "heldout"}


def benchmark_config(datasets: Sequence[str] = (), methods: Sequence[str] = ()) -> ExperimentConfig:
    """Return the configuration of the benchmark, or of a part of it, whose runs have the same keys as in the whole.

    Parameters
    ----------
    datasets : names of data sets, "small" for those of at most 2500 rows; all if none is named
    methods : names of methods, each of which stands for both of its cuts; all if none is named

    Raises
    ------
    UserError
        For a name that the benchmark does not have.
    """
    config = load_config(shipped("configs") / FILE)
    kept = {name: one for name, one in config.methods.items() if not methods or name.removesuffix(TUNED) in methods}
    known = dict.fromkeys(name.removesuffix(TUNED) for name in config.methods)
    for name in methods:
        if name not in known:
            raise UserError(unknown_name("method of the benchmark", name, known))
    chosen = _chosen([str(one.name) for one in config.datasets], datasets)
    parts = tuple(one for one in config.datasets if one.name in chosen)
    return config.model_copy(update={"datasets": parts, "methods": kept})


def own_config(
    solver: str, datasets: Sequence[str] = (), settings: Mapping[str, object] | None = None
) -> ExperimentConfig:
    """Return a configuration of one's own method, with both cuts, on the rows of the benchmark.

    Parameters
    ----------
    solver : key of a solver, or "module:Class"
    datasets : as of `benchmark_config`
    settings : of the method, as a configuration has them; lists are searched

    Raises
    ------
    UserError
        For a name that the benchmark does not have, or settings that the solver does not have.
    """
    whole = dict(load_yaml(shipped("configs") / FILE)[0])
    named = {_name(one): one for one in whole["datasets"]}
    method, name = {"solver": solver, **(settings or {})}, solver.rpartition(":")[2]
    changed = {
        "name": f"benchmark-{name}",
        "datasets": [named[one] for one in _chosen(list(named), datasets)],
        "methods": {name: method, f"{name}{TUNED}": {**method, "threshold": CUT}},
    }
    return config_of({**whole, **changed}, f"--solver {solver}")


def _name(entry: object) -> str:
    return str(entry["name"]) if isinstance(entry, dict) else str(entry)


def _chosen(known: Sequence[str], asked: Sequence[str]) -> list[str]:
    """Return the data sets that are asked for, in the order of the benchmark."""
    catalogue = read_catalogue()
    small = [name for name in known if catalogue[name].n_train + (catalogue[name].n_test or 0) <= SMALL_ROWS]
    for name in asked:
        if name not in (*known, SMALL):
            raise UserError(unknown_name("data set of the benchmark", name, (*known, SMALL)))
    chosen = {*asked, *(small if SMALL in asked else ())}
    return [name for name in known if not asked or name in chosen]
