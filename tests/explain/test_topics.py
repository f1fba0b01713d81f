"""What is explained comes from the docstrings, definitions and recipes themselves, and misses no setting."""

import dataclasses
import json
import re

import numpy as np
import pytest
from typer.testing import CliRunner

from mlrank.cli import app
from mlrank.config.reference import blocks, choices
from mlrank.errors import UserError
from mlrank.explain import certificates_of, explain, topics, values_of
from mlrank.explain.documented import documented, reflow
from mlrank.metrics import METRICS
from mlrank.recipes import load_recipe
from mlrank.records import RunFolder
from mlrank.solvers import PROJECTIONS, SOLVERS
from mlrank.thresholds import THRESHOLDS
from tests.stats.records import arrays, table

SETTINGS = {**SOLVERS, **PROJECTIONS, **THRESHOLDS}


@dataclasses.dataclass(frozen=True)
class Example:
    """Do something.

    More on it,
    in two lines.

    Parameters
    ----------
    first : {"a", "b"}
        What comes
        first.
    second, third : float, int
        The rest.
    needed : str, silent : bool
        No default.
    mute : int

    References
    ----------
    Somebody, "A paper
    of two lines", 2001.
    """

    needed: str
    first: str = "a"
    second: float = 0.5
    third: int = 3
    silent: bool = True
    mute: int = 1
    untold: int = 2


def test_a_docstring_is_taken_apart():
    found = documented(Example)
    assert (found.summary, found.text) == ("Do something.", "More on it, in two lines.")
    assert found.references == 'Somebody, "A paper of two lines", 2001.'
    assert [dataclasses.astuple(setting) for setting in found.settings] == [
        ("needed", "str", "required", "No default."),
        ("first", '{"a", "b"}', "'a'", "What comes first."),
        ("second", "float", "0.5", "The rest."),
        ("third", "int", "3", "The rest."),
        ("silent", "bool", "True", "No default."),
        ("mute", "int", "1", ""),
        ("untold", "", "2", ""),
    ]


def test_formulas_keep_their_lines():
    assert reflow("a\nb::\n\n    x = 1\n    y = 2\n\nc\nd") == "a b:\n\n    x = 1\n    y = 2\n\nc d"


@pytest.mark.parametrize("name", SETTINGS)
def test_every_setting_is_there_with_its_default_and_its_meaning(name):
    topic, *_ = explain(name)
    fields = dataclasses.fields(SETTINGS[name])
    rows = [[cell.text for cell in row] for row in topic.grids[0].rows] if topic.grids else []
    assert [row[0] for row in rows] == [field.name for field in fields]
    assert [row[2] for row in rows] == [repr(field.default) for field in fields]
    assert topic.summary
    untold = [row[0] for row in rows if row[3] == "-" and f"`{row[0]}`" not in topic.summary]
    assert untold == []


def test_keys_and_values_of_a_configuration_are_explained_as_the_reference_has_them():
    (split,) = explain("split")
    keys, kinds = split.grids
    assert [row[0].text for row in keys.rows] == [key.name for key in blocks()["split"]]
    assert {row[0].text: row[1].text for row in kinds.rows} == dict(choices()["split"])
    (kfold,) = explain("kfold")
    assert (kfold.kind, kfold.summary) == ("kind of split", choices()["split"]["kfold"])
    assert kfold.paragraphs[0].startswith("Keys it uses: folds, stratified, repeats;")
    assert [topic.paragraphs[0].partition(".")[0] for topic in explain("stratified")] == [
        "A key in the block 'split'",
        "A key in the block 'search'",
    ]
    assert [topic.kind for topic in explain("zero")] == ["threshold", "way to impute"]
    listed = topics()
    assert set(listed["key"]) == {key.name for keys in blocks().values() for key in keys}
    assert listed["scaling"] == choices()["scale"]


@pytest.mark.parametrize("name", SOLVERS)
def test_a_solver_says_when_to_use_it_and_names_its_paper(name):
    about = documented(SOLVERS[name])
    assert about.text.startswith("Use it ")
    assert re.search(r'", .*\b(19|20)\d\d\b', about.references)
    assert f"Paper: {about.references}" in explain(name)[0].paragraphs


