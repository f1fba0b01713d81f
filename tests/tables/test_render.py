import csv
import io
import re

import pytest

from mlrank.metrics import METRICS
from mlrank.results import RunFolder
from mlrank.tables import build_tables, render, to_rich, write_tables
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
    assert lines[3:11] == [
        r"\begin{tabular}{lrrlrr}",
        r"\toprule",
        r"method & f1\_macro $\uparrow$ & ranking\_loss $\downarrow$ & chosen settings & fit & certificate \\",
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
    records.append({**records[0], "method": "[x]"})
    text = render(build_tables(records, SHOWN), "latex")
    escaped = latex(HOSTILE)
    assert text.count(escaped) == 5  # the caption twice, the row, two notes
    known = {"begin", "end", "centering", "caption", "toprule", "midrule", "bottomrule", "smallskip", "par"}
    known |= {"footnotesize", "linewidth", "pm", "dagger", "uparrow", "downarrow", "textbf", "textbackslash"}
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
    assert float(row["f1_macro_mean"]) == table.rows[0].cells[0].mean
    assert float(row["f1_macro_std"]) == table.rows[0].cells[0].std
    assert row["f1_macro_n"] == "2"
    assert row["chosen_settings"] == "C=8 (1 of 2)"
    assert (row["fit_seconds"], row["optimality"], row["stand_in"]) == ("0.25", "0.00081", "false")


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
    with pytest.raises(ValueError, match="unknown format of a table 'html'"):
        render(table, "html")


def test_fewer_decimals(table):
    assert "**0.20 ± 0.00**" in render(table, "md", decimals=2)


@pytest.mark.parametrize(("gap", "shown"), [(0.0, "0"), (8.13e-4, "8.1e-4"), (1.0, "1.0e0"), (9.96e-11, "1.0e-10")])
def test_certificates_are_short(make, gap, shown):
    (table,) = build_tables([make(info={"optimality": gap})], SHOWN)
    assert cells(render(table, "md").splitlines()[4])[-1] == shown


@pytest.mark.parametrize(("seconds", "shown"), [(0.00123, "0.0012 s"), (12.34, "12 s"), (1234.5, "1234 s")])
def test_times_are_short(make, seconds, shown):
    (table,) = build_tables([make(time={"fit": seconds})], SHOWN)
    assert cells(render(table, "md").splitlines()[4])[-2] == shown


def on_a_terminal(table, width):
    from rich.console import Console

    buffer = io.StringIO()
    Console(file=buffer, width=width, color_system="standard", force_terminal=True).print(to_rich(table))
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


def test_names_are_not_read_as_markup_on_a_terminal(make):
    (table,) = build_tables([make("[red]A[/red]")], SHOWN)
    assert "[red]A[/red]" in on_a_terminal(table, 200)


def test_tables_are_written_beside_the_runs_with_every_metric_in_the_csv(tmp_path, make):
    records = [make("A", dataset={"name": "a/b"}), make("B", dataset={"name": "a/b"})]
    written = write_tables(RunFolder(tmp_path), records, SHOWN)
    assert [str(path.relative_to(tmp_path)) for path in written] == [
        f"tables/a%2Fb.{suffix}" for suffix in ("md", "tex", "csv")
    ]
    (table,) = build_tables(records, SHOWN)
    assert written[0].read_text() == render(table, "md")
    assert written[1].read_text() == render(table, "latex")
    header = written[2].read_text().splitlines()[0].split(",")
    assert [name[:-5] for name in header if name.endswith("_mean")] == list(METRICS)
