import pickle
import sys
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mlrank.config import (
    DatasetConfig,
    ExperimentConfig,
    FileErrors,
    GridPoint,
    MethodConfig,
    SearchConfig,
    SplitConfig,
    SubsetConfig,
    load_config,
    parse_config,
)
from mlrank.errors import UserError
from mlrank.solvers import SOLVERS
from mlrank.solvers.presets import PRESETS
from mlrank.yamlfile import dump_yaml
from tests.config.conftest import REST

SCENE = """\
name: scene-demo
datasets: [scene]                      # catalogue names or paths
split: {kind: official}
subset: {top_labels: 60, min_positives: 50, top_features: 2000}
scale: none
methods:
  Binary-SVM:    {solver: binary_svm,  C: "2^-6..2^13"}
  Rank-SVM:      {solver: rank_svm,    C: "2^-6..2^13", threshold: svr_midpoint}
  Rank-HLapSVM:  {solver: rank_hlapsvm, C: [1, 8], lam: [1, 4, 16], nu: [0, 2, 8], threshold: svr_midpoint}
search: {folds: 5, stratified: true, metric: f1_micro}
metrics: [f1_macro, f1_micro, auc_macro, ranking_loss]
seed: 0
"""
POWERS = tuple(2.0**k for k in range(-6, 14))


def test_the_documented_example():
    hlap = (("C", (1.0, 8.0)), ("lam", (1.0, 4.0, 16.0)), ("nu", (0.0, 2.0, 8.0)))
    assert parse_config(SCENE, "f.yaml") == ExperimentConfig(
        name="scene-demo",
        datasets=(DatasetConfig(name="scene"),),
        split=SplitConfig(kind="official"),
        subset=SubsetConfig(top_labels=60, min_positives=50, top_features=2000),
        scale="none",
        methods={
            "Binary-SVM": MethodConfig("Binary-SVM", "binary_svm", SOLVERS["binary_svm"], (("C", POWERS),)),
            "Rank-SVM": MethodConfig(
                "Rank-SVM", "rank_svm", SOLVERS["rank_svm"], (("C", POWERS),), threshold="svr_midpoint"
            ),
            "Rank-HLapSVM": MethodConfig(
                "Rank-HLapSVM", "rank_hlapsvm", SOLVERS["rank_hlapsvm"], hlap, threshold="svr_midpoint"
            ),
        },
        search=SearchConfig(folds=5, stratified=True, metric="f1_micro"),
        metrics=("f1_macro", "f1_micro", "auc_macro", "ranking_loss"),
        seed=0,
    )


def test_order_of_methods_and_grid_points():
    config = parse_config(SCENE, "f.yaml")
    assert list(config.methods) == ["Binary-SVM", "Rank-SVM", "Rank-HLapSVM"]
    grid = config.methods["Rank-HLapSVM"].grid()
    assert len(grid) == 18
    assert grid[1] == GridPoint({"C": 1.0, "lam": 1.0, "nu": 2.0}, {})
    assert grid[9].settings == {"C": 8.0, "lam": 1.0, "nu": 0.0}


def test_defaults(parse):
    config = parse(f"{REST}methods: {{M: {{solver: toy}}}}\n")
    assert (config.scale, config.seed, config.subset, config.search) == ("none", 0, SubsetConfig(), SearchConfig())
    assert config.metrics == ("f1_macro", "f1_micro", "auc_macro", "ranking_loss")
    method = config.methods["M"]
    assert (method.axes, method.threshold, method.threshold_scores) == ((), "zero", "train")


EVERYTHING = """\
name: Everything 2
datasets:
  - "1e3"
  - data/f.arff
  - {train: f.svm, test: g.svm, labels: names.txt, format: libsvm, zero_based: false}
  - {name: x.svm, zero_based: true}
split: {kind: holdout, train: 2000, test: 0.25, stratified: false, repeats: 10}
subset: {rows: 100}
scale: l2
methods:
  z: {solver: toy, n: "2^0..2^3", C: "10^-2..10^0", kernel: [rbf, linear], gamma: 1e-3, halve: [true, false]}
  a: {solver: toy, mode: [fast, exact, 7], gamma: [null, .inf], threshold: {kind: top_k, k: [1, 5], scores: train}}
  "no": {solver: needy, rank: 2, threshold: {kind: top_k}}
metrics: [auc_macro]
search: {folds: 2, stratified: false, metric: ranking_loss}
seed: 77
"""


