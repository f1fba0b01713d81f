import csv
import io
import re
import shutil
import subprocess
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from rich.console import Console

from mlrank.metrics import METRICS
from mlrank.records import RunFolder
from mlrank.tables import GridLayout, arrange, build_tables, render, render_grids, rows_to_rich, to_rich, write_tables
from mlrank.tables.markup import latex, markdown

SHOWN = ["f1_macro", "ranking_loss"]


@pytest.fixture
def table(make):
    records = [
        make("A", "r0", metrics={"f1_macro": 0.5}, searched={"C": 8.0}),
        make("A", "r1", metrics={"f1_macro": 0.7}, searched={"C": 8.0}),
        make("B_1", "r0", metrics={"f1_macro": 0.25}, info={"converged": False}),
        make("B_1", "r1", metrics={"f1_macro": 0.25}, threshold={"oracle": True, "kind": "oracle_size"}),
        make("C", "r0", status="failed", error="ValueError: x"),
        make("C", "r1", status="failed", error="ValueError: x"),
    ]
    (built,) = build_tables(records, SHOWN)
    return built


def cells(line):
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip("|"))]


def test_markdown_holds_every_cell(table):
    lines = render(table, "md").splitlines()
    assert lines[0].startswith("**demo: yeast, 2417 rows")
    assert cells(lines[2]) == ["method", "f1_macro ↑", "ranking_loss ↓", "chosen settings", "fit", "certificate"]
    assert [rule.endswith(":") for rule in cells(lines[3])] == [False, True, True, False, True, True]
    assert cells(lines[4]) == ["A", "0.6000 ± 0.1414", "**0.2000 ± 0.0000**", "C=8", "0.25 s", "8.1e-4"]
    assert cells(lines[5]) == [r"B_1†\*", "0.2500 ± 0.0000", "**0.2000 ± 0.0000**", "-", "0.25 s", "8.1e-4"]
    assert cells(lines[6]) == ["C", "failed", "failed", "-", "-", "-"]
    assert len({len(line) for line in lines[2:7]}) == 1
    assert lines[8:] == [f"- {markdown(note)}" for note in table.notes]


def test_latex_is_a_booktabs_table_with_every_cell(table):
    lines = render(table, "latex").splitlines()
    assert lines[:2] == [r"\begin{table}", r"\centering"]
    assert lines[2].startswith(r"\caption{demo: yeast, 2417 rows (1500 train, 917 test)")
    assert r"Elisseeff \& Weston}" in lines[2]
    assert lines[3:12] == [
        r"\footnotesize\setlength{\tabcolsep}{3pt}",
        r"\begin{tabular}{@{}lrrlrr@{}}",
        r"\toprule",
        r"method & f1\_macro $\uparrow$ & ranking\_loss $\downarrow$"
        r" & \begin{tabular}[b]{@{}l@{}}chosen \\ settings\end{tabular} & fit & certificate \\",
        r"\midrule",
        r"A & 0.6000 $\pm$ 0.1414 & \textbf{0.2000 $\pm$ 0.0000} & C=8 & 0.25 s & 8.1e-4 \\",
        r"B\_1$^\dagger${*} & 0.2500 $\pm$ 0.0000 & \textbf{0.2000 $\pm$ 0.0000} & - & 0.25 s & 8.1e-4 \\",
        r"C & failed & failed & - & - & - \\",
        r"\bottomrule",
    ]
    assert lines[-2:] == [r"\end{minipage}", r"\end{table}"]
    assert lines.count(r"mean $\pm$ standard deviation over 2 splits (r0, r1)\par") == 1


HOSTILE = r"a_b%c$d&e#f{g}h~i^j\k<l>m|n[o]*p"


def test_latex_escapes_everything_and_nothing_else_is_special(make):
    records = [make(HOSTILE, experiment=HOSTILE, dataset={"name": HOSTILE, "changes": [HOSTILE]})]
    records.append(replace(records[0], method="[x]"))
    text = render(build_tables(records, SHOWN), "latex")
    escaped = latex(HOSTILE)
    assert text.count(escaped) == 4  # the caption twice, the row, a note
    known = {"begin", "end", "centering", "caption", "toprule", "midrule", "bottomrule", "smallskip", "par"}
    known |= {"footnotesize", "linewidth", "pm", "dagger", "uparrow", "downarrow", "textbf", "textbackslash"}
    known |= {"underline", "scriptsize", "setlength", "tabcolsep"}
    known |= {"textasciicircum", "textasciitilde", "textless", "textgreater", "textbar"}
    assert set(re.findall(r"\\([A-Za-z]+)", text)) <= known
    without_commands = re.sub(r"\\(\\|[A-Za-z]+|[{}$&#%_])", "", text)
    assert not set(without_commands) & set("%#_~\\<>|")
    assert without_commands.count("{") == without_commands.count("}")
    rows = [line for line in text.splitlines() if line.endswith(r"\\")]
    assert [len(re.findall(r"(?<!\\)&", row)) for row in rows] == [5, 5, 5]
    assert not any(row.startswith(("[", "*")) for row in rows)


