"""Write the pages that say what the program says: ``python docs/generate.py``.

The reference of configurations, the methods, the metrics and the reproductions are made of the models, docstrings,
definitions and recipes that the commands use. They are stored beside the pages written by hand, so that a forge shows
them; a test compares them with what is written here.
"""

import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from mlrank.config.reference import BLOCKS, as_yaml, blocks, choices, keys_of_split
from mlrank.explain import CERTIFICATES, PACKAGES, rules_of
from mlrank.explain.documented import Documented, documented
from mlrank.metrics import METRICS
from mlrank.recipes import CELL_VERDICTS, CLAIM_VERDICTS, GRADES, load_recipe, recipes
from mlrank.solvers import PROJECTIONS, SOLVERS, Capabilities
from mlrank.solvers.presets import PRESETS
from mlrank.tables import RUNTIMES
from mlrank.thresholds import THRESHOLDS

DOCS = Path(__file__).parent
ROOT = DOCS.parent
NOTE = "<!-- Written by docs/generate.py: change what it reads, and run it. -->"


def pages() -> dict[str, str]:
    """Return the text of each page by its path in this folder."""
    found = {"yaml-reference.md": yaml_reference(), "metrics.md": metrics(), "reproductions.md": reproductions()}
    found |= {f"methods/{name}.md": method(name) for name in SOLVERS}
    return {**found, "methods/index.md": methods(), "methods/thresholds.md": thresholds()}


def yaml_reference() -> str:
    """Return the keys of a configuration, block by block, and what their named values mean."""
    parts = [
        "# The YAML reference",
        NOTE,
        "What each key of [an experiment](experiment.md) takes and means. `mlrank explain KEY` prints it, for example "
        "`mlrank explain split`.",
    ]
    for block, what in BLOCKS.items():
        title = "The top level" if block == "experiment" else f"`{block}`"
        rows = [
            (
                code(key.name),
                f"{prose(key.values)}<br>default: {prose(key.default)}".removesuffix("<br>default: -"),
                f"{prose(key.meaning)}<br>{code(as_yaml(key.name, key.example))}",
            )
            for key in blocks()[block]
        ]
        parts += [f"## {title}", prose(what), table(("key", "takes", "meaning, and an example"), rows)]
    parts.append("## Named values")
    titles = {
        "split": "Kinds of `split`",
        "scale": "`scale`",
        "impute": "`impute`, of missing features",
        "unknown_labels": "`unknown_labels`",
        "calibrate": "`calibrate`",
        "search": "`strategy` of a `search`",
    }
    for key, values in choices().items():
        header, rows = ("value", "meaning"), [(code(name), prose(meaning)) for name, meaning in values.items()]
        if key == "split":
            header = (*header, "keys it uses")
            used = [", ".join(map(code, keys_of_split(name))) or "none" for name in values]
            rows = [(*row, keys) for row, keys in zip(rows, used, strict=True)]
        parts += [f"### {titles[key]}", table(header, rows)]
    return joined(parts)


def methods() -> str:
    """Return the list of solvers, with what stands beside them."""
    rows = []
    for name in SOLVERS:
        about, able = documented(SOLVERS[name]), Capabilities.of(SOLVERS[name])
        words = f"{prose(about.summary)} {prose(when(about))}"
        rows.append((f"[`{name}`]({name}.md)", able.certificate or "none", words))
    presets = [
        (code(name), prose(one.summary), code(one.place), code(json.dumps(dict(one.settings))) if one.settings else "-")
        for name, one in PRESETS.items()
    ]
    projections = [(code(name), *two_of(documented(found))) for name, found in PROJECTIONS.items()]
    certificates = [(kind, prose(meaning)) for kind, meaning in CERTIFICATES.items()]
    names = "\n".join([*SOLVERS, "thresholds"])
    return joined(
        [
            "# Methods",
            NOTE,
            "A method of a configuration is a solver with its settings, and perhaps a [threshold](thresholds.md), a "
            "projection before it and a calibration behind it. `mlrank explain NAME` prints what these pages say.",
            table(("solver", "certificate", "what it is, and when to use it"), rows),
            "![Area under the ROC curve of every solver on yeast, the mean over its labels and each label]"
            "(figures/overview.svg)",
            "Default settings, the official split of yeast, one fit ([how it is drawn](../draw.py)): a first look, "
            "and no ranking of methods, which takes several data sets, a search for each, and `mlrank compare`.",
            "## Certificates",
            "A fit stops on its certificate, never because its objective changed little; one that does not reach it is "
            "marked † in every table. `mlrank certify RUN` computes the certificates of stored models again, by slow "
            "code that no solver shares.",
            table(("certificate", "meaning"), certificates),
            "## Short names for scikit-learn",
            "Any estimator of scikit-learn's interface is named by its import path ([Your own "
            "method](../own-method.md)); these have short names.",
            table(("preset", "what it is", "stands for", "with"), presets),
            "## Projections",
            table(("projection", "what it is", "when to use it"), projections),
            f"```{{toctree}}\n:hidden:\n\n{names}\n```",
        ]
    )


