"""The report of an experiment: whole, escaped, without a network, small, and alive in a browser."""

import functools
import re
import shutil
import subprocess
from html.parser import HTMLParser

import pytest
from typer.testing import CliRunner

import mlrank.report.drawings
from mlrank.cli import app
from mlrank.cli.report import page_so_far, progress_of
from mlrank.errors import UserError
from mlrank.experiment import run
from mlrank.plots import Material
from mlrank.records import RunFolder, WorkLocks
from mlrank.report import LIMIT_BYTES, ReportInput, render_report
from mlrank.report.drawings import drawings, inline
from mlrank.report.grids import matrix
from tests.experiment.small import small_config
from tests.stats.records import arrays, names, record, table

VOID = {"meta", "link", "br", "hr", "img", "input"}
HOSTILE = """<script>alert('1')</script>"&amp;</table>{{ 7 * 7 }}"""


class Page(HTMLParser):
    """Checks that tags match; collects text by section, tables, ids, and what the page would load."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.ids, self.loads, self.tables, self.sections = [], [], [], [], {}
        self.section = ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.loads += [found[name] for name in ("src", "href", "xlink:href", "action", "data") if name in found]
        if "id" in found:
            self.ids.append(found["id"])
        if tag == "section":
            self.section = found["id"]
        if tag == "table":
            self.tables.append([])
        if tag == "tr":
            self.tables[-1].append([])
        if tag in ("td", "th"):
            self.tables[-1][-1].append("")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if {"td", "th"} & set(self.open):
            self.tables[-1][-1][-1] += data
        self.sections[self.section] = self.sections.get(self.section, "") + data


@pytest.fixture(scope="module", autouse=True)
def equal_figures_are_drawn_once():
    """That they are equal files has a test of its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("mlrank.report.drawings.render", functools.cache(mlrank.report.drawings.render))
        yield


def made(records, **changes):
    given = Material(records, ["f1_macro"], [], lambda found: arrays(len(found.method)), names)
    parts = {
        "name": "demo",
        "records": records,
        "n_planned": len(records),
        "config": "name: demo\n",
        "material": given,
        "version": "0.0.0",
        "metrics": ["f1_macro"],
    }
    return render_report(ReportInput(**{**parts, **changes}))


RECORDS = [
    *table({"A": {"x": [0.5, 0.6]}, "B": {"x": [0.4, 0.55]}}),
    record("C", "x", "r0", 0.3, searched={"C": 8.0}, info={"converged": False, "notes": ["slow"]}),
    record("C", "x", "r1", None, error="Traceback:\n  line 3\nValueError: <too small>"),
]


@pytest.fixture(scope="module")
def page_of_records():
    """The page of RECORDS, of which eight were planned."""
    return made(RECORDS, n_planned=8)


def test_everything_that_the_folder_tells_is_on_the_page(page_of_records):
    page = Page(page_of_records)
    said = page.sections
    assert "5 done of 8 planned, 1 failed" in said["summary"]
    assert page.tables[0] == [
        ["method", "x", "mean rank"],
        ["A", "0.5500 (1)", "1.00"],
        ["B", "0.4750 (2)", "2.00"],
        ["C", "0.3000 (3)", "3.00"],
    ]
    assert "1 of 5" in said["summary"]
    assert "mean ± standard deviation over 2 splits" in said["tables"]
    assert "On x, f1_macro" in said["comparisons"]
    assert "only the 1 of 2 splits on which every method has f1_macro" in said["comparisons"]
    assert "x / r1 / C: ValueError: <too small>" in said["failures"]
    assert "line 3" in said["failures"]
    assert " ".join(said["environment"].split()).startswith("Environment Python3.11.7 mlrank0.1.0 numpy2.0.0")
    assert "name: demo" in said["configuration"]
    assert "learning: no learning curve" in said["figures"]


def test_tables_of_runs_have_a_row_for_each(page_of_records):
    settings, certificates = Page(page_of_records).tables[-2:]
    assert settings[5][:4] == ["C", "x", "r0", "C=8"]
    assert len(settings) == 1 + 6
    assert certificates[5] == ["C", "x", "r0", "no †", "1.0e-04", "3", "1", "0.5", "slow"]
    assert len(certificates) == 1 + 5  # the failed run has none


def test_nothing_is_loaded_and_no_id_is_used_twice(page_of_records):
    text = page_of_records
    page = Page(text)
    assert len(page.ids) == len(set(page.ids))
    assert all(load.startswith(("#", "data:")) for load in page.loads)
    assert all(load[1:] in page.ids for load in page.loads if load.startswith("#"))
    assert set(re.findall(r"url\(#([^)]+)\)", text)) <= set(page.ids)
    assert not re.search(r"@import|url\((?!#)|fetch\(|XMLHttp", text)


