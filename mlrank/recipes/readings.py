"""Readings of a paper: every combination of choices, the experiments that together make their fits, and their records.

A reading takes one choice for every open question of a recipe. Two readings share all fits of a method that they do not
read differently: the experiments are made of distinct (split, search, method) combinations and not of readings.
"""

import json
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from itertools import product

from mlrank.config import ExperimentConfig, config_of
from mlrank.errors import UserError, unknown_name
from mlrank.recipes.data import experiment_mapping
from mlrank.recipes.reading_parts import DERIVED, Choice
from mlrank.recipes.recipe import DataOption, Recipe
from mlrank.records import RunRecord
from mlrank.records.run import MetricRecord
from mlrank.yamlfile import YamlMapping

__all__ = ["Reading", "ReadingsPlan", "Source", "plan_readings", "readings_of", "records_under"]


@dataclass(frozen=True)
class Reading:
    """One choice for every question, by name, in the order of the recipe.

    Parameters
    ----------
    choices : tuple of (question, choice)
    departures : how many of them are not the recipe's default
    """

    choices: tuple[tuple[str, str], ...]
    departures: int

    @property
    def name(self) -> str:
        """What it is called: each choice after its question."""
        return ", ".join(f"{question}: {choice}" for question, choice in self.choices)


@dataclass(frozen=True)
class Source:
    """Where the runs of a method are: the experiment, by its place in the plan, and what the method is called there."""

    experiment: int
    method: str


@dataclass(frozen=True)
class ReadingsPlan:
    """The experiments whose fits all readings need, and where each reading finds its methods.

    Parameters
    ----------
    recipe, option : as in a TablePlan
    grid : name of one of the recipe's grids
    readings : tuple of Reading, the recipe as it stands first, then those that depart least
    configs : tuple of ExperimentConfig
        The first is the experiment of the recipe's own table, whose results folder it shares.
    sources : tuple of mappings of method to Source, one for each reading
    """

    recipe: Recipe
    option: DataOption
    grid: str
    readings: tuple[Reading, ...]
    configs: tuple[ExperimentConfig, ...]
    sources: tuple[Mapping[str, Source], ...]

    def within(self, seconds: Mapping[int, float | None], budget: float) -> "ReadingsPlan":
        """Return the plan of the readings that a budget allows: the recipe as it stands, then each that still fits.

        Parameters
        ----------
        seconds : what each experiment is going to take, by its place; one of unknown cost fits no budget
        budget : seconds that all experiments together may take
        """
        paid, places = set(self._experiments(0)), [0]
        for place in range(1, len(self.readings)):
            more = self._experiments(place) - paid
            costs = [seconds[at] for at in paid | more]
            known = None not in [seconds[at] for at in more]
            if not more or (known and sum(cost for cost in costs if cost is not None) <= budget):
                paid |= more
                places.append(place)
        readings, sources = tuple(self.readings[at] for at in places), tuple(self.sources[at] for at in places)
        return replace(self, readings=readings, sources=sources)

    def _experiments(self, place: int) -> set[int]:
        return {source.experiment for source in self.sources[place].values()}

    @property
    def used(self) -> list[int]:
        """The places of the experiments that some reading needs."""
        return sorted(set().union(*map(self._experiments, range(len(self.readings)))))


def readings_of(recipe: Recipe, questions: Sequence[str] | None = None) -> list[Reading]:
    """Return every combination of choices, the recipe as it stands first, then those that depart least from it.

    Parameters
    ----------
    questions : names of those to vary; the others stay at their defaults. None varies all.

    Raises
    ------
    UserError
        If the recipe has no such question, or none at all.
    """
    if not recipe.readings:
        raise UserError(f"the recipe '{recipe.name}' names no readings")
    for name in questions or ():
        if name not in recipe.readings:
            raise UserError(unknown_name(f"question of the recipe '{recipe.name}'", name, recipe.readings))
    varied = list(recipe.readings) if questions is None else [name for name in recipe.readings if name in questions]
    options = [q.names if name in varied else [q.default] for name, q in recipe.readings.items()]
    found = []
    for chosen in product(*options):
        pairs = tuple(zip(recipe.readings, chosen, strict=True))
        found.append(Reading(pairs, sum(choice != recipe.readings[name].default for name, choice in pairs)))
    return sorted(found, key=lambda reading: reading.departures)  # which keeps the order of equals