def method(name: str) -> str:
    """Return the page of a solver."""
    found = SOLVERS[name]
    about, able = documented(found), Capabilities.of(found)
    kind = able.certificate
    cut = "depends on settings or on the training rows" if able.natural_cut is None else f"{able.natural_cut:g}"
    facts = [
        ("certificate", prose(CERTIFICATES[kind]) if kind else "none"),
        (
            "unknown label entries",
            "left out of fits" if able.uses_known else "refused, or absent labels with `unknown_labels: absent`",
        ),
        ("sparse labels", "fitted as they are" if able.sparse_labels else "made dense, if there is the memory"),
        ("rows without labels", "used, the test rows among them (‡ in tables)" if able.uses_unlabeled else "not used"),
        ("rows it scores", "those that were there when it was fitted" if able.transductive else "any"),
        ("kernel", f"yes; {code(able.kernel)} unless set" if able.kernel else "no"),
        ("natural cut of its scores", cut),
        ("random draws", "by `seed`" if able.draws else "none"),
    ]
    settings = [(code(one.name), prose(one.kind), code(one.default), prose(one.text) or "-") for one in about.settings]
    return joined(
        [
            f"# {code(name)}",
            NOTE,
            prose(about.summary),
            paragraphs(about.text),
            f"![Area under the ROC curve of {name} on each label of yeast, beside the range and median of all "
            f"solvers](figures/{name}.svg)",
            "Default settings, the official split of yeast, one fit; labels from rare to frequent "
            "([how it is drawn](../draw.py)).",
            table(("what", "here"), facts),
            "## Problem, certificate and cost",
            paragraphs(about.source),
            "## Settings",
            table(("setting", "values", "default", "meaning"), settings),
            "In a configuration, where a list is a grid axis:",
            f"```yaml\nmethods:\n  Mine: {{solver: {name}}}\n```",
            "## Paper",
            paragraphs(about.references),
        ]
    )


def thresholds() -> str:
    """Return the thresholds with their settings."""
    parts = [
        "# Thresholds",
        NOTE,
        "A threshold turns scores into label sets. Where none is named it is the solver's natural cut: 0 for margins, "
        "0.5 for probabilities and shares of neighbors. Any of them takes `min_labels` and `max_labels`, which go by "
        "the order of the scores:",
        "```yaml\nmethods:\n  Mine: {solver: rank_svm, threshold: {kind: zero, min_labels: 1, max_labels: 5}}\n```",
        "`calibrate: sigmoid` (or `isotonic`) in a method makes scores probabilities, by held-out scores of the "
        "training rows; `brier`, `log_loss` and `expected_calibration_error` judge them, and `mlrank plot RUN "
        "reliability` draws them.",
    ]
    for name, found in THRESHOLDS.items():
        about = documented(found)
        fitted = f"Fitted to {'held-out' if found.FIT_ON == 'heldout' else 'training'} scores unless set otherwise."
        if found.ORACLE:
            fitted = "It looks at the true labels of the rows it decides on (* in tables): no method can be used so."
        rows = [(code(one.name), prose(one.kind), code(one.default), prose(one.text) or "-") for one in about.settings]
        parts += [f"## {code(name)}", prose(about.summary), paragraphs(about.text), fitted]
        parts += [table(("setting", "values", "default", "meaning"), rows)] if rows else []
        parts += [f"Paper: {prose(about.references)}"] if about.references else []
    return joined(parts)


def metrics() -> str:
    """Return the definitions of metrics, and what packages do in the cases that definitions leave open."""
    groups = {
        "sets": ("Of label sets", "A threshold decides on them."),
        "scores": ("Of scores", "No threshold touches them."),
        "probabilities": ("Of probabilities", "Shares of neighbors, or scores of a method with `calibrate`."),
    }
    parts = [
        "# Metrics",
        NOTE,
        "What a definition leaves open is where packages differ: a label that no row carries, a row without labels, "
        "tied scores. mlrank leaves what is undefined out of a mean, neither 0 nor 1, and says over how many terms a "
        "mean was taken. To compare with numbers of another package, `mlrank explain METRIC --run RUN` computes the "
        "metric of a run by each package's rule.",
    ]
    for needs, (title, what) in groups.items():
        found = {name: metric for name, metric in METRICS.items() if metric.needs == needs}
        rows = [
            (code(name), "↑" if metric.higher_is_better else "↓", prose(metric.definition))
            for name, metric in found.items()
        ]
        parts += [f"## {title}", what, table(("metric", "better", "definition"), rows)]
    others = PACKAGES[1:]
    rows = []
    for name in METRICS:
        words = [rules_of(name)[package].words for package in others]
        if any(word != "has no such metric" for word in words):
            rows.append((code(name), *map(prose, words)))
    parts += [
        "## Conventions side by side",
        "scikit-learn 1.9 was run; Mulan and MEKA are as the code in their public repositories has it. Metrics that "
        "none of them has are left out.",
        table(("metric", *others), rows),
        "## Costs",
        "Columns of `mlrank table --metric`: the median over the splits, with quartiles; lower is better.",
        table(("cost", "definition"), [(code(name), prose(one.definition)) for name, one in RUNTIMES.items()]),
        "## Your own",
        "A metric of your own is named by its import path: see [Your own method](own-method.md#your-own-metric).",
    ]
    return joined(parts)