@pytest.mark.parametrize("text", [SCENE, EVERYTHING, f"{REST}methods: {{M: {{solver: toy}}}}\n"])
def test_resolved_reads_back_as_an_equal_config(text):
    config = parse_config(text, "f.yaml")
    written = dump_yaml(config.resolved())
    again = parse_config(written, "g.yaml")
    assert again == config
    assert again.resolved() == config.resolved()
    assert {name: m.axes for name, m in again.methods.items()} == {name: m.axes for name, m in config.methods.items()}
    assert list(again.methods) == list(config.methods)


def test_resolved_through_plain_pyyaml():
    config = parse_config(SCENE, "f.yaml")
    assert parse_config(yaml.safe_dump(config.resolved(), sort_keys=False), "g.yaml") == config


def test_everything_is_understood(parse):
    config = parse(EVERYTHING)
    assert config.datasets == (
        DatasetConfig(name="1e3"),
        DatasetConfig(name="data/f.arff"),
        DatasetConfig(train="f.svm", test="g.svm", labels="names.txt", format="libsvm", zero_based=False),
        DatasetConfig(name="x.svm", zero_based=True),
    )
    assert config.split == SplitConfig(kind="holdout", train=2000, test=0.25, stratified=False, repeats=10)
    assert config.methods["z"].axes == (
        ("n", (1, 2, 4, 8)),
        ("C", (0.01, 0.1, 1.0)),
        ("kernel", ("rbf", "linear")),
        ("gamma", (0.001,)),
        ("halve", (True, False)),
    )
    assert [type(value) for value in config.methods["z"].axes[0][1]] == [int] * 4
    a = config.methods["a"]
    assert a.axes == (("mode", ("fast", "exact", 7)), ("gamma", (None, float("inf"))))
    assert (a.threshold, a.threshold_scores, a.threshold_axes) == ("top_k", "train", (("k", (1, 5)),))
    # The strategy's own choice of scores holds where the config is silent.
    assert config.methods["no"].threshold_scores == "heldout"


def test_config_is_frozen_and_pickles(parse):
    config = parse(SCENE)
    for part, key in (
        (config, "seed"),
        (config.split, "folds"),
        (config.search, "folds"),
        (config.datasets[0], "name"),
    ):
        with pytest.raises(Exception, match="frozen"):
            setattr(part, key, 1)
    with pytest.raises(AttributeError):
        config.methods["Rank-SVM"].solver = "x"
    assert pickle.loads(pickle.dumps(config)) == config


def test_own_solver_by_import_path(parse, tmp_path, monkeypatch):
    (tmp_path / "own_solvers.py").write_text(
        "from dataclasses import dataclass\n"
        "@dataclass(frozen=True)\nclass Mine:\n    C: float = 1.0\n    def fit(self, train, prepared=None): ...\n"
        "@dataclass\nclass Thawed:\n    def fit(self, train, prepared=None): ...\n"
        "value = 3\n"
    )
    (tmp_path / "own_broken.py").write_text("import own_missing\n")
    (tmp_path / "own_failing.py").write_text("raise OSError('no\\nlicence')\n")
    monkeypatch.syspath_prepend(tmp_path)
    method = parse(f"{REST}methods: {{M: {{solver: 'own_solvers:Mine', C: [1, 2]}}}}\n").methods["M"]
    assert method.solver_class is sys.modules["own_solvers"].Mine
    assert method.axes == (("C", (1.0, 2.0)),)

    def line(solver):
        with pytest.raises(UserError) as caught:
            parse(f"{REST}methods:\n  M: {{solver: '{solver}'}}\n")
        return str(caught.value)

    at = "f.yaml:5:15: "
    assert (
        line("own_solvers:Mime") == f"{at}unknown class of module own_solvers 'Mime'. Did you mean 'Mine'? Known: Mine."
    )
    frozen = "is not a solver: a solver is a frozen dataclass with a method fit(train), or an estimator of "
    frozen += "scikit-learn's interface"
    assert line("own_solvers:Thawed") == f"{at}'own_solvers:Thawed' {frozen}"
    assert line("own_solvers:value") == f"{at}'own_solvers:value' {frozen}"
    looked = "it is looked for in the current folder and on PYTHONPATH"
    assert line("own_absent.sub:X") == f"{at}no module named 'own_absent': {looked}"
    broken = "ModuleNotFoundError: No module named 'own_missing'"
    assert line("own_broken:X") == f"{at}module 'own_broken' cannot be imported: {broken}"
    assert line("own_failing:X") == f"{at}module 'own_failing' cannot be imported: OSError: no licence"
    assert line("a b:X") == f"{at}'a b:X' is not of the form 'package.module:ClassName'"
    assert line("x:") == f"{at}'x:' is not of the form 'package.module:ClassName'"