def test_hostile_names_stay_text_everywhere():
    kinds = {
        "time": {"machine": HOSTILE},
        "solver": HOSTILE,
        "experiment": HOSTILE,
        "info": {"notes": [HOSTILE]},
        "settings": {"C": HOSTILE},
    }
    records = [
        *(record(HOSTILE + name, HOSTILE, "r0", 0.5, dataset={"source": HOSTILE}, **kinds) for name in "AB"),
        record("C", HOSTILE, HOSTILE, None, error=HOSTILE, experiment=HOSTILE),
    ]
    text = made(records, name=HOSTILE, config=HOSTILE)
    page = Page(text)
    assert text.count("<script") == 1
    assert "{{ 7 * 7 }}" in page.sections["configuration"]
    for section in ("tables", "settings", "certificates", "failures", "environment", "configuration", "comparisons"):
        assert HOSTILE in page.sections[section], section


def test_generated_data_are_warned_of_at_the_top(page_of_records):
    records = table({"A": {"x": [0.5]}, "B": {"x": [0.4]}}, dataset={"stand_in": True})
    assert "Stand-in data, generated: x." in Page(made(records)).sections["summary"]
    assert "Stand-in" not in Page(page_of_records).sections["summary"]


def test_one_method_has_no_comparison_and_that_is_said():
    said = Page(made(table({"A": {"x": [0.5]}}))).sections["comparisons"]
    assert "no comparison: a comparison in f1_macro needs two methods with values, found 1" in said


def test_figures_that_do_not_fit_are_left_out_and_said():
    given = Material(RECORDS, ["f1_macro"], [], lambda found: arrays(len(found.method)), names)
    everything, _ = drawings(given, 10**8)
    sizes = [len(drawing.svg) for drawing in everything]
    some, said = drawings(given, sum(sizes) - 1)
    assert len(some) == len(everything) - 1
    assert any("too large for this page, 'mlrank plot RESULTS" in line for line in said)
    assert sum(len(drawing.svg) for drawing in some) < sum(sizes)


def test_svg_inside_a_page_adapts_and_has_ids_of_its_own():
    svg = '<?xml version="1.0"?>\n<svg width="100pt" height="50pt" viewBox="0 0 100 50"><metadata>m</metadata>'
    svg += '<defs><clipPath id="c"/></defs><g id="g" clip-path="url(#c)"><use xlink:href="#g"/></g></svg>'
    assert inline(svg, 3) == (
        '<svg viewBox="0 0 100 50" role="img" style="min-width:70pt"><defs><clipPath id="f3-c"/></defs>'
        '<g id="f3-g" clip-path="url(#f3-c)"><use xlink:href="#f3-g"/></g></svg>'
    )


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    path = tmp_path_factory.mktemp("report")
    folder = run(small_config(path), path / "results").path
    result = CliRunner().invoke(app, ["report", str(folder)])
    assert result.exit_code == 0, result.output
    assert f"written to {folder / 'report.html'}" in result.stdout
    return folder / "report.html"


def test_the_command_writes_one_small_file(written):
    assert 10_000 < written.stat().st_size < LIMIT_BYTES
    page = Page(written.read_text())
    assert "2 done of 2 planned" in page.sections["summary"]
    assert "binary_svm" in page.sections["configuration"]


def test_a_metric_that_is_none_is_told(written):
    result = CliRunner().invoke(app, ["report", str(written.parent), "--metric", "f1"])
    assert isinstance(result.exception, UserError)
    assert "unknown metric 'f1'" in str(result.exception)


CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)
CLICKS = """<script>
const told = [];
const column = (table, place) => [...table.tBodies[0].rows].map((row) => row.cells[place].textContent);
const table = document.querySelector("#certificates table"), heads = table.querySelectorAll("thead th");
for (const [place, times] of [[5, 1], [5, 2], [0, 1], [0, 2]]) {
  heads[0].removeAttribute("aria-sort"); heads[5].removeAttribute("aria-sort");
  for (let i = 0; i < times; i++) heads[place].querySelector("button").click();
  told.push(heads[place].getAttribute("aria-sort") + " " + column(table, place).join(" "));
}
heads[5].querySelector("button").focus();
told.push("key " + (document.activeElement === heads[5].querySelector("button")));
const matrices = [...document.querySelectorAll(".matrix")];
const shown = () => matrices.filter((one) => !one.hidden).map((one) => one.id).join(" ");
told.push(shown());
metric.value = "matrix-1";
metric.dispatchEvent(new Event("change"));
told.push(shown());
told.push("width " + (document.documentElement.scrollWidth <= window.innerWidth));
const note = document.createElement("pre");
note.id = "told";
note.textContent = told.join("\\n");
document.body.append(note);
</script>"""


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")
def test_in_a_browser_tables_sort_and_nothing_is_wrong(tmp_path):
    numbers = {"A": 7, "B": 100, "C": 20}
    records = [record(name, "x", "r0", 0.5, info={"n_iter": n}) for name, n in numbers.items()]
    page = tmp_path / "page.html"
    page.write_text(made(records, metrics=["f1_macro", "f1_macro"]).replace("</body>", f"{CLICKS}</body>"))
    command = [
        CHROMIUM,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--window-size=390,800",
        "--enable-logging=stderr",
    ]
    command += [f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom", page.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "CONSOLE" not in done.stderr, done.stderr
    told = re.search(r'<pre id="told">([^<]*)</pre>', done.stdout).group(1).splitlines()
    assert told == [
        "ascending 7 20 100",
        "descending 100 20 7",
        "ascending A B C",
        "descending C B A",
        "key true",
        "matrix-0",
        "matrix-1",
        "width true",
    ]


def test_ranks_are_over_the_data_sets_that_rank_all_methods():
    records = table({"A": {"x": [0.5], "y": [0.2]}, "B": {"x": [0.5], "y": [0.4]}, "C": {"x": [0.9]}})
    grid = matrix(records, "f1_macro")
    assert grid.header == ("method", "x", "y", "mean rank")
    assert [[cell.text for cell in row] for row in grid.rows] == [
        ["A", "0.5000 (2.5)", "0.2000 (2)", "2.50"],
        ["B", "0.5000 (2.5)", "0.4000 (1)", "2.50"],
        ["C", "0.9000 (1)", "-", "1.00"],
    ]
    # Where less is better, the smallest is first.
    losses = [record(name, "x", "r0", value, "ranking_loss") for name, value in (("A", 0.1), ("B", 0.2))]
    assert [row[1].text for row in matrix(losses, "ranking_loss").rows] == ["0.1000 (1)", "0.2000 (2)"]


def test_a_run_that_goes_on_is_followed(written, tmp_path, monkeypatch):
    folder = RunFolder.open(written.parent)
    before = folder.planned_keys()
    monkeypatch.setattr(RunFolder, "planned_keys", lambda self: [*before, "one that is missing"])
    so_far = progress_of(folder)
    assert so_far[:2] == (2, 3)
    assert so_far.fits == len(folder.journal.read())
    text = page_so_far(folder, so_far._replace(failures={"ValueError: no": 4}), None)
    page = Page(text)
    assert "No fit is under way: 2 of 3 runs are done" in " ".join(page.sections["summary"].split())
    with WorkLocks(folder.path / "claims") as locks:
        assert locks.take("a fit")
        text = page_so_far(folder, progress_of(folder)._replace(failures={"ValueError: no": 4}), None)
    page = Page(text)
    assert "Running: 2 of 3 runs are done" in " ".join(page.sections["summary"].split())
    assert "4 failed: ValueError: no" in page.sections["summary"]
    assert "location.reload()" in text
    # It ends by itself, and the page at the end follows nothing.
    looks = []

    def sleep(seconds):
        looks.append((tmp_path / "page.html").read_text())
        if len(looks) == 2:
            monkeypatch.setattr(RunFolder, "planned_keys", lambda self: before)

    monkeypatch.setattr("time.sleep", sleep)
    result = CliRunner().invoke(app, ["report", str(folder.path), "--watch", "--out", str(tmp_path / "page.html")])
    assert result.exit_code == 0, result.output
    assert len(looks) == 2
    assert all("No fit is under way: 2 of 3" in look for look in looks)
    assert "under way" not in (tmp_path / "page.html").read_text()


def test_a_run_that_has_not_begun_is_awaited(written, tmp_path, monkeypatch):
    run, page = tmp_path / "results" / "mine", tmp_path / "page.html"
    looks = []

    def sleep(seconds):
        looks.append(seconds)
        if len(looks) == 1:  # as a run writes it first
            run.mkdir(parents=True)
            shutil.copy(written.parent / "format.json", run)
        elif len(looks) == 2:
            shutil.copytree(written.parent, run, dirs_exist_ok=True)

    monkeypatch.setattr("time.sleep", sleep)
    result = CliRunner().invoke(app, ["report", str(run), "--watch", "--out", str(page)])
    assert result.exit_code == 0, result.output
    assert len(looks) == 2
    first, last = result.output.splitlines()
    assert first == f"{run}: no run has begun there; waiting for one, Ctrl-C ends this"
    assert last == f"written to {page}"


def test_waiting_for_a_run_ends_plainly(tmp_path, monkeypatch):
    def interrupt(seconds):
        raise KeyboardInterrupt

    monkeypatch.setattr("time.sleep", interrupt)
    result = CliRunner().invoke(app, ["report", str(tmp_path / "mine"), "--watch"])
    assert (result.exit_code, len(result.output.splitlines())) == (0, 1)
    # What will never be a run's folder is refused: a file, and a folder of other things.
    (tmp_path / "notes").write_text("x")
    for path in (tmp_path / "notes", tmp_path):
        result = CliRunner().invoke(app, ["report", str(path), "--watch"])
        assert result.exit_code == 1
        assert isinstance(result.exception, UserError)