def reproductions() -> str:
    """Return the recipes with their papers and data, and links to what they came to here."""
    rows = []
    for name in recipes():
        recipe = load_recipe(name)
        parts = {
            "table": name,
            "times": f"{name}-times",
            "related labels": f"{name}-related",
            "readings": f"{name}-readings",
        }
        parts |= {
            title.partition(":")[0].lower(): f"{name}-{figure}"
            for figure, title in [(key, one.title) for key, one in [*recipe.figures.items(), *recipe.regions.items()]]
        }
        measured = {shown: f"{page}.md" for shown, page in parts.items() if (REFERENCE / f"{page}.md").exists()}
        links = ", ".join(f"[{shown}](../results/reference/{page})" for shown, page in measured.items())
        others = [one.table for one in (recipe.times, recipe.related) if one is not None]
        tables = recipe.table + (f" (`--table`: {', '.join(others)})" if others else "")
        data = "; ".join(f"{option.dataset} ({GRADES[option.grade]})" for option in recipe.data)
        rows.append((code(name), links or "-", f"{prose(recipe.title)}: {prose(tables)}", prose(data) or "-"))
    papers = list(dict.fromkeys(load_recipe(name).paper for name in recipes()))
    verdicts = [(code(name), prose(rule)) for rules in (CELL_VERDICTS, CLAIM_VERDICTS) for name, rule in rules.items()]
    return joined(
        [
            "# Reproductions",
            NOTE,
            "`mlrank reproduce NAME` runs the experiment behind a table of a paper and sets the paper's numbers beside "
            "ours, with a verdict on each number and claim; `mlrank reproduce all` runs every recipe with its figures. "
            "What they came to here is in the second column and, papers by verdict, in "
            "[the summary](../results/reference/SUMMARY.md). What the readings of all tables recover, and which tables "
            "none does, is on [one page](../results/reference/readings.md).",
            table(("recipe", "measured here", "what it is", "data, best first"), rows),
            "`--table 3` makes another table of a recipe, `--figures` the paper's figures, `--grid paper` takes the "
            "paper's grid, `--data FILE` your own data, and `--readings` every reading of what the paper leaves open.",
            "## Papers",
            "\n".join(f"- {prose(paper)}" for paper in papers),
            "## Verdicts",
            "Nothing matches on stand-in or related data.",
            table(("verdict", "when it is given"), verdicts),
            "[Reading a reproduction](notebooks/reading_a_reproduction.ipynb) goes through one, as a notebook.",
        ]
    )


def when(about: Documented) -> str:
    """Return the sentences of a docstring that say when to use a class."""
    return next((part for part in about.text.split("\n\n") if part.startswith("Use it ")), "-")


def two_of(about: Documented) -> tuple[str, str]:
    """Return summary and use of a class."""
    return prose(about.summary), prose(when(about))


def paragraphs(text: str) -> str:
    """Return a docstring's text as Markdown: what is indented, such as formulas, becomes a block of its own."""
    parts: list[tuple[bool, str]] = []
    for part in text.split("\n\n"):
        formula = part.startswith(" ")
        if formula and parts and parts[-1][0]:
            parts[-1] = (True, f"{parts[-1][1]}\n\n{part}")
        else:
            parts.append((formula, part))
    return "\n\n".join(_block(part) if formula else prose(part) for formula, part in parts)


def _block(formulas: str) -> str:
    lines = formulas.splitlines()
    margin = min(len(line) - len(line.lstrip()) for line in lines if line.strip())
    return "\n".join(["```text", *(line[margin:].rstrip() for line in lines), "```"])


def prose(text: str) -> str:
    """Return words of a docstring as Markdown, in which nothing outside of backticks is markup."""
    plain = text.replace("``", "`")
    pieces = plain.split("`")
    escaped = [
        re.sub(r"([\\*<|\[\]])", r"\\\1", piece) if place % 2 == 0 else piece for place, piece in enumerate(pieces)
    ]
    return "`".join(escaped) if len(pieces) % 2 else re.sub(r"([\\*<|`\[\]])", r"\\\1", plain)


def code(text: str) -> str:
    """Return text that stands as it is."""
    return f"`{text}`"


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table; a bar inside a cell's code is escaped, as tables ask for."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(map(_cell, line))} |" for line in lines)


def _cell(text: str) -> str:
    return re.sub(r"(?<!\\)\|", r"\\|", text)


def joined(parts: Iterable[str]) -> str:
    """Return the parts of a page with a blank line between them."""
    return "\n\n".join(part for part in parts if part) + "\n"


REFERENCE = ROOT / "results" / "reference"


def main() -> None:
    """Write the pages."""
    for name, text in pages().items():
        path = DOCS / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