def test_a_solver_has_its_problem_and_what_it_may_see():
    (topic,) = explain("rank_svm")
    text = "\n".join(topic.paragraphs)
    assert "`optimality` is the relative duality gap" in text
    assert "In a configuration: solver: rank_svm" in text
    assert "It leaves unknown label entries out." in text
    assert "the test rows among them" in "\n".join(explain("smse")[0].paragraphs)


def test_an_oracle_is_called_one():
    assert "looks at the true labels" in "\n".join(explain("oracle_size")[0].paragraphs)
    assert "Fitted to training scores" in "\n".join(explain("svr_midpoint")[0].paragraphs)


@pytest.mark.parametrize("name", METRICS)
def test_a_metric_has_its_definition_and_four_rules(name):
    (topic,) = explain(name)
    assert topic.summary == METRICS[name].definition
    assert [row[0].text for row in topic.grids[0].rows] == ["mlrank", "scikit-learn", "Mulan", "MEKA"]


def test_a_recipe_has_the_papers_numbers_claims_and_data():
    recipe = load_recipe("imageclef")
    (topic,) = explain("imageclef")
    text = "\n".join(topic.paragraphs)
    assert recipe.paper in text
    assert all(f"Claim: {claim.named}" in text for claim in recipe.claims)
    data, numbers, methods, questions = topic.grids
    assert [(row[0].text, row[1].text) for row in questions.rows] == [
        (name, question.default) for name, question in recipe.readings.items()
    ]
    assert [row[0].text for row in data.rows] == [option.dataset for option in recipe.data]
    assert [row[0].text for row in numbers.rows] == list(recipe.expected)
    assert [row[0].text for row in methods.rows] == list(recipe.experiment["methods"])