@pytest.mark.parametrize(
    ("plain", "escaped"),
    [
        ("\\", r"\textbackslash{}"),
        ("{}", r"\{\}"),
        ("$5 & 3% #1", r"\$5 \& 3\% \#1"),
        ("x^2~y", r"x\textasciicircum{}2\textasciitilde{}y"),
        ("[1]*", "{[}1]{*}"),
        ("two\nlines", "two lines"),
        ("1 ± 2 †", r"1 $\pm$ 2 $^\dagger$"),
    ],
)
def test_latex_escapes(plain, escaped):
    assert latex(plain) == escaped


@pytest.mark.parametrize(
    ("plain", "escaped"),
    [("a|b", r"a\|b"), ("f1_macro", "f1_macro"), ("_x_", r"\_x\_"), ("*a* <b>", r"\*a\* \<b\>"), ("a\\b", r"a\\b")],
)
def test_markdown_escapes(plain, escaped):
    assert markdown(plain) == escaped


def test_hostile_names_do_not_break_a_markdown_row(make):
    lines = render(build_tables([make("a|b\nc"), make("d")], SHOWN), "md").splitlines()
    assert [len(cells(line)) for line in lines[2:6]] == [6, 6, 6, 6]
    assert cells(lines[4])[0] == r"a\|b c"


def test_csv_has_full_precision_and_columns_apart(make):
    third = 1 / 3
    records = [
        make('say "A", B', "r0", metrics={"f1_macro": third}, searched={"C": 8.0}),
        make('say "A", B', "r1", metrics={"f1_macro": third + 0.1}, searched={"C": 1.0}),
    ]
    (table,) = build_tables(records, SHOWN)
    ((row),) = csv.DictReader(io.StringIO(render(table, "csv")))
    assert row["method"] == 'say "A", B'
    assert float(row["f1_macro_mean"]) == table.rows[0].cells[0].value
    assert float(row["f1_macro_std"]) == table.rows[0].cells[0].std
    assert row["f1_macro_n"] == "2"
    assert row["chosen_settings"] == "C=8 (1 of 2)"
    assert (row["fit_seconds"], row["optimality"], row["stand_in"]) == ("0.25", "0.00081", "false")
    assert row["certificate_kind"] == ""  # the record does not say


def test_csv_leaves_missing_numbers_empty_and_has_one_header(make, table):
    (other,) = build_tables([make("A", experiment="other")], SHOWN)
    text = render([table, other], "csv")
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [row["experiment"] for row in rows] == ["demo", "demo", "demo", "other"]
    failed = rows[2]
    assert (failed["f1_macro_mean"], failed["f1_macro_std"], failed["f1_macro_n"]) == ("", "", "0")
    assert (failed["n_done"], failed["n_failed"], failed["optimality"]) == ("0", "2", "")
    assert rows[3]["f1_macro_std"] == ""
    assert text.count("f1_macro_mean") == 1


def test_csv_of_different_metrics_is_refused(make):
    tables = [*build_tables([make()], ["f1_macro"]), *build_tables([make()], ["f1_micro"])]
    with pytest.raises(ValueError, match="no common CSV header"):
        render(tables, "csv")


def test_an_unknown_format_is_refused(table):
    with pytest.raises(ValueError, match=r"unknown format of a table 'pdf'\. Known: csv, html, json, latex, md"):
        render(table, "pdf")


def test_fewer_decimals(table):
    assert "**0.20 ± 0.00**" in render(table, "md", decimals=2)


@pytest.mark.parametrize(("gap", "shown"), [(0.0, "0"), (8.13e-4, "8.1e-4"), (1.0, "1.0e0"), (9.96e-11, "1.0e-10")])
def test_certificates_are_short(make, gap, shown):
    (table,) = build_tables([make(info={"optimality": gap})], SHOWN)
    assert cells(render(table, "md").splitlines()[4])[-1] == shown


