"""The commands as a user types them: output, one-line mistakes, exit codes."""

import json
import os
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import pytest

from mlrank.cli import main
from mlrank.tables import FinishedExperiment
from tests.experiment.small import CONFIG, small_data, write_libsvm
from tests.stats.records import record

ROOT = Path(__file__).parents[2]


def write_data(folder):
    X, Y = small_data()
    write_libsvm(folder / "train.svm", X[:60], Y[:60])
    write_libsvm(folder / "test.svm", X[60:], Y[60:])


@pytest.fixture
def mlrank(monkeypatch, capsys, tmp_path):
    """Run the command line in a folder of its own and return (exit code, stdout, stderr)."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MLRANK_DATA", raising=False)
    monkeypatch.setenv("COLUMNS", "200")
    write_data(tmp_path)

    def call(*words):
        monkeypatch.setattr(sys, "argv", ["mlrank", *map(str, words)])
        with pytest.raises(SystemExit) as stopped:
            main()
        return stopped.value.code or 0, *capsys.readouterr()

    return call


def write_config(path, *changes, split="{kind: official}"):
    text = CONFIG.format(train="train.svm", test="test.svm", split=split, scale="none")
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path.write_text(text)
    return path


def test_train_prints_a_table_and_says_where_results_are(mlrank, tmp_path):
    code, out, err = mlrank("train", write_config(tmp_path / "c.yaml"), "--jobs", 1)
    assert code == 0
    for word in ("Binary-SVM", "Rank-HLapSVM", "certificate", "chosen settings", "results/small"):
        assert word in out
    assert "35 fits" in err
    tables = tmp_path / "results" / "small" / "tables"
    assert {path.suffix for path in tables.iterdir()} == {".md", ".tex", ".csv"}


def test_json_output_is_the_records(mlrank, tmp_path):
    code, out, err = mlrank("train", write_config(tmp_path / "c.yaml"), "--jobs", 1, "--json", "--quiet")
    assert (code, err) == (0, "")
    assert [record["method"] for record in json.loads(out)] == ["Binary-SVM", "Rank-HLapSVM"]


@pytest.mark.usefixtures("trained")
def test_evaluate_recomputes_and_notices_tampering(mlrank, tmp_path):
    code, out, _ = mlrank("evaluate", "results/small", "-m", "lrap")
    assert code == 0
    assert "lrap" in out
    explained = mlrank("explain", "rank_hlapsvm", "--run", "results/small")[1]
    assert "\n\nSettings of rank_hlapsvm\n\n" in explained
    assert "\n\nCertificates of the runs\n\n" in explained
    assert "\n\n\n" not in explained
    path = tmp_path / "results/small/runs/train/official/Binary-SVM.json"
    record = json.loads(path.read_text())
    record["metrics"]["lrap"]["value"] += 0.01
    path.write_text(json.dumps(record))
    code, _, err = mlrank("evaluate", "results/small")
    assert code == 1
    assert err.startswith("mlrank: results/small: train / official / Binary-SVM: lrap is 0.")
    code, _, err = mlrank("evaluate", "results/small", "-m", "lrpa")
    assert (code, err.split(" Known")[0]) == (1, "mlrank: unknown metric 'lrpa'. Did you mean 'lrap'?")


@pytest.mark.usefixtures("trained")
def test_a_terminal_of_80_columns_loses_no_column_of_a_wide_table(mlrank, monkeypatch):
    metrics = ["f1_macro", "f1_micro", "hamming_loss", "ranking_loss", "lrap", "one_error", "coverage", "auc_macro"]
    monkeypatch.setenv("COLUMNS", "80")
    words = [word for metric in metrics for word in ("-m", metric)]
    (_, evaluated, _), (_, printed, _) = (
        mlrank("evaluate", "results/small", *words),
        mlrank("table", "results/small", *words),
    )
    assert evaluated.startswith(printed)
    lines = [line.rstrip() for line in printed.splitlines()]
    # Too many columns for whole headings: a line for each of each row.
    for line in ("Binary-SVM", "  chosen settings  C=1", "  fit", "  certificate", "  coverage ↓"):
        assert any(found.startswith(line) for found in lines), line
    assert max(map(len, lines)) <= 80


def test_tables_wider_than_the_terminal_are_records(mlrank, tmp_path, monkeypatch):
    config = write_config(tmp_path / "c.yaml")
    monkeypatch.setenv("COLUMNS", "40")
    shown = {
        ("datasets", "list"): ("scene", "  n (train + test)  1211 + 1196"),
        ("status", config): ("small", "  search fits  0/33"),
        ("status", config, "--list"): ("small", "  method       Binary-SVM"),
        ("train", config, "--dry-run", "--jobs", 1): ("train / Binary-SVM", "  fits    10"),
        ("reproduce", "--list"): ("arts", "  table  Table 2"),
    }
    for words, lines in shown.items():
        out = [line.rstrip() for line in mlrank(*words)[1].splitlines()]
        assert set(lines) <= set(out), words
        # Below a table a sentence is broken by the terminal.
        assert all(len(line) <= 40 for line in out[:-1]), words


def test_a_pipe_gets_every_row_of_a_table_in_one_line(tmp_path):
    X, Y = small_data()
    for part, rows in (("train", slice(60)), ("test", slice(60, None))):
        write_libsvm(tmp_path / f"{part}.svm", X[rows], Y[rows])
    name = "A method with a name of one hundred and more letters, as those that tell their settings tend to have it"
    write_config(tmp_path / "c.yaml", ("Binary-SVM:", f"{name}:"))
    environment = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "MLRANK_DATA")}
    wanted = {
        "train c.yaml --dry-run": f"train / {name} ",
        "status c.yaml --list": f" {name} ",
        "reproduce --list": "Efficient Multi-label Classification with Hypergraph Regularization, CVPR 2009",
        "explain": "that the scores order rightly, a tied pair counting 1/2 (the area under the ROC curve); unweighted",
        "datasets info mediamill": "or set MLRANK_DATA to a folder that holds libsvm/mediamill-train-exp1.svm.bz2",
    }
    command = [sys.executable, "-c", COMMANDS, *wanted]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    for text, words in zip(done.stdout.split(NEXT)[1:], wanted, strict=True):
        assert wanted[words] in text, words


# In one process, as loading takes most of their time.
NEXT = "~next~"
COMMANDS = f"""
import sys
from mlrank.cli import main
from mlrank.tables import FinishedExperiment
for words in sys.argv[1:]:
    sys.argv = ["mlrank", *words.split()]
    print("{NEXT}")
    try:
        main()
    except SystemExit as stopped:
        assert not stopped.code