def plan_readings(
    recipe: Recipe,
    option: DataOption,
    questions: Sequence[str] | None = None,
    files: Mapping[str, str] | None = None,
    grid: str | None = None,
) -> ReadingsPlan:
    """Return which experiments the readings of a recipe need on a data option.

    Of readings that come to the same (the settings that the paper prints are also those of a grid with nothing else)
    the one that departs least stands for all.

    Parameters
    ----------
    questions : see `readings_of`
    files : the user's own data, for the option that stands for them
    grid : name of one of the recipe's grids; None for its default

    Raises
    ------
    UserError
        If a choice makes an experiment that cannot be.
    """
    grid = grid or recipe.default_grid
    plain = experiment_mapping(recipe, option, grid, files)
    experiments = _Experiments(recipe, plain)
    found: dict[str, tuple[Reading, Mapping[str, Source]]] = {}
    for reading in readings_of(recipe, questions):
        sources = experiments.sources(reading)
        found.setdefault(_what_is_read(recipe, reading, sources), (reading, sources))
    configs = tuple(config_of(mapping, f"recipe {recipe.name}") for mapping in experiments.mappings)
    readings, all_sources = zip(*found.values(), strict=True)
    return ReadingsPlan(recipe, option, grid, readings, configs, all_sources)


def _what_is_read(recipe: Recipe, reading: Reading, sources: Mapping[str, Source]) -> str:
    """Return a text that is the same for readings that come to the same: same runs, measured in the same way."""
    measured = [
        choice.model_dump(include={"metrics", "undefined"}, exclude_defaults=True)
        for choice in (recipe.readings[question].choices[name] for question, name in reading.choices)
    ]
    places = {method: (source.experiment, source.method) for method, source in sources.items()}
    return _text([places, [one for one in measured if one]])


class _Experiments:
    """The distinct experiments of readings so far, as mappings, and the distinct methods in each."""

    def __init__(self, recipe: Recipe, plain: YamlMapping) -> None:
        plain = {"search": {}, **plain}  # so that recipes without one share fits too
        self.recipe, self.plain = recipe, plain
        self.mappings: list[YamlMapping] = [plain]
        self._bases = {_base(plain): 0}
        # Of methods under default choices in the experiment of the recipe's own table, which is run as it stands.
        self._places = {(0, name, _text(given)): Source(0, name) for name, given in plain["methods"].items()}
        self._more: dict[int, int] = {}

    def sources(self, reading: Reading) -> dict[str, Source]:
        """Return where the methods of the recipe are run under a reading; what is missing is added."""
        mapping = _changed(self.recipe, self.plain, reading)
        config = config_of(mapping, f"recipe {self.recipe.name}, {reading.name}")
        return {name: self._source(name, mapping, config, reading) for name in mapping["methods"]}

    def _source(self, name: str, mapping: YamlMapping, config: ExperimentConfig, reading: Reading) -> Source:
        searched = any(len(values) > 1 for _, values in config.methods[name].all_axes)
        # How points are compared changes nothing for a method with one point.
        base = mapping if searched else {**mapping, "search": self.plain["search"]}
        at = self._bases.setdefault(_base(base), len(self.mappings))
        if at == len(self.mappings):
            self._add(base, reading)
        given = mapping["methods"][name]
        key = (at, name, _text(given))
        if key not in self._places:
            self._places[key] = self._place(at, name, given, reading)
        return self._places[key]

    def _place(self, at: int, name: str, given: YamlMapping, reading: Reading) -> Source:
        if at == 0:  # the recipe's own experiment stays as it is: other settings of a method get one beside it
            if 0 not in self._more:
                self._more[0] = len(self.mappings)
                self._add(self.plain, reading, "methods")
            at = self._more[0]
        methods = self.mappings[at]["methods"]
        own = [f"{q} {choice}" for q, choice in reading.choices if name in self._choice(q, choice).methods]
        title = f"{name} ({', '.join(own)})" if own else name
        methods[title] = given
        return Source(at, title)

    def _choice(self, question: str, choice: str) -> Choice:
        return self.recipe.readings[question].choices[choice]

    def _add(self, mapping: YamlMapping, reading: Reading, title: str = "") -> None:
        """Add an experiment without methods, named after the choices that make it differ from the recipe's own."""
        if not title:
            parts = {"split", "subset", "search", "scale"}
            title = "-".join(f"{q}-{c}" for q, c in reading.choices if parts & set(self._choice(q, c).changes))
        origin = mapping["recipe"] | {"part": "readings"}
        self.mappings.append(
            {**mapping, "name": f"{self.plain['name']}-readings-{title}", "methods": {}, "recipe": origin}
        )