@pytest.mark.parametrize(("seconds", "shown"), [(0.00123, "1.2 ms"), (12.34, "12 s"), (1234.5, "1234 s")])
def test_times_are_short(make, seconds, shown):
    (table,) = build_tables([make(time={"fit": seconds})], SHOWN)
    assert cells(render(table, "md").splitlines()[4])[-2] == shown


def on_a_terminal(table, width):
    from rich.console import Console

    buffer = io.StringIO()
    Console(file=buffer, width=width, color_system="standard", force_terminal=True).print(to_rich(table, width=width))
    return buffer.getvalue()


def test_the_terminal_shows_the_same_cells_with_the_best_in_bold(table):
    text = on_a_terminal(table, 200)
    bare = re.sub(r"\x1b\[[0-9;]*m", "", text)
    assert "\x1b[1m0.2000 ±0.0000\x1b[0m" in text
    assert "\x1b[1m0.6000" not in text
    assert f"\x1b[1m{table.title}\x1b[0m" in text
    row = next(line for line in bare.splitlines() if line.strip().startswith("B_1"))
    assert re.split(r"\s{2,}", row.strip()) == ["B_1†*", "0.2500 ±0.0000", "0.2000 ±0.0000", "-", "0.25 s", "8.1e-4"]
    for note in table.notes:
        assert note in bare


def test_a_narrow_terminal_folds_and_cuts_nothing(table):
    bare = re.sub(r"\x1b\[[0-9;]*m", "", on_a_terminal(table, 60))
    words = bare.split()
    for word in ("f1_", "macro", "ranking_", "B_1†*", "0.6000", "±0.1414", "C=8", "0.25", "8.1e-4"):
        assert word in words
    assert "…" not in bare
    assert max(map(len, bare.splitlines())) <= 60


@pytest.mark.parametrize("width", range(32, 160, 4))
def test_no_heading_and_no_number_is_cut_at_any_width(table, width):
    bare = re.sub(r"\x1b\[[0-9;]*m", "", on_a_terminal(table, width))
    body = bare.split("\n- ")[0]
    words = set(body.replace("_", "_ ").split())
    for word in ("method", "f1_", "macro", "ranking_", "loss", "chosen", "settings", "fit", "certificate"):
        assert word in words or word == "method", word  # which records have no heading for
    for number in ("0.6000", "8.1e-4"):
        assert number in words
    if "──" not in body:  # a line for each column of each row, in the order of the table
        assert re.findall(r"^  ([a-z]\w*)", body, re.MULTILINE)[:2] == ["f1_macro", "ranking_loss"]
        assert width < 60


def test_costs_of_a_column_have_one_unit(make):
    (table,) = build_tables([make("A", time={"fit": 0.33}), make("B", time={"fit": 50.0})], SHOWN)
    assert [cells(line)[-2] for line in render(table, "md").splitlines()[4:6]] == ["0.33 s", "50.00 s"]
    (table,) = build_tables([make("A", time={"fit": 0.0004}), make("B", time={"fit": 0.05})], SHOWN)
    assert [cells(line)[-2] for line in render(table, "md").splitlines()[4:6]] == ["0.40 ms", "50.00 ms"]


def test_names_are_not_read_as_markup_on_a_terminal(make):
    (table,) = build_tables([make("[red]A[/red]")], SHOWN)
    assert "[red]A[/red]" in on_a_terminal(table, 200)


def test_tables_are_written_beside_the_runs_with_every_metric_in_the_csv(tmp_path, make):
    records = [make("A", dataset={"name": "a/b"}), make("B", dataset={"name": "a/b"})]
    folder = RunFolder.create(tmp_path, "demo")
    for record in records:
        folder.write_run(record, {})
    finished = write_tables(folder, SHOWN)
    tmp_path, (table,) = folder.path, finished.tables
    assert (finished.folder, finished.records, [table]) == (folder, records, build_tables(records, SHOWN))
    assert sorted(path.name for path in (tmp_path / "tables").iterdir()) == ["a%2Fb.csv", "a%2Fb.md", "a%2Fb.tex"]
    assert (tmp_path / "tables" / "a%2Fb.md").read_text() == render(table, "md")
    assert (tmp_path / "tables" / "a%2Fb.tex").read_text() == render(table, "latex")
    header = (tmp_path / "tables" / "a%2Fb.csv").read_text().splitlines()[0].split(",")
    assert [name[:-5] for name in header if name.endswith("_mean")] == list(METRICS)