def test_modules_of_the_current_folder_are_found_unless_a_library_has_their_name(parse, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.chdir(tmp_path)
    before = [*sys.path]
    for name in ("colorsys", "own_here"):
        (tmp_path / f"{name}.py").write_text(
            "from dataclasses import dataclass\n"
            "@dataclass(frozen=True)\nclass Mine:\n    def fit(self, train, prepared=None): ...\n"
        )
    with pytest.raises(UserError, match="unknown class of module colorsys"):
        parse(f"{REST}methods: {{M: {{solver: 'colorsys:Mine'}}}}\n")
    assert sys.path == before
    method = parse(f"{REST}methods: {{M: {{solver: 'own_here:Mine'}}}}\n").methods["M"]
    assert method.solver_class.__module__ == "own_here"
    assert sys.path == [*before, str(tmp_path)]


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("3", ["5:6: method 'M' must be a mapping such as {solver: rank_svm, C: 1}, found 3"]),
        ("", ["5:5: method 'M' must be a mapping such as {solver: rank_svm, C: 1}, found null"]),
        ("{}", ["5:6: the key 'solver' is missing here."]),
        ("{solvr: toy}", ["5:6: the key 'solver' is missing here. Did you mean 'solver' by 'solvr'?"]),
        ("{solver: [toy]}", ["5:15: the solver must be one name, found a list"]),
        (
            "{solver: toy, CC: 1}",
            [
                "5:20: unknown setting of toy 'CC'. Did you mean 'C'? "
                "Known: C, calibrate, gamma, halve, kernel, mode, n, project, solver, threshold."
            ],
        ),
        (
            "{solver: toy, treshold: zero}",
            [
                "5:20: unknown setting of toy 'treshold'. Did you mean 'threshold'? "
                "Known: C, calibrate, gamma, halve, kernel, mode, n, project, solver, threshold."
            ],
        ),
        ("{solver: needy}", ["5:6: needy needs a value for 'rank'"]),
        ("{solver: toy, C: []}", ["5:23: the grid of 'C' is empty; give one value or more"]),
        ("{solver: toy, C: [1, 2, 1.0]}", ["5:30: the value 1.0 of 'C' is listed twice"]),
        ("{solver: toy, C: [[1]]}", ["5:24: C must be a number, found a list"]),
        ("{solver: toy, C: {a: 1}}", ["5:23: C must be a number, found a mapping"]),
        ("{solver: toy, C: true}", ["5:23: C must be a number, found true"]),
        ("{solver: toy, C: one}", ["5:23: C must be a number, found 'one'"]),
        ("{solver: toy, C: ~}", ["5:23: C must be a number, found null"]),
        ("{solver: toy, gamma: scale}", ["5:27: gamma must be a number or null, found 'scale'"]),
        ("{solver: toy, n: 1e4}", ["5:23: n must be a whole number, found 10000.0; write 10000"]),
        (
            "{solver: toy, n: '2^-1..2^0'}",
            ["5:23: n must be a whole number, found 0.5", "5:23: n must be a whole number, found 1.0; write 1"],
        ),
        ("{solver: toy, halve: no}", ["5:27: halve must be true or false, found 'no'"]),
        ("{solver: toy, kernel: 3}", ["5:28: kernel must be a word, found 3"]),
        ("{solver: toy, mode: quick}", ["5:26: mode must be 'fast' or 'exact' or 7, found 'quick'"]),
        ("{solver: toy, mode: true}", ["5:26: mode must be 'fast' or 'exact' or 7, found true"]),
        ("{solver: toy, C: 2^3..2^1}", ["5:23: the range runs downwards; write '2^1..2^3'"]),
        (
            "{solver: toy, C: 2^3-2^5}",
            ["5:23: not a range: found '2^3-2^5'; ranges look like '2^-6..2^13' or '10^-3..10^3 by 2'"],
        ),
        (
            "{solver: toy, C: [1, 2^1..2^3]}",
            ["5:27: C must be a number, found '2^1..2^3'; a range stands by itself, not in a list"],
        ),
        (
            "{solver: toy, C: [1, -1, 0], n: 0}",
            [
                "5:27: C must be above 0, found -1.0",
                "5:31: C must be above 0, found 0.0",
                "5:38: n must be 1 or more, found 0",
            ],
        ),
        ("{solver: toy, kernel: rbf}", ["5:28: kernel rbf needs gamma"]),
        ("{solver: toy, C: -1, kernel: rbf, gamma: 1}", ["5:23: C must be above 0, found -1.0"]),
        (
            "{solver: toy, n: [3, 9], mode: [fast, exact]}",
            ["5:3: these settings do not go together: n=9, mode='exact': mode exact takes n up to 5"],
        ),
        (
            "{solver: toy, C: '10^-150..10^149', gamma: '10^-200..10^199'}",
            ["5:3: the grid of method 'M' has 120000 points, at most 100000 are allowed"],
        ),
        (
            "{solver: toy, threshold: zer}",
            ["5:31: unknown threshold 'zer'. Did you mean 'zero'? Known: natural, svr_midpoint, top_k, zero."],
        ),
        ("{solver: toy, threshold: [zero]}", ["5:31: a method has one threshold; write one method for each"]),
        ("{solver: toy, threshold: ~}", ["5:31: the threshold must be one name, found null"]),
        ("{solver: toy, threshold: {k: 3}}", ["5:31: the key 'kind' is missing here."]),
        (
            "{solver: toy, threshold: {kind: top_k, k: [1, 0], scores: test, kk: 1}}",
            [
                "5:52: k must be 1 or more, found 0",
                "5:64: the scores of a threshold must be 'train' or 'heldout', found 'test'",
                "5:70: unknown setting of top_k 'kk'. Did you mean 'k'? Known: "
                "k, kind, max_labels, min_labels, scores.",
            ],
        ),
        (
            "{solver: tyo}",
            [
                "5:15: unknown solver 'tyo'. Did you mean 'toy'? "
                f"Known: {', '.join(sorted([*SOLVERS, *PRESETS, 'needy', 'toy']))}."
            ],
        ),
        (
            "{solver: 'a\\nb'}".replace("'", '"'),
            [
                f"5:15: unknown solver 'a\\nb'. Known: {', '.join(sorted([*SOLVERS, *PRESETS, 'needy', 'toy']))}. "
                "A solver of your own is named 'package.module:ClassName'."
            ],
        ),
    ],
)
def test_bad_method(method_lines, method, expected):
    assert method_lines(method) == [f"f.yaml:{line}" for line in expected]


