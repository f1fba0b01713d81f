"""The pages of docs/ and the README: every block of code runs, links lead somewhere, generated pages are current."""

import doctest
import importlib.util
import io
import json
import re
import shlex
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from mlrank.cli import app, main
from mlrank.cli.datasets import app as datasets
from mlrank.config import config_of, load_config
from mlrank.solvers import SOLVERS

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
GENERATED = ("copied", "gallery", "build")
PAGES = [
    ROOT / "README.md",
    *sorted(path for path in DOCS.rglob("*.md") if path.relative_to(DOCS).parts[0] not in GENERATED),
]
# The blocks that are not run, by what they need: a line above each says so.
NOT_RUN = {"a network", "the data sets of the benchmark", "a cluster", "a dozen seconds or more", "an installation"}
# Languages of blocks that are read and not run.
READ = ("text", "bibtex")
BLOCK = re.compile(
    r"(?:^<!-- (?P<note>[^\n]*?) -->\n)?^(?P<fence>```+)(?P<language>\S*)[^\n]*\n(?P<code>.*?)^(?P=fence)$", re.M | re.S
)
# A whole experiment, into which the parts of one that a page shows are put.
WHOLE = {
    "name": "part",
    "datasets": ["yeast"],
    "split": {"kind": "official"},
    "methods": {"Rank-SVM": {"solver": "rank_svm"}},
}


@dataclass(frozen=True)
class Block:
    """A fenced block of a page: its language, the words of the comment above it, and where it is."""

    language: str
    note: str
    code: str
    place: str


def blocks(path):
    text = path.read_text("utf-8")
    for match in BLOCK.finditer(text):
        line = text[: match.start("code")].count("\n")
        yield Block(match["language"], match["note"] or "", match["code"], f"{path.relative_to(ROOT)}:{line}")


@pytest.fixture(scope="module")
def quickstart(tmp_path_factory):
    """A smaller example of the same name, and its results."""
    folder = tmp_path_factory.mktemp("quickstart")
    small = yaml.safe_load((ROOT / "configs/quickstart.yaml").read_text("utf-8"))
    small |= {"subset": {"top_labels": 4}, "search": {"folds": 2, "metric": "f1_micro"}}
    for method in small["methods"].values():
        method |= {"C": 0.125} | {name: [0] for name in ("lam", "nu") if name in method}
    (folder / "quickstart").write_text(yaml.safe_dump(small, sort_keys=False), "utf-8")
    return folder