def _base(mapping: YamlMapping) -> str:
    """Return a text that is the same for experiments that differ in methods and names alone."""
    return _text({key: value for key, value in mapping.items() if key not in ("name", "methods", "recipe")})


def _text(value: object) -> str:
    return json.dumps(value, sort_keys=True, default=str)


def _changed(recipe: Recipe, plain: YamlMapping, reading: Reading) -> YamlMapping:
    """Return the experiment of a recipe under a reading."""
    mapping = deepcopy(plain)
    for question, name in reading.choices:
        choice = recipe.readings[question].choices[name]
        for method, settings in choice.methods.items():
            mapping["methods"][method].update(deepcopy(settings))
        for part in ("subset", "search"):
            if changes := getattr(choice, part):
                mapping[part] = {**mapping.get(part, {}), **deepcopy(changes)}
        if choice.split:
            mapping["split"] = _split(mapping["split"], choice.split)
        if choice.scale is not None:
            mapping["scale"] = choice.scale
    return mapping


def _split(split: YamlMapping, changes: YamlMapping) -> YamlMapping:
    if changes.get("kind", split["kind"]) == split["kind"]:
        return {**split, **deepcopy(changes)}
    repeats = {key: split[key] for key in ("repeats",) if key in split}
    return {**repeats, **deepcopy(changes)}


def records_under(plan: ReadingsPlan, place: int, runs: Mapping[int, Sequence[RunRecord]]) -> list[RunRecord]:
    """Return the records of the reading at `place`: its methods by the recipe's names, its measures by the paper's.

    Parameters
    ----------
    runs : the records of each experiment, by its place in the plan
    """
    reading = plan.readings[place]
    choices = [plan.recipe.readings[question].choices[name] for question, name in reading.choices]
    stands_for = {printed: measured for choice in choices for printed, measured in choice.metrics.items()}
    zero = any(choice.undefined == "zero" for choice in choices)
    return [
        replace(record, method=method, metrics=_read(record.metrics, stands_for, zero))
        for method, source in plan.sources[place].items()
        for record in runs[source.experiment]
        if record.method == source.method
    ]


def _read(metrics: Mapping[str, MetricRecord], stands_for: Mapping[str, str], zero: bool) -> dict[str, MetricRecord]:
    """Return measured values by the paper's names, undefined terms counted as 0 or left out."""
    own = {name: _with_zeros(value) if zero else value for name, value in metrics.items()}
    if not own:  # a failed run has none
        return own
    found = {printed: _measured(own, measured) for printed, measured in stands_for.items()}
    return own | {printed: value for printed, value in found.items() if value is not None}


def _with_zeros(value: MetricRecord) -> MetricRecord:
    share = value.n_defined / value.n_total if value.n_total else 0.0
    return MetricRecord((value.value or 0.0) * share, value.n_total, value.n_total, value.unit)


def _measured(metrics: Mapping[str, MetricRecord], name: str) -> MetricRecord | None:
    """Return a metric or a derived measure; F1 of means is the harmonic mean of mean precision and mean recall."""
    if name not in DERIVED:
        return metrics.get(name)
    precision, recall = (metrics.get(part) for part in DERIVED[name])
    if precision is None or recall is None:
        return None
    if precision.value is None or recall.value is None:
        return replace(precision, value=None)
    total = precision.value + recall.value
    return replace(precision, value=2 * precision.value * recall.value / total if total else 0.0)