M = "methods: {M: {solver: toy}}\n"
SCALES = "l1, l2, log_tfidf, minmax, none, standard"
TOP = (
    "Known: baselines, datasets, display_names, methods, metrics, name, propensity, scale, search, seed, split, "
    "subset, unknown_labels."
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "{}",
            [
                "1:1: the key 'name' is missing",
                "1:1: the key 'datasets' is missing",
                "1:1: the key 'split' is missing",
                "1:1: the key 'methods' is missing",
            ],
        ),
        (
            f"{REST}{M}metric: [f1_macro]\n",
            [f"5:1: unknown key 'metric'. Did you mean 'metrics'? {TOP}"],
        ),
        (
            f"{REST}{M}repeats: 3\ntest: 10\n",
            [
                f"5:1: unknown key 'repeats'. It goes into 'split: {{...}}'. {TOP}",
                f"6:1: unknown key 'test'. It goes into 'datasets: {{...}}' or into 'split: {{...}}'. {TOP}",
            ],
        ),
        (
            f"{REST}{M}search: {{seed: 3}}\n",
            [
                "5:10: unknown key of search 'seed'. It goes at the top level. "
                "Known: folds, max_fits, metric, strategy, stratified, time_limit."
            ],
        ),
        (f"{REST}{M}seed: 1\nseed: 2\n", ["6:1: the key 'seed' is repeated; it is first given at 5:1"]),
        (
            f"{REST}methods: {{}}\n",
            ["4:10: 'methods' must name one method or more, as 'NAME: {solver: KEY}' lines; found none"],
        ),
        (
            f"{REST}methods: toy\n",
            ["4:10: 'methods' must name one method or more, as 'NAME: {solver: KEY}' lines; found 'toy'"],
        ),
        (
            f"{REST}methods: {{M: {{solver: toy}}, M: {{solver: toy}}}}\n",
            ["4:29: the key 'M' is repeated; it is first given at 4:11"],
        ),
        (
            f"{REST}methods: {{M: {{solver: toy}}, m: {{solver: toy}}}}\n",
            ["4:29: the methods 'M' and 'm' differ only in case, as some file systems do not"],
        ),
        (f"{REST}{M}seed: -1\n", ["5:7: 'seed' must be 0 or more, found -1"]),
        (f"{REST}{M}seed: 1.0\n", ["5:7: 'seed' must be a whole number, found 1.0"]),
        (f"{REST}{M}seed: true\n", ["5:7: 'seed' must be a whole number, found true"]),
        (f"{REST}{M}scale: standrad\n", [f"5:8: unknown scale 'standrad'. Did you mean 'standard'? Known: {SCALES}."]),
        (f"{REST}{M}scale: ~\n", [f"5:8: the scale must be one of {SCALES}; found null"]),
        (f"{REST}{M}metrics: []\n", ["5:10: 'metrics' must be a list of one item or more, found an empty list"]),
        (f"{REST}{M}metrics: f1_macro\n", ["5:10: 'metrics' must be a list, found 'f1_macro'"]),
        (f"{REST}{M}metrics: [f1_macro, f1_micro, f1_macro]\n", ["5:31: the metric 'f1_macro' is listed twice"]),
        (f"{REST}{M}search: grid\n", ["5:9: 'search' must be a mapping, found 'grid'"]),
        (
            f"{REST}{M}search: {{folds: 1, stratified: yes}}\n",
            ["5:17: 'folds' must be 2 or more, found 1", "5:32: 'stratified' must be true or false, found 'yes'"],
        ),
        (
            f"{REST}{M}search: {{fold: 3}}\n",
            [
                "5:10: unknown key of search 'fold'. Did you mean 'folds'? "
                "Known: folds, max_fits, metric, strategy, stratified, time_limit."
            ],
        ),
        (
            f"{REST}{M}subset: {{rows: 0, top_label: 3}}\n",
            [
                "5:16: 'rows' must be 1 or more, found 0",
                "5:19: unknown key of subset 'top_label'. Did you mean 'top_labels'? "
                "Known: min_positives, rows, top_features, top_labels.",
            ],
        ),
        (
            f"name: a/b\ndatasets: [scene]\nsplit: {{kind: official}}\n{M}",
            [
                "1:7: the experiment's name names files, so it must begin with a letter or digit, hold only "
                "letters, digits, blanks and _+=,()@%&#~.-, not end in a blank or dot and take at most 200 bytes; "
                "found 'a/b'"
            ],
        ),
        (
            f"name: 3\ndatasets: [scene]\nsplit: {{kind: official}}\n{M}",
            ["1:7: 'name' must be text (in quotes if it looks like something else), found 3"],
        ),
    ],
)
def test_bad_config(lines, text, expected):
    assert lines(text) == [f"f.yaml:{line}" for line in expected]