"""


def test_a_warning_is_one_line_without_a_place_in_the_code(mlrank, monkeypatch):
    def warn(standalone_mode):
        for _ in range(2):
            warnings.warn("no room\n  for it", stacklevel=1)

    monkeypatch.setattr("mlrank.cli.app", warn)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        assert mlrank("plot") == (0, "", "mlrank: warning: no room for it\n")


MISTAKES = [
    ([("C: [0.1, 1, 10]", "CC: [0.1, 1, 10]")], "c.yaml:7:36: unknown setting of binary_svm 'CC'. Did you mean 'C'?"),
    ([("seed: 3", "sed: 3")], "c.yaml:10:1: unknown key 'sed'. Did you mean 'seed'?"),
    ([("seed: 3", "seed: 3\nseed: 4")], "c.yaml:11:1: the key 'seed' is repeated; it is first given at 10:1"),
    ([("C: [0.1, 1, 10]", "C: []")], "c.yaml:7:39: the grid of 'C' is empty"),
    ([("f1_micro", "f1_mikro")], "c.yaml:9:28: unknown metric 'f1_mikro'. Did you mean 'f1_micro'?"),
    ([("train.svm", "trian.svm")], "c.yaml:3:12: trian.svm: no such file"),
    ([("train.svm", "c.yaml")], "c.yaml:"),
    ([("{train: train.svm", "scen, {train: train.svm")], "c.yaml:3:12: unknown data set 'scen'. Did you mean 'scene'?"),
    ([("}]", "}, {train: ./train.svm, test: test.svm}]")], "c.yaml:3:48: two data sets are called 'train'"),
    ([("seed: 3", "subset:\n  top_labels: 99")], "c.yaml:11:15: top_labels asks for 99 of the 4 labels of 'train'"),
    ([("seed: 3", "subset: {min_positives: 99}")], "c.yaml:10:25: min_positives 99 leaves no label of 'train'"),
    ([("official", "kfold, folds: 91")], "c.yaml:4:29: 'train': 91 folds need 91 rows or more, the data has 90"),
    ([("official", "strata, single: 99, multiple: 1")], "c.yaml:4:31: 'train': strata requires 99 rows with one label"),
    ([("folds: 3", "folds: 61")], "c.yaml:9:17: 'train': 61 folds need 61 rows or more, the data has 60"),
    (
        [("folds: 3", "folds: 3, max_fits: 8")],
        "c.yaml:9:30: the search of method 'Binary-SVM' by strategy 'grid' needs 9",
    ),
    (
        [("{kind: svr_midpoint, C: [0.1, 1]}", "{kind: top_k, k: 9}")],
        "c.yaml:8:77: 'train', method 'Rank-HLapSVM': top_k with k=9 needs that many labels, found 4",
    ),
    (
        [("10]}", "10], kernel: chi2}")],
        "c.yaml:7:61: 'train', method 'Binary-SVM': the chi2 kernel needs features of at least 0",
    ),
]


@pytest.mark.parametrize(("changes", "message"), MISTAKES)
def test_mistakes_in_the_configuration_are_one_line_with_its_place(mlrank, tmp_path, changes, message):
    write_config(tmp_path / "c.yaml", *changes)
    code, out, err = mlrank("train", "c.yaml")
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert err.startswith(f"mlrank: {message}")
    assert not (tmp_path / "results").exists()


def test_a_split_larger_than_the_data_is_refused_before_any_fit(mlrank, tmp_path):
    write_config(tmp_path / "c.yaml", split="{kind: holdout, train: 80, test: 20}")
    code, _, err = mlrank("train", "c.yaml")
    assert (code, err) == (1, "mlrank: c.yaml:4:8: 'train': holdout wants 80 + 20 rows, the data has 90\n")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["train", "none.yaml"], "mlrank: none.yaml: "),
        (["train"], "mlrank: Missing argument 'CONFIG' (see mlrank train --help)"),
        (["predict", "a.model", "b.svm"], "mlrank: Missing option '--out' / '-o' (see mlrank predict --help)"),
        (["predict", "a.model", "b.svm", "-o", "c.csv", "--top", "0"], "mlrank: Invalid value for '--top': "),
        (["datasets", "chek"], "mlrank: No such command 'chek'. Did you mean 'check'? (see mlrank datasets --help)"),
        (["train", "c.yaml", "--job", "2"], "mlrank: No such option: --job"),
        (["train", "c.yaml", "--jobs", "-1"], "mlrank: --jobs must be 0 or more, found -1"),
        (["trian", "c.yaml"], "mlrank: No such command 'trian'."),
        (["train", "c.yaml", "--backend", "dusk"], "mlrank: unknown backend 'dusk'. Did you mean 'dask'?"),
        (["train", "c.yaml", "--backend", "dask"], "mlrank: --backend dask needs --scheduler, an address such as"),
        (["reproduce", "imageclef", "--backend", "dask"], "mlrank: --backend dask needs --scheduler"),
        (["reproduce", "imageclf"], "mlrank: unknown recipe 'imageclf'. Did you mean 'imageclef'?"),
        (["reproduce"], "mlrank: which recipe? 'mlrank reproduce --list' shows them"),
        (["reproduce", "imageclef", "--grid", "papr"], "mlrank: unknown grid of the recipe 'imageclef' 'papr'."),
        (["reproduce", "imageclef", "--labels", "x.xml"], "mlrank: --test and --labels go with --data"),
        (
            ["reproduce", "msrc", "--table", "3", "--figures"],
            "mlrank: figures are drawn beside the recipe's own table",
        ),
        (
            ["reproduce", "msrc", "--table", "Table"],
            "mlrank: the recipe 'msrc' is of Table 2; beside it there is Table 2",
        ),
        (["evaluate", "results"], "mlrank: results: "),
    ],
)
def test_mistakes_on_the_command_line_are_one_line(mlrank, tmp_path, words, message):
    write_config(tmp_path / "c.yaml")
    code, _, err = mlrank(*words)
    assert code == 1
    assert err.splitlines()[-1].startswith(message)


def test_a_results_folder_that_cannot_be_made_is_told_before_any_fit(mlrank, tmp_path):
    (tmp_path / "taken").write_text("a file")
    code, _, err = mlrank("train", write_config(tmp_path / "c.yaml"), "--results", "taken")
    assert (code, err.count("\n")) == (1, 1)
    assert "taken" in err


def test_a_table_of_related_labels_whose_fit_failed_is_told(mlrank, monkeypatch):
    failed = record("SLRM", "msrc", "r0", None, error="Traceback\nMemoryError: too large\n")

    def run(*given, **options):
        return FinishedExperiment(None, [failed], [])

    monkeypatch.setattr("mlrank.cli.progress.run_with_progress", run)
    code, _, err = mlrank("reproduce", "msrc", "--table", "3", "--quiet")
    assert (code, err) == (2, "mlrank: msrc / r0 / SLRM failed: MemoryError: too large\n")


@pytest.mark.parametrize("quiet", [(), ("--quiet",)])
def test_a_search_in_which_fits_failed_gives_exit_code_2_wherever_it_is_shown(mlrank, tmp_path, quiet):
    solver = "solver: 'tests.experiment.small:Means', shift: [0, 2]"
    config = write_config(tmp_path / "c.yaml", ("solver: binary_svm, C: [0.1, 1, 10]", solver))
    line = "mlrank: train / official / Binary-SVM: 3 of 6 fits of the search failed; mlrank status says why\n"
    for _ in range(2):  # when it is made, and when it is there
        code, _, err = mlrank("train", config, "--jobs", 1, *quiet)
        assert (code, err[err.index("mlrank: ") :]) == (2, line)
    code, _, err = mlrank("evaluate", "results/small")
    assert (code, err) == (2, line)
    code, out, _ = mlrank("status", "results/small")
    assert code == 2
    assert "Binary-SVM: RuntimeError: this one always fails" in out


def test_failed_fits_are_named_and_give_exit_code_2(mlrank, tmp_path):
    change = ("{solver: binary_svm, C: [0.1, 1, 10]}", "{solver: 'tests.experiment.small:Means', shift: 2}")
    code, out, err = mlrank("train", write_config(tmp_path / "c.yaml", change), "--jobs", 1, "--quiet")
    assert code == 2
    assert "failed" in out
    assert "mlrank: train / official / Binary-SVM failed: RuntimeError: this one always fails" in err


def test_reproduce_lists_recipes_with_their_tables(mlrank):
    code, out, _ = mlrank("reproduce", "--list")
    assert code == 0
    assert "imageclef" in out
    assert "Table 2" in out


@pytest.mark.parametrize("words", [[], ["--help"], ["train", "-h"], ["reproduce", "-h"], ["datasets", "-h"]])
def test_help_has_examples(mlrank, words):
    code, out, _ = mlrank(*words)
    assert code == 0
    assert "Usage" in out
    assert "mlrank " in out.split("Usage", 1)[1]


def test_help_imports_nothing_heavy():
    heavy = ("numpy", "scipy", "pandas", "sklearn", "numba", "pydantic", "yaml", "joblib")
    script = (
        "import sys\nfrom mlrank.cli import app\n"
        "try:\n    app(['--help'])\nexcept SystemExit:\n    pass\n"
        f"print([name for name in {heavy!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_ctrl_c_keeps_what_is_done_and_the_same_command_goes_on(mlrank, tmp_path):
    shifts = ", ".join(str(3 * i) for i in range(8))
    change = ("{solver: binary_svm, C: [0.1, 1, 10]}", f"{{solver: 'tests.experiment.small:Slow', shift: [{shifts}]}}")
    config = write_config(tmp_path / "c.yaml", change)
    command = [sys.executable, "-m", "mlrank", "train", str(config), "--jobs", "2"]  # `test_sigterm` has one worker
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(
        command,
        cwd=tmp_path,
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # A shell's background jobs are started to ignore it, the tests with them.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    journal = tmp_path / "results/small/trials.jsonl"
    deadline = time.monotonic() + 60
    while not (journal.exists() and journal.stat().st_size) and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.3)  # the line is told of, and the next fits are being made
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    kept = len(journal.read_text().splitlines())
    assert f"mlrank: interrupted; {kept} of 50 fits are done and kept" in err, err
    assert "Traceback" not in err
    code, _, err = mlrank("train", config, "--jobs", 1)
    assert code == 0
    assert f"50 fits, {kept} of them already done" in err


@pytest.mark.usefixtures("trained")
def test_options_for_latex_are_refused_without_it(mlrank, tmp_path):
    (folder,) = (tmp_path / "results").iterdir()
    for option in (["--wide"], ["--narrow"], ["--siunitx"], ["--label", "tab:x"]):
        code, out, err = mlrank("table", folder, *option)
        assert (code, out, err) == (1, "", f"mlrank: {option[0]} goes with --format latex, found rich\n")
        assert mlrank("table", folder, *option, "--format", "latex")[0] == 0


def test_a_choice_that_is_none_is_one_plain_line(mlrank):
    code, _, err = mlrank("table", "r", "--format", "latx")
    assert code == 1
    assert err.startswith("mlrank: Invalid value for '--format' / '-f': 'latx' is not one of 'rich', 'md', 'latex'")
