"""What can be explained: metrics, solvers, thresholds, verdicts, recipes, keys..., each as text and grids."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from mlrank.config.keys import Key
from mlrank.config.reference import BLOCKS, as_yaml, blocks, choices, keys_of_split
from mlrank.errors import UserError, unknown_name
from mlrank.explain.documented import Documented, documented
from mlrank.explain.rules import rules_of
from mlrank.metrics import METRICS
from mlrank.recipes import CELL_VERDICTS, CLAIM_VERDICTS, GRADES, READING_RULES, load_recipe, recipes
from mlrank.recipes.recipe import Recipe
from mlrank.solvers import PROJECTIONS, SOLVERS, Capabilities
from mlrank.solvers.aliases import new_key
from mlrank.solvers.presets import PRESETS
from mlrank.tables import RUNTIMES, Grid, Shown
from mlrank.thresholds import THRESHOLDS
from mlrank.yamlfile import YamlMapping

__all__ = ["Topic", "explain", "topics"]


@dataclass(frozen=True)
class Topic:
    """What there is to say about one thing.

    Parameters
    ----------
    kind, name : str
    summary : str
        One line.
    paragraphs : tuple of str
    grids : tuple of Grid
    """

    kind: str
    name: str
    summary: str
    paragraphs: tuple[str, ...] = ()
    grids: tuple[Grid, ...] = ()


def topics() -> dict[str, dict[str, str]]:
    """Return the names that can be explained with one line each, by kind."""
    return {
        "metric": {name: _first_sentence(metric.definition) for name, metric in METRICS.items()},
        "cost": {name: runtime.definition for name, runtime in RUNTIMES.items()},
        "solver": {name: documented(found).summary for name, found in SOLVERS.items()},
        "preset": {name: preset.summary for name, preset in PRESETS.items()},
        "projection": {name: documented(found).summary for name, found in PROJECTIONS.items()},
        "threshold": {name: documented(found).summary for name, found in THRESHOLDS.items()},
        "verdict": {name: _first_sentence(rule.partition(": ")[0]) for name, rule in _VERDICTS.items()},
        "reading": {name: _first_sentence(rule.partition(": ")[0]) for name, rule in READING_RULES.items()},
        "recipe": {name: load_recipe(name).title for name in recipes()},
        "key": {name: found[0][1].meaning for name, found in _keys().items()},
        **{_VALUE_OF[key]: dict(values) for key, values in choices().items()},
    }


def explain(name: str) -> list[Topic]:
    """Return what there is to say about everything of this name.

    Raises
    ------
    UserError
        If nothing has it.
    """
    known: dict[str, Mapping[str, object]] = {
        "metric": METRICS,
        "cost": RUNTIMES,
        "solver": SOLVERS,
        "preset": PRESETS,
        "projection": PROJECTIONS,
        "threshold": THRESHOLDS,
        "verdict": _VERDICTS,
        "reading": READING_RULES,
        "recipe": dict.fromkeys(recipes()),
    }
    name = new_key(name)
    found = [_MAKERS[kind](name) for kind, names in known.items() if name in names]
    found += [_key(block, key) for block, key in _keys().get(name, ())]
    found += [_choice(key, name, values[name]) for key, values in choices().items() if name in values]
    known |= {"key": _keys(), **{_VALUE_OF[key]: values for key, values in choices().items()}}
    if not found:
        every = [other for names in known.values() for other in names]
        raise UserError(
            unknown_name(
                "metric, solver, threshold, projection, verdict, reading, recipe or key", name, every, "mlrank explain"
            )
        )
    return found


def _first_sentence(text: str) -> str:
    return f"{re.split(r'[.] (?=[A-Z])', text)[0].rstrip('.')}."


def _metric(name: str) -> Topic:
    metric = METRICS[name]
    better = "Higher is better." if metric.higher_is_better else "Lower is better."
    needs = {
        "scores": "Needs scores: no threshold touches it.",
        "sets": "Needs label sets, so a threshold.",
        "probabilities": "Needs probabilities: shares of neighbors, or scores of a method with 'calibrate'.",
    }
    rows = tuple((Shown(package), Shown(rule.words)) for package, rule in rules_of(name).items())
    rules = Grid("What packages do in the cases that definitions leave open", ("package", "rule"), "ll", rows, ())
    return Topic("metric", name, metric.definition, (f"{better} {needs[metric.needs]}",), (rules,))


def _cost(name: str) -> Topic:
    what = "Median over the splits, with quartiles; lower is better. A column of 'mlrank table --metric'."
    return Topic("cost", name, RUNTIMES[name].definition, (what,))


def _solver(name: str) -> Topic:
    found = SOLVERS[name]
    able = Capabilities.of(found)
    notes = [
        (able.uses_unlabeled, "It uses rows without labels, the test rows among them (‡ in tables)."),
        (able.transductive, "Its models score only rows that were there when it was fitted."),
        (able.uses_known, "It leaves unknown label entries out."),
        (able.certificate is not None, f"Its certificate is a {able.certificate} (with --run: the numbers of a run)."),
    ]
    flags = [words for applies, words in notes if applies]
    return _settings_topic("solver", name, documented(found), f"solver: {name}", flags)


def _preset(name: str) -> Topic:
    preset = PRESETS[name]
    settings = "".join(f", {setting}: {json.dumps(value)}" for setting, value in preset.settings.items())
    usage = f'In a configuration: solver: {name}, which is short for {{solver: "{preset.place}"{settings}}}'
    others = "Every other setting of the class may stand beside it, and these may have other values."
    return Topic("preset", name, preset.summary, (f"{usage}. {others}",))


def _projection(name: str) -> Topic:
    return _settings_topic("projection", name, documented(PROJECTIONS[name]), f"project: {name}", [])


def _threshold(name: str) -> Topic:
    found = THRESHOLDS[name]
    scores = "held-out" if found.FIT_ON == "heldout" else "training"
    flags = [f"Fitted to {scores} scores unless the configuration says otherwise."]
    if found.ORACLE:
        flags = ["It looks at the true labels of the rows it decides on (* in tables): no method can be used so."]
    flags.append("Any threshold also takes min_labels and max_labels: how many labels a row gets at least and at most.")
    return _settings_topic("threshold", name, documented(found), f"threshold: {name}", flags)


def _settings_topic(kind: str, name: str, about: Documented, usage: str, flags: list[str]) -> Topic:
    rows = tuple(
        (Shown(setting.name), Shown(setting.kind), Shown(setting.default), Shown(setting.text or "-"))
        for setting in about.settings
    )
    header = ("setting", "values", "default", "meaning")
    grids = (Grid(f"Settings of {name}", header, "llll", rows, ()),) if rows else ()
    source = (about.source,) if kind == "solver" or kind == "projection" else ()
    paper = (f"Paper: {about.references}",) if about.references else ()
    parts = (about.text, *source, *paper, " ".join(flags), f"In a configuration: {usage}")
    return Topic(kind, name, about.summary, tuple(part for part in parts if part), grids)


def _verdict(name: str) -> Topic:
    what = "a number of the paper" if name in CELL_VERDICTS else "a claim of the paper"
    others = ", ".join(other for other in (CELL_VERDICTS if name in CELL_VERDICTS else CLAIM_VERDICTS) if other != name)
    return Topic("verdict", name, _VERDICTS[name], (f"Given by 'mlrank reproduce' for {what}; the others: {others}.",))


def _reading(name: str) -> Topic:
    others = ", ".join(other for other in READING_RULES if other != name)
    return Topic("reading", name, READING_RULES[name], (f"Of 'mlrank reproduce NAME --readings'; see also: {others}.",))


def _recipe(name: str) -> Topic:
    recipe = load_recipe(name)
    times = recipe.times
    paragraphs = (
        f"{recipe.table} of {recipe.paper}",
        *(f"Claim: {claim.named}" for claim in recipe.claims),
        *([f"Claim on {times.table}: {claim.named}" for claim in times.claims] if times else []),
        *(
            f"Claim on {figure.title.partition(':')[0]}: {claim.named}"
            for figure in recipe.figures.values()
            for claim in figure.claims
        ),
        *(f"Protocol: {line}" for line in recipe.protocol),
        f"Grids: {', '.join(recipe.grids)} (default: {recipe.default_grid}). Run: mlrank reproduce {name}",
    )
    data = tuple(
        (Shown(option.dataset), Shown(GRADES[option.grade]), Shown(option.note), Shown(option.how_to))
        for option in recipe.data
    )
    header = ("data", "grade", "how they differ", "how to get them")
    grids = (
        Grid("Data, best first", header, "llll", data, ()),
        _expected(recipe.expected),
        _methods(recipe.experiment),
        *([_questions(recipe)] if recipe.readings else []),
    )
    return Topic("recipe", name, recipe.title, paragraphs, grids)


def _expected(expected: Mapping[str, Mapping[str, object]]) -> Grid:
    metrics = list(dict.fromkeys(metric for by_metric in expected.values() for metric in by_metric))
    rows = tuple(
        (Shown(method), *(_number(by_metric.get(metric)) for metric in metrics))
        for method, by_metric in expected.items()
    )
    return Grid("The paper's numbers", ("method", *metrics), "l" + "r" * len(metrics), rows, ())


def _number(value: Any) -> Shown:
    return Shown("-" if value is None else f"{value:g}" if isinstance(value, float) else str(value))


def _methods(experiment: YamlMapping) -> Grid:
    rows = tuple((Shown(name), Shown(", ".join(_parts(given)))) for name, given in experiment["methods"].items())
    return Grid("Methods", ("method", "settings"), "ll", rows, ())


def _questions(recipe: Recipe) -> Grid:
    rows = tuple(
        (Shown(name), Shown(question.default), Shown(", ".join(question.names[1:])), Shown(question.paper))
        for name, question in recipe.readings.items()
    )
    header = ("question", "the recipe's choice", "others", "what the paper has")
    return Grid("What the paper leaves open (--readings)", header, "llll", rows, ())


def _parts(given: Mapping[str, object]) -> Iterator[str]:
    return (f"{key}={value}" for key, value in given.items())


def _keys() -> dict[str, list[tuple[str, Key]]]:
    """Return the keys of a configuration by name, each with the blocks that have it."""
    found: dict[str, list[tuple[str, Key]]] = {}
    for block, keys in blocks().items():
        for key in keys:
            found.setdefault(key.name, []).append((block, key))
    return found


def _key(block: str, key: Key) -> Topic:
    place = "at the top level of a configuration" if block == "experiment" else f"in the block '{block}'"
    parts = [f"A key {place}. It takes: {key.values}. Default: {key.default}."]
    if key.example is not None:
        parts.append(f"Example: {as_yaml(key.name, key.example)}")
    grids = []
    if key.name in BLOCKS and block in ("experiment", "methods"):
        header = ("key", "values", "default", "meaning")
        rows = tuple(tuple(map(Shown, (k.name, k.values, k.default, k.meaning))) for k in blocks()[key.name])
        grids.append(Grid(f"Keys of {key.name}", header, "llll", rows, ()))
    named = {"kind": "split", "strategy": "search"}.get(key.name, key.name)
    if named in choices() and block != "threshold" and block != "project":
        values = tuple((Shown(name), Shown(meaning)) for name, meaning in choices()[named].items())
        grids.append(Grid(f"What each {_VALUE_OF[named]} does", (_VALUE_OF[named], "meaning"), "ll", values, ()))
    return Topic("key", key.name, key.meaning, tuple(parts), tuple(grids))


def _choice(key: str, name: str, meaning: str) -> Topic:
    written = {"split": "split: {kind: %s}", "search": "search: {strategy: %s}"}.get(key, f"{key}: %s") % name
    parts = [f"In a configuration: {written}"]
    if key == "split":
        parts.insert(0, f"Keys it uses: {', '.join(keys_of_split(name)) or 'none'}; missing_labels goes with any kind.")
    return Topic(_VALUE_OF[key], name, meaning, tuple(parts))


# What the values of a key are called.
_VALUE_OF = {
    "split": "kind of split",
    "scale": "scaling",
    "impute": "way to impute",
    "unknown_labels": "way to take unknown labels",
    "calibrate": "way to calibrate",
    "search": "search strategy",
}
_VERDICTS = {**CELL_VERDICTS, **CLAIM_VERDICTS}
_MAKERS = {
    "metric": _metric,
    "cost": _cost,
    "solver": _solver,
    "preset": _preset,
    "projection": _projection,
    "threshold": _threshold,
    "verdict": _verdict,
    "reading": _reading,
    "recipe": _recipe,
}