@pytest.mark.parametrize("name", [".hidden", "a/b", "a\\b", "-x", "a.", "a ", "a:b", "a" * 201, "a*", "../a"])
def test_names_that_cannot_be_files(lines, name):
    (line,) = lines(f"{REST}methods:\n  {name!r}: {{solver: toy}}\n")
    assert line.startswith("f.yaml:5:3: a method's name names files, so it must begin with a letter or digit, ")


@pytest.mark.parametrize("name", ["Rank-SVM (C=1)", "λ-SVM", "3", "no", "a+b, c & d", "MLkNN_v1.2", "a" * 200])
def test_names_that_can_be_files(parse, name):
    assert list(parse(f"{REST}methods:\n  {name}: {{solver: toy}}\n").methods) == [name]


@pytest.mark.parametrize(
    ("split", "expected"),
    [
        ("official", ["3:8: 'split' must be a mapping, found 'official'"]),
        ("{}", ["3:8: the key 'kind' is missing"]),
        (
            "{kind: kfolds}",
            [
                "3:15: unknown kind of split 'kfolds'. Did you mean 'kfold'? "
                "Known: holdout, kfold, official, per_class, predefined, strata."
            ],
        ),
        ("{kind: kfold, folds: 1}", ["3:29: 'folds' must be 2 or more, found 1"]),
        ("{kind: kfold, folds: 5.0}", ["3:29: 'folds' must be a whole number, found 5.0"]),
        ("{kind: kfold, repeats: 0}", ["3:31: 'repeats' must be 1 or more, found 0"]),
        (
            "{kind: kfold, folds: 2, repeats: 1000000000}",
            ["3:32: the data would be split 2000000000 times, at most 10000 are allowed"],
        ),
        ("{kind: kfold, folds: 10001}", ["3:22: the data would be split 10001 times, at most 10000 are allowed"]),
        ("{kind: per_class, parts: 10000000000}", ["3:33: 'parts' must be below 1e+09, found 10000000000"]),
        (
            "{kind: kfold, train: 10}",
            ["3:22: 'train' has no effect with kind 'kfold', which uses folds, stratified, repeats"],
        ),
        (
            "{kind: official, folds: 3, repeats: 2}",
            [
                "3:25: 'folds' has no effect with kind 'official', which uses no further key",
                "3:35: 'repeats' has no effect with kind 'official', which uses no further key",
            ],
        ),
        ("{kind: holdout, train: 10}", ["3:8: kind 'holdout' needs 'test': a number or fraction of rows"]),
        (
            "{kind: holdout, train: 0.7, test: 0.4}",
            ["3:36: train and test make up 1.1 of the rows, at most 1 is there"],
        ),
        (
            "{kind: holdout, train: 1.0, test: 0}",
            [
                "3:31: a size must be a number of rows (1 or more) or a fraction between 0 and 1, found 1.0",
                "3:42: a size must be a number of rows (1 or more) or a fraction between 0 and 1, found 0",
            ],
        ),
        (
            "{kind: holdout, train: half, test: true}",
            [
                "3:31: a size must be a number of rows (1 or more) or a fraction between 0 and 1, found 'half'",
                "3:43: a size must be a number of rows (1 or more) or a fraction between 0 and 1, found true",
            ],
        ),
    ],
)
def test_bad_split(lines, split, expected):
    assert lines(f"name: demo\ndatasets: [scene]\nsplit: {split}\n{M}") == [f"f.yaml:{line}" for line in expected]


