"""From YAML text or a mapping to an ExperimentConfig, or to every problem of it at once."""

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from mlrank.config.baselines import KEY, with_baselines
from mlrank.config.findings import Findings
from mlrank.config.held import held_data
from mlrank.config.methods import read_methods
from mlrank.config.models import (
    DatasetConfig,
    ExperimentConfig,
    OwnMetricConfig,
    PropensityConfig,
    RecipeConfig,
    SearchConfig,
    SplitConfig,
    SubsetConfig,
)
from mlrank.config.names import check_own_metric, show
from mlrank.errors import UserError, unknown_name
from mlrank.imported import is_path
from mlrank.resources import shipped
from mlrank.yamlfile import Document, FileErrors, document_of, parse_yaml, read_yaml

__all__ = ["config_of", "is_example", "load_config", "load_stored_config", "parse_config", "stored_config_of"]

# A folder with one of these files is the results folder of an experiment.
RESULTS_MARKS = ("planned.json", "environment.json", "trials.jsonl")

_BLOCKS: Mapping[str, type[BaseModel]] = {
    "datasets": DatasetConfig,
    "split": SplitConfig,
    "subset": SubsetConfig,
    "search": SearchConfig,
    "propensity": PropensityConfig,
    "recipe": RecipeConfig,
}
# Where a key that is unknown in its own block may belong; nobody writes the recipe by hand.
_HOMES = ("datasets", "split", "subset", "search", "propensity")

_EXPECTED = {
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "string_type": "text (in quotes if it looks like something else)",
    "tuple_type": "a list",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "string_too_short": "text of one character or more",
}


def load_config(path: Path | str) -> ExperimentConfig:
    """Read an experiment from a YAML file, or the example of a name, such as "quickstart".

    Raises
    ------
    UserError
        If the file does not exist (the message names an example of that name), cannot be read or is not YAML;
        FileErrors, with a line for each problem, if it is no valid config.
        If it lies in a results folder and names a solver by an import path: such a folder may come from anywhere.
    """
    path = Path(path)
    if is_example(path):  # the name stands for the file
        path = _example(path.name)
    elif not path.exists():
        if (example := _example(path.stem)).is_file():
            message = f"there is no such file; the example of this name is {example}, or say {path.stem} alone"
            raise UserError(message, path)
        if _is_name(path):
            examples = [example.stem for example in shipped("configs").glob("*.yaml")]
            raise UserError(unknown_name("file or example", path.name, examples))
    if not any((path.parent / mark).is_file() for mark in RESULTS_MARKS):
        return parse_config(read_yaml(path), path)
    config = load_stored_config(path)
    named = [("the experiment", name) for name in (*config.metrics, config.search.metric)]
    for method in config.methods.values():
        values = [one for _, values in method.axes for one in values]
        named += [(f"method '{method.name}'", one) for one in (method.solver, method.threshold, *values)]
    for owner, code in named:
        if is_path(code):
            raise UserError(
                f"{owner} names code, '{code}', which is never imported from a results folder: "
                "copy the file out of it if you trust it, and name the copy",
                path,
            )
    return config


def is_example(path: Path) -> bool:
    """Return whether a path is the name of an example, such as "quickstart", and of nothing that is there."""
    return _is_name(path) and not path.exists() and _example(path.name).is_file()


def _is_name(path: Path) -> bool:
    """Return whether a path is one word, without a folder or an ending."""
    return path.name == path.stem and path.parent == Path()


def _example(name: str) -> Path:
    return shipped("configs") / f"{name}.yaml"


def load_stored_config(path: Path | str) -> ExperimentConfig:
    """Read the configuration of a results folder; nothing that it names is imported, so its methods cannot be fitted.

    Raises
    ------
    UserError
        As `load_config`.
    """
    return parse_config(read_yaml(path), Path(path), stored=True)


def parse_config(text: str, path_for_messages: Path | str, *, stored: bool = False) -> ExperimentConfig:
    """Read an experiment from YAML text; see `load_config`, and for `stored` `load_stored_config`.

    Mistakes that show only with the data are placed in the file if `path_for_messages` is a Path.
    """
    document = parse_yaml(text, path_for_messages)
    config = _checked(document, stored)
    if isinstance(path_for_messages, Path):
        return config.read_from(document.positions, Path() if stored else path_for_messages)
    return config