def test_formulas_keep_their_lines_in_a_pipe(monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    shown = CliRunner().invoke(app, ["explain", "slrm"]).output.splitlines()
    (formula,) = (line for line in shown if line.startswith("    min_V"))
    assert formula.endswith("(eq. 9)")
    (before,) = (line for line in shown if line.endswith("over all rows X:"))
    assert shown[shown.index(before) + 1 :][:2] == ["", formula]
    assert [line for line in shown if line != line.rstrip()] == []
    narrow = CliRunner().invoke(app, ["explain", "slrm"], env={"COLUMNS": "60"}).output.splitlines()
    assert max(len(line) for line in narrow[: narrow.index("Settings of slrm")]) <= 60


def test_a_cost_is_explained_too():
    assert explain("peak_memory")[0].summary.startswith("the most that the process held")


def test_everything_that_is_listed_can_be_explained():
    for names in topics().values():
        for name in names:
            assert explain(name)


def test_a_listed_metric_is_told_by_a_whole_sentence():
    listed = topics()["metric"]
    assert listed["auc_rank_curve"].startswith("The first k labels of every row are predicted, k = 0, 1, ... up to all")
    assert listed["f1_macro"] == "Of a label, F1 = 2 TP / (2 TP + FP + FN); unweighted mean over the labels."


def test_an_unknown_name_is_told_with_the_nearest():
    with pytest.raises(UserError, match=r"'rank_svn'\. Did you mean 'rank_svm'\?"):
        explain("rank_svn")


def test_values_of_runs_are_means_over_the_splits_under_each_rule():
    records = table({"A": {"x": [0.5, 0.5]}, "B": {"x": [0.5, 0.5]}})
    empty = {
        **arrays(1),
        "Y_true": arrays(1)["Y_true"] & [False, True, True],
        "Y_pred": arrays(1)["Y_pred"] & [False, True, True],
    }
    stored = {"r0": arrays(0), "r1": empty}
    grid = values_of("f1_macro", records, lambda found: stored[found.split])
    assert grid.header == ("data", "method", "mlrank", "scikit-learn", "Mulan", "MEKA")

    def f1(found, absent):
        hits = (found["Y_true"] & found["Y_pred"]).sum(axis=0)
        both = found["Y_true"].sum(axis=0) + found["Y_pred"].sum(axis=0)
        terms = [2 * h / b if b else absent for h, b in zip(hits, both, strict=True)]
        return np.nanmean(terms)

    expected = [np.mean([f1(found, absent) for found in stored.values()]) for absent in (np.nan, 0, 1, 0)]
    assert [cell.text for cell in grid.rows[0]] == ["x", "A", *(f"{number:.4f}" for number in expected)]
    assert len({cell.text for cell in grid.rows[0][2:]}) == 3  # three different answers to one question
    assert grid.notes == ("Means over 2 splits.",)


def invoke(*words):
    result = CliRunner().invoke(app, ["explain", *map(str, words)], env={"COLUMNS": "160"})
    if isinstance(result.exception, UserError):
        raise result.exception
    return result.stdout


@pytest.fixture
def folder(tmp_path):
    made = RunFolder.create(tmp_path, "demo")
    made.write_config({"name": "demo", "datasets": ["x"], "methods": {"A": {}, "B": {}}, "metrics": ["f1_macro"]})
    for number, found in enumerate(table({"A": {"x": [0.5]}, "B": {"x": [0.4]}})):
        made.write_run(found, arrays(number))
    return made.path


def test_the_command_shows_definition_rules_and_values(folder):
    text = invoke("coverage", "--run", folder, "--method", "B")
    assert "how many labels must be read" in text
    assert "depth counts from 0" in text
    rows = [line.split() for line in text.splitlines() if line.startswith("x ")]
    (row,) = rows
    assert row[:2] == ["x", "B"]
    assert float(row[3]) > float(row[4])
    assert row[5] == "-"


def test_without_a_name_everything_is_listed():
    text = invoke()
    for name in ("f1_macro", "rank_svm", "svr_midpoint", "imageclef", "blda", "fit_seconds"):
        assert name in text


def test_json(folder):
    found = json.loads(invoke("f1_macro", "--run", folder, "--json"))
    assert found["topics"][0]["kind"] == "metric"
    assert found["values"][0]["header"][2:] == ["mlrank", "scikit-learn", "Mulan", "MEKA"]
    assert "rank_svm" in json.loads(invoke("--json"))["solver"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["zero", "--run", "FOLDER"],
            "--run goes with a metric, a solver or a method of the run, 'zero' is a threshold",
        ),
        (["mlr", "--run", "FOLDER"], "no finished run has the solver 'mlr'"),
        (["f1_macro", "--run", "FOLDER", "--method", "C"], "unknown method 'C'"),
        (["f1"], "unknown metric, solver, threshold, projection, verdict, reading, recipe or key 'f1'"),
    ],
)
def test_what_cannot_be_explained_is_told(folder, words, message):
    with pytest.raises(UserError, match=message):
        invoke(*(folder if word == "FOLDER" else word for word in words))


@pytest.mark.parametrize(
    ("solver", "kind", "shown"),
    [
        ("rank_svm", "gap", "(200 - 198) / 200 = 0.01: the optimum is from 198 to 200"),
        ("rank_svm", None, "(200 - 198) / 200 = 0.01: the optimum is from 198 to 200"),
        ("smse", "residual", "|r| / |b| = 0.01"),
        ("plst", "backward error", "|r| / |z| = 0.01"),
        ("own:Solver", None, "0.01"),
    ],
)
def test_the_numbers_of_a_run_are_put_into_the_definition_of_its_certificate(solver, kind, shown):
    (record,) = table({"A": {"x": [0.5]}})
    info = dataclasses.replace(record.fit, objective=200.0, optimality=0.01, certificate=kind)
    grid = certificates_of([dataclasses.replace(record, solver=solver, settings={"tol": 0.1}, info=info)])
    assert grid.rows[0][4].text == shown
    assert grid.rows[0][5].text == "at most tol = 0.1: reached"
    word = "none" if solver.startswith("own") else kind or "gap"
    assert word in grid.notes[0]


def test_a_method_of_a_run_stands_for_its_solver(folder):
    text = invoke("A", "--run", folder)
    assert "(solver)" in text
    assert "Certificates of the runs" in text


def test_the_help_has_examples():
    assert "mlrank explain f1_macro --run results/quickstart" in invoke("--help")