@pytest.mark.parametrize(
    ("datasets", "expected"),
    [
        ("scene", ["2:11: 'datasets' must be a list, found 'scene'"]),
        ("[]", ["2:11: 'datasets' must be a list of one item or more, found an empty list"]),
        ("[1e3]", ["2:12: a data set is a name or path in quotes, or {train: PATH}; found 1000.0"]),
        ("['']", ["2:12: 'name' must be text of one character or more, found ''"]),
        ("[a, b, a]", ["2:18: the data set 'a' is listed twice"]),
        ("[{labels: b}]", ["2:12: a data set has 'name', a catalogue name or path, or 'train', a path; found neither"]),
        ("[{name: a, test: b}]", ["2:22: 'test' needs 'train' beside it; a path by itself is the data set's name"]),
        ("[{train: a, zero_based: 1}]", ["2:35: 'zero_based' must be true or false, found 1"]),
        (
            "[{trian: a}]",
            [
                "2:13: unknown key of datasets 'trian'. Did you mean 'train'? "
                "Known: decimal, features, fold_column, format, group_column, header, id_column, ignore_columns, "
                "impute, in_memory, label_columns, labels, name, one_hot, positive, separator, subset, test, "
                "text_columns, thousands, train, variables, zero_based."
            ],
        ),
        (
            "[{name: a, subset: {row: 9}}]",
            [
                "2:31: unknown key of subset 'row'. Did you mean 'rows'? Known: min_positives, rows, top_features, "
                "top_labels."
            ],
        ),
    ],
)
def test_bad_datasets(lines, datasets, expected):
    found = lines(f"name: demo\ndatasets: {datasets}\nsplit: {{kind: official}}\n{M}")
    assert found == [f"f.yaml:{line}" for line in expected]