def config_of(mapping: Mapping[str, object], name: str) -> ExperimentConfig:
    """Read an experiment from a mapping as a YAML file would hold it; `name` is what messages call it.

    Its data sets may lie in memory: a frame or other data that `load_dataset` takes, or a mapping with the key "frame"
    for it, perhaps with the keys "labels" and "test" for further ones, and options beside them.

    Raises
    ------
    UserError
        As `load_config`; messages name the keys that lead to a value instead of its line.
    """
    listed = mapping.get("datasets")
    if not isinstance(listed, (list, tuple)):
        return _checked(document_of(mapping, name), stored=False)
    pairs = [held_data(entry) for entry in listed]
    config = _checked(document_of({**mapping, "datasets": [plain for plain, _ in pairs]}, name), stored=False)
    return config.holding([held for _, held in pairs])


def stored_config_of(mapping: Mapping[str, object], name: str) -> ExperimentConfig:
    """Read the configuration that a model file holds, as `config_of`; as `load_stored_config` it imports nothing."""
    return _checked(document_of(mapping, name), stored=True)


def _checked(document: Document, stored: bool) -> ExperimentConfig:
    data, positions, problems = document
    findings = Findings(positions, stored)
    findings.problems += problems
    data = with_baselines(data, findings)
    if "methods" in data:
        data = {**data, "methods": read_methods(data["methods"], findings)}
    try:
        config = ExperimentConfig.model_validate(data)
    except ValidationError as error:
        for detail in error.errors(include_url=False):
            # Early versions of pydantic count only the items that are in order.
            if detail["type"] != "too_short" or not detail["input"]:
                _translate(detail, findings)
    else:
        if stored:
            _describe(config)
        else:
            config = config.model_copy(update={"own_metrics": _own_metrics(config, findings)})
    if findings.problems:
        raise FileErrors(findings.problems)
    return config


def _describe(config: ExperimentConfig) -> None:
    """Take up what a results folder says of metrics whose code is not imported."""
    from mlrank.metrics import METRICS

    for name, declared in config.own_metrics.items():
        METRICS.describe(name, declared.higher_is_better, declared.needs)


def _own_metrics(config: ExperimentConfig, findings: Findings) -> dict[str, OwnMetricConfig]:
    """Import the metrics of the user's own, and return what they declare."""
    from mlrank.metrics import METRICS, own_names

    found = {}
    places: list[tuple[str, tuple[str | int, ...]]]
    places = [(name, ("metrics", place)) for place, name in enumerate(config.metrics)]
    for name, where in [*places, (config.search.metric, ("search", "metric"))]:
        if own_names([name]):
            try:
                check_own_metric(name)
            except ValueError as error:
                findings(str(error), *where)
            else:
                needs: Literal["scores", "sets"] = "sets" if METRICS[name].needs == "sets" else "scores"
                found[name] = OwnMetricConfig(higher_is_better=METRICS[name].higher_is_better, needs=needs)
    return found


def _translate(detail: ErrorDetails, findings: Findings) -> None:
    """Add one of pydantic's findings, in our words."""
    kind, where, context = detail["type"], detail["loc"], detail.get("ctx", {})
    key = where[-1] if where else ""
    if kind == "block":
        for inner, message in context["problems"]:
            findings(message, *where, *inner, key=bool(inner))
    elif kind == "value_error":
        findings(str(context["error"]), *where)
    elif kind == "missing":
        findings(f"the key '{key}' is missing", *where[:-1])
    elif kind == "extra_forbidden":
        block = next((str(part) for part in reversed(where[:-1]) if part in _BLOCKS), None)
        findings(_unknown_key(str(key), block), *where, key=True)
    else:
        findings(f"{_name(where)} must be {_expected(kind, context)}, found {show(detail['input'])}", *where)


def _unknown_key(key: str, block: str | None) -> str:
    """Say which key was meant, or in which other block it would be known."""
    model = _BLOCKS[block] if block else ExperimentConfig
    homes = {f"into '{name}: {{...}}'": _BLOCKS[name] for name in _HOMES if name != block}
    homes |= {"at the top level": ExperimentConfig} if block else {}
    fitting = [home for home, other in homes.items() if key in other.model_fields]
    otherwise = f"It goes {' or '.join(fitting)}." if fitting else ""
    known = set(model.model_fields) - {"recipe", "own_metrics"} | (set() if block else {KEY})
    return unknown_name(f"key of {block}" if block else "key", key, known, otherwise=otherwise)


def _name(where: tuple[str | int, ...]) -> str:
    return f"each of '{where[-2]}'" if len(where) > 1 and isinstance(where[-1], int) else f"'{where[-1]}'"


def _expected(kind: str, context: dict[str, object]) -> str:
    if kind == "greater_than":
        return f"above {context['gt']:g}"
    if kind == "greater_than_equal":
        return f"{context['ge']:g} or more"
    if kind == "less_than":
        return f"below {context['lt']:g}"
    if kind == "too_short":
        return "a list of one item or more"
    return _EXPECTED[kind]