def test_long_headers_and_settings_are_stacked_and_wide_tables_set_smaller(make):
    settings = {"C": 8.0, "lam": 0.001, "nu": 2.0, "gamma": 0.25, "epsilon": 0.1}
    (table,) = build_tables([make("A", searched=settings), make("B")], ["ranking_loss"])
    text = render(table, "latex")
    stack = r"\begin{tabular}[b]{@{}r@{}}ranking\_ \\ loss $\downarrow$\end{tabular}"
    assert f"method & {stack} & chosen settings & fit & certificate" in text
    assert r"\begin{tabular}[t]{@{}l@{}}C=8, lam=0.001, nu=2, \\ gamma=0.25, \\ epsilon=0.1\end{tabular}" in text
    sizes = [_size(render(build_tables([make("A")], list(METRICS)[:count]), "latex")) for count in (1, 3, 12)]
    assert sizes == ["", r"\small", r"\scriptsize"]


def _size(text):
    return next((line.split(r"\set")[0] for line in text.splitlines() if "tabcolsep" in line), "")


class Page(HTMLParser):
    """Checks that tags match, and collects what tables hold."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.rows, self.marks, self.values = [], [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        if tag == "meta":
            return
        self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
            self.values.append(dict(attrs).get("data-value"))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if {"td", "th"} & set(self.open):
            self.rows[-1][-1] += data
        if self.open and self.open[-1] in ("strong", "u"):
            self.marks.append((self.open[-1], data))


def test_html_holds_every_cell_with_its_number(table):
    page = Page(render(table, "html"))
    assert page.rows == [
        ["method", "f1_macro ↑", "ranking_loss ↓", "chosen settings", "fit", "certificate"],
        ["A", "0.6000 ± 0.1414", "0.2000 ± 0.0000", "C=8", "0.25 s", "8.1e-4"],
        ["B_1†*", "0.2500 ± 0.0000", "0.2000 ± 0.0000", "-", "0.25 s", "8.1e-4"],
        ["C", "failed", "failed", "-", "-", "-"],
    ]
    assert [float(value) for value in page.values if value] == [0.6, 0.2, 0.25, 8.1e-4, 0.25, 0.2, 0.25, 8.1e-4]
    assert page.marks == [("strong", "0.2000 ± 0.0000")] * 2


def test_hostile_names_stay_text_in_html(make):
    hostile = """<script>alert("1")</script>&amp;'</table>"""
    records = [make(hostile, experiment=hostile, dataset={"name": hostile, "changes": [hostile]}), make("B")]
    text = render(build_tables(records, SHOWN), "html")
    assert "<script" not in text
    page = Page(text)
    assert page.rows[1][0] == hostile
    assert text.count("alert(&quot;1&quot;)") >= 4  # the page's title, the caption, a row, a note


def test_the_second_is_underlined_in_every_format(make):
    values = {"A": 0.5, "B_x": 0.4, "C": 0.3}
    (table,) = build_tables([make(name, metrics={"f1_macro": value}) for name, value in values.items()], ["f1_macro"])
    assert "<ins>0.4000</ins>" in render(table, "md")
    assert r"\underline{0.4000}" in render(table, "latex")
    assert ("u", "0.4000") in Page(render(table, "html")).marks
    assert "\x1b[4m0.4000\x1b[0m" in on_a_terminal(table, 200)


LATEX = next(filter(None, map(shutil.which, ("pdflatex", "lualatex", "xelatex", "tectonic"))), None)