def test_all_problems_at_once_sorted_by_position(lines):
    text = """\
seed: -1
methods:
  B: {solver: toy, C: 0, n: [1, x]}
  A: {solver: tyo}
split: {kind: kfold, folds: 1}
datasets: [3]
scale: l3
name: demo
name: demo
"""
    found = lines(text)
    assert [line.split(": ")[0] for line in found] == [
        "f.yaml:1:7",
        "f.yaml:3:23",
        "f.yaml:3:33",
        "f.yaml:4:15",
        "f.yaml:5:29",
        "f.yaml:6:12",
        "f.yaml:7:8",
        "f.yaml:9:1",
    ]


def test_load_config_names_the_file(tmp_path):
    path = tmp_path / "exp.yaml"
    path.write_text(SCENE)
    assert load_config(path) == parse_config(SCENE, "f.yaml")
    path.write_text(SCENE.replace("official", "oficial"))
    with pytest.raises(FileErrors) as caught:
        load_config(path)
    assert (caught.value.path, caught.value.line, caught.value.column) == (path, 3, 15)
    with pytest.raises(UserError, match=r"there is no such file$"):
        load_config(tmp_path / "none.yaml")


def test_a_shipped_example_is_found_outside_a_checkout_by_its_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError) as caught:
        load_config("configs/quickstart.yaml")
    message, _, example = str(caught.value).partition("; the example of this name is ")
    assert message == "configs/quickstart.yaml: there is no such file"
    path, _, rest = example.partition(", or say ")
    assert rest == "quickstart alone"
    assert load_config(path).name == load_config("quickstart").name == "quickstart"
    # A file of that name goes before the example.
    (tmp_path / "quickstart").write_text(Path(path).read_text().replace("name: quickstart", "name: mine"))
    assert load_config("quickstart").name == "mine"


def is_error_per_line(text: str) -> bool:
    """Whether a text is a config, or every line of its error has a position."""
    try:
        config = parse_config(text, "f.yaml")
    except UserError as error:
        return all(line.startswith("f.yaml:") and line.count(":") >= 3 for line in str(error).splitlines())
    return parse_config(dump_yaml(config.resolved()), "g.yaml") == config


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=80))
def test_any_text_is_a_config_or_an_error(text):
    assert is_error_per_line(text)


words = st.sampled_from(
    [
        "toy",
        "needy",
        "zero",
        "top_k",
        "official",
        "holdout",
        "kfold",
        "rbf",
        "2^-1..2^2",
        "2^1..",
        "l2",
        "f1_micro",
        "a\nb",
        "no",
    ]
)
leaves = st.none() | st.booleans() | st.integers(-3, 10) | st.floats() | words | st.text(max_size=4)
KEYS = ["name", "train", "test", "kind", "folds", "repeats", "stratified", "metric", "rows", "labels", "zero_based"]
METHOD_KEYS = ["C", "n", "kernel", "gamma", "halve", "mode", "rank", "threshold", "k", "scores"]


def blocks(inner):
    return st.dictionaries(st.sampled_from(KEYS), inner, max_size=4)


values = st.recursive(leaves, lambda inner: st.lists(inner, max_size=3) | blocks(inner), max_leaves=8)


methods = st.dictionaries(
    st.sampled_from(["A", "a", "B", ".x"]),
    st.fixed_dictionaries({"solver": words}).flatmap(
        lambda block: st.dictionaries(st.sampled_from(METHOD_KEYS), leaves | st.lists(leaves, max_size=3)).map(
            lambda more: {**block, **more}
        )
    )
    | values,
    max_size=2,
)
configs = st.fixed_dictionaries(
    {"name": st.just("demo") | values, "datasets": st.just(["x"]) | values, "methods": methods | values},
    optional={
        "split": st.just({"kind": "official"}) | values,
        "subset": values,
        "search": values,
        "scale": values,
        "metrics": values,
        "seed": values,
        "extra": values,
    },
)


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(configs)
def test_any_mapping_is_a_config_or_an_error(config):
    assert is_error_per_line(dump_yaml(config))