@pytest.fixture
def folder(tmp_path, monkeypatch, quickstart):
    """Where a page is run: one worker, no data but the embedded ones, the smaller example."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MLRANK_DATA", raising=False)
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setattr("joblib.cpu_count", lambda: 1)
    monkeypatch.setattr(sys, "path", [*sys.path])  # modules beside a page's files are found as for a user
    shutil.copytree(quickstart, tmp_path, dirs_exist_ok=True)
    before = set(sys.modules)
    yield tmp_path
    if (tmp_path / "results/quickstart").exists():
        shutil.copytree(tmp_path / "results/quickstart", quickstart / "results/quickstart", dirs_exist_ok=True)
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(tmp_path)):
            del sys.modules[name]


@pytest.mark.parametrize("path", PAGES, ids=[str(path.relative_to(ROOT)) for path in PAGES])
def test_the_code_of_a_page_runs(path, folder, monkeypatch, capsys):
    names = {"__name__": "__main__"}
    for block in blocks(path):
        kind, _, what = block.note.partition(": ")
        if kind == "not run":
            assert what in NOT_RUN, block.place
        elif block.language == "python":
            run_python(block, names, what if kind == "file" else None)
        elif block.language == "sh":
            for line in block.code.replace("\\\n", " ").splitlines():
                run_line(line, block.place, monkeypatch, capsys)
        elif block.language == "yaml":
            check_yaml(block, what if kind == "file" else None)
        elif kind == "file":
            Path(what).write_text(block.code, "utf-8")
        else:
            assert block.language in READ or block.language.startswith("{"), block.place


def run_python(block, names, file):
    if file:
        Path(file).write_text(block.code, "utf-8")
    if ">>>" not in block.code:
        exec(compile(block.code, block.place, "exec"), names)
        return
    test = doctest.DocTestParser().get_doctest(block.code, names, block.place, block.place, 0)
    runner, output = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS), []
    runner.run(test, out=output.append, clear_globs=False)
    names |= test.globs
    assert runner.summarize(verbose=False).failed == 0, "".join(output)


def run_line(line, place, monkeypatch, capsys):
    """Run one command in this process: mlrank, perhaps behind ``cat FILE |``."""
    words = shlex.split(line, comments=True)
    if not words:
        return
    if words[:1] == ["cat"] and words[2] == "|":
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(Path(words[1]).read_bytes())))
        words = words[3:]
    assert words[0] == "mlrank", f"{place}: {line}"
    monkeypatch.setattr(sys, "argv", words)
    with pytest.raises(SystemExit) as end:
        main()
    printed = capsys.readouterr()
    assert end.value.code == 0, f"{place}: {line}\n{printed.out}{printed.err}"


def check_yaml(block, file):
    """Read an experiment, or put the part of one into a whole."""
    given = yaml.safe_load(block.code)
    if file:
        Path(file).write_text(block.code, "utf-8")
    if file and set(WHOLE) <= set(given):
        load_config(file)
    elif set(given) & {*WHOLE, "search", "subset", "scale", "metrics", "baselines", "display_names"}:
        config_of({**WHOLE, **given}, block.place)
    else:
        raise AssertionError(f"{block.place}: no part of an experiment")


def test_few_blocks_are_not_run():
    skipped = [block.place for path in PAGES for block in blocks(path) if block.note.startswith("not run")]
    assert len(skipped) <= 8, skipped


def test_a_planted_mistake_is_seen(folder, monkeypatch, capsys):
    with pytest.raises(AssertionError, match="No such command 'trian'"):
        run_line("mlrank trian quickstart", "here", monkeypatch, capsys)
    with pytest.raises(AssertionError, match=r"Expected:\n *3"):
        run_python(Block("python", "", ">>> 1 + 1\n3\n", "here"), {}, None)
    with pytest.raises(Exception, match="unknown solver 'rank_svn'"):
        check_yaml(Block("yaml", "", "methods: {A: {solver: rank_svn}}", "here"), None)


@pytest.mark.parametrize("path", PAGES, ids=[str(path.relative_to(ROOT)) for path in PAGES])
def test_links_lead_somewhere(path):
    text = re.sub(r"`[^`\n]*`", "code", BLOCK.sub("", path.read_text("utf-8")))
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" in link:
            continue
        target, _, anchor = link.partition("#")
        found = path if not target else (path.parent / target).resolve()
        assert found.exists(), link
        if anchor:
            headings = re.findall(r"^#+ (.*)$", found.read_text("utf-8"), re.M)
            assert anchor in [
                re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-") for heading in headings
            ]


def module(name):
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def test_generated_pages_are_what_the_program_says():
    pages = module("generate").pages()
    stale = [name for name, text in pages.items() if (DOCS / name).read_text("utf-8") != text]
    assert stale == [], "run python docs/generate.py"
    there = {str(path.relative_to(DOCS)) for path in (DOCS / "methods").glob("*.md")}
    assert there == {name for name in pages if name.startswith("methods/")}


@pytest.mark.parametrize("name", sorted(path.stem for path in (DOCS / "notebooks").glob("*.ipynb")))
def test_stored_notebooks_are_what_their_examples_print(name, folder):
    stored = json.loads((DOCS / "notebooks" / f"{name}.ipynb").read_text("utf-8"))
    found = module("notebooks").notebook(name)
    assert shown(stored) == shown(found), "run python docs/notebooks.py"
    assert any("image/png" in kinds for _, _, kinds, _ in shown(stored))


def shown(notebook):
    """Return of each cell its kind, source, kinds of outputs and text: pictures and HTML change with libraries."""
    parts = []
    for cell in notebook["cells"]:
        given = [output.get("data", {"text/plain": output.get("text")}) for output in cell.get("outputs", ())]
        kinds = [kind for data in given for kind in data]
        parts.append((cell["cell_type"], "".join(cell["source"]), kinds, [data.get("text/plain") for data in given]))
    return parts


FIGURES = DOCS / "methods" / "figures"
# Their fits on yeast take a tenth of a second each.
QUICK = ("hypergraph_spectral", "plst", "cplst", "faie")


def test_figures_of_solvers_are_drawn_from_the_stored_numbers():
    draw = module("draw")
    numbers = draw.stored()
    # All solvers of today, with the settings that they have today.
    assert {name: one["settings"] for name, one in numbers["solvers"].items()} == {
        name: draw.settings(name) for name in SOLVERS
    }
    assert sorted(path.stem for path in FIGURES.glob("*.svg")) == sorted([draw.OVERVIEW, *SOLVERS])
    old = [
        path.stem
        for path in FIGURES.glob("*.svg")
        if f"drawn from {draw.drawn_from(path.stem, numbers)}<" not in path.read_text("utf-8")
    ]
    assert old == [], "run docs/draw.py --again"


@pytest.mark.parametrize("name", QUICK)
def test_stored_numbers_of_figures_are_what_solvers_reach(name):
    draw = module("draw")
    numbers = draw.stored()
    assert numbers["frequency"] == pytest.approx(draw.frequencies(), abs=1e-6)
    assert numbers["solvers"][name]["areas"] == pytest.approx(draw.areas_of(name), abs=1e-3), "run docs/draw.py"


def test_the_page_of_commands_has_them_all():
    listed = (DOCS / "commands.md").read_text("utf-8")
    nested = {f"datasets {command.name}" for command in datasets.registered_commands}
    commands = {command.name for command in app.registered_commands} | nested
    aliases = {"datasets info": "`info NAME`"}
    missing = [name for name in commands if f"`mlrank {name}" not in listed and aliases.get(name, "-") not in listed]
    assert len(commands) > 15
    assert missing == []


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text("utf-8").split()) < 900


def test_commands_that_pages_and_examples_name_are_there():
    names = {command.name for command in app.registered_commands} | {group.name for group in app.registered_groups}
    for path in (*PAGES, *(ROOT / "configs").rglob("*.yaml")):
        named = set(re.findall(r"`mlrank ([a-z][a-z-]*)", path.read_text("utf-8")))
        assert named <= names, path