@pytest.mark.skipif(LATEX is None, reason="no LaTeX engine is installed")
def test_latex_compiles_with_booktabs_alone(tmp_path, make, table):
    hostile = [
        make(HOSTILE, experiment=HOSTILE, dataset={"name": HOSTILE, "changes": [HOSTILE, "± † ‡ ↑ ↓"]}),
        make("[x]"),
    ]
    parts = [render([table, *build_tables(hostile, SHOWN)], "latex")]
    parts.append(render_grids(arrange(hostile, SHOWN, GridLayout.of(by="metric")), "latex"))
    document = "\n".join(
        [r"\documentclass{article}", r"\usepackage{booktabs}", r"\begin{document}", *parts, r"\end{document}"]
    )
    (tmp_path / "tables.tex").write_text(document)
    flags = [] if "tectonic" in LATEX else ["-interaction=nonstopmode", "-halt-on-error"]
    done = subprocess.run([LATEX, *flags, "tables.tex"], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout[-3000:]
    assert "Overfull" not in done.stdout.partition("lines")[0]
    assert (tmp_path / "tables.pdf").stat().st_size > 1000


FOUR = ["f1_macro", "f1_micro", "auc_macro", "ranking_loss"]


def _crowd(make):
    """Return two data sets with 60 methods, each with a spread in four metrics and long settings."""
    searched = {"lam": 0.001, "svm_C": 0.125, "gamma": 0.0125, "n_components": 0.25}
    methods = [f"lsHG_cca(lam) {number}" for number in range(60)]
    return [
        make(method, split, dataset={"name": name}, searched=searched)
        for name in ("one", "two")
        for method in methods
        for split in ("r0", "r1")
    ]


def test_what_is_too_wide_or_too_long_goes_into_several_tables(make):
    crowd = _crowd(make)
    text = render_grids(arrange(crowd, FOUR, GridLayout.of(by="metric", rows="dataset")), "latex")
    parts = text.split(r"\begin{table}")[1:]
    n = int(re.search(r"part 1 of (\d+)\)", parts[0])[1])
    assert len(parts) == 4 * n
    # every method once for each metric, every row with its name in each part, notes below the last alone
    for method in range(60):
        assert len(re.findall(rf"lsHG\\_cca\(lam\) (?:\\\\ )?{method}(?!\d)", text)) >= 4
    assert all(part.count("\none & ") == part.count("\ntwo & ") == 1 for part in parts)
    assert [r"\footnotesize" in part for part in parts] == ([False] * (n - 1) + [True]) * 4
    rows = re.findall(r"^lsHG.*", render(build_tables(crowd[:120], ["f1_macro"]), "latex"), flags=re.MULTILINE)
    assert len(rows) == 60


@pytest.mark.skipif(LATEX is None, reason="no LaTeX engine is installed")
@pytest.mark.parametrize(
    "layout", [GridLayout.of(), GridLayout.of(by="metric", rows="dataset"), GridLayout.of(rows="metric")]
)
def test_crowded_tables_fit_their_pages(tmp_path, make, layout):
    text = render_grids(arrange(_crowd(make), FOUR, layout), "latex")
    head, tail = r"\documentclass{article}\usepackage{booktabs}\begin{document}", r"\end{document}"
    # Floats are put out as they come: LaTeX keeps only so many waiting.
    text = text.replace(r"\end{table}", "\\end{table}\n\\clearpage")
    (tmp_path / "t.tex").write_text(f"{head}\n{text}\n{tail}")
    done = subprocess.run([LATEX, "-interaction=batchmode", "t.tex"], cwd=tmp_path, capture_output=True, timeout=120)
    assert done.returncode == 0
    log = (tmp_path / "t.log").read_text("latin-1")
    assert "Overfull" not in log
    assert "too large" not in log


@pytest.mark.parametrize(
    ("kind", "shown"), [("gap", "3.2e-4 gap"), ("backward error", "3.2e-4 backward error"), (None, "3.2e-4")]
)
def test_the_kind_of_a_certificate_is_shown_beside_it(make, kind, shown):
    (table,) = build_tables([make(info={"optimality": 3.2e-4, "certificate": kind})], SHOWN)
    ((row),) = csv.DictReader(io.StringIO(render(table, "csv")))
    assert row["certificate_kind"] == (kind or "")
    assert cells(render(table, "md").splitlines()[4])[-1] == shown


@pytest.mark.parametrize("width", [40, 60])
def test_the_name_of_a_column_is_never_cut_inside_a_word(width):
    name = "expected_calibration_error ↓"
    header = ("method", *[name] * 5, "lrap ↑")
    console = Console(file=io.StringIO(), width=width, color_system=None)
    for part in rows_to_rich(header, [[("A", ""), *[("0.1234", "")] * 6]], "lrrrrrr", width):
        console.print(part)
    # How many blanks part columns is up to rich, and was more in its older versions.
    lines = [re.split(r"\s{2,}", line.strip()) for line in console.file.getvalue().splitlines()]
    assert lines == [["A"], *[[name, "0.1234"]] * 5, ["lrap ↑", "0.1234"]]
