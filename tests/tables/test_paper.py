"""Tables for papers: chosen rows and columns, names for readers, mean ranks, captions and labels."""

import re
import shutil
import subprocess

import pytest

from mlrank.errors import UserError
from mlrank.stats import compare_splits, gather
from mlrank.tables.arrange import Grid, GridLayout, Shown, arrange
from mlrank.tables.paper import PaperOptions, for_paper
from mlrank.tables.render import render_grids
from mlrank.tables.significance import with_marks


def grid(header=("method", "f1_macro ↑", "ranking_loss ↓", "chosen settings", "fit", "certificate")):
    def row(name, first, second):
        cells = [Shown(f"{value:.2f}", value=value) for value in (first, second)]
        return (Shown(name), *cells, Shown("C=1"), Shown("1 s", value=1.0), Shown("-"))

    rows = (row("A†", 0.5, 0.2), row("B", 0.7, 0.1), row("C", 0.5, 0.3))
    return Grid("e: yeast", header, "lrrlrr", rows, ("a note",))


def test_columns_and_methods_in_the_order_asked_for():
    found = for_paper(grid(), PaperOptions(columns=("certificate", "f1_macro"), methods=("C", "A")))
    assert found.header == ("method", "certificate", "f1_macro ↑")
    assert found.sides == "lrr"
    assert [[cell.text for cell in row] for row in found.rows] == [["C", "-", "0.50"], ["A†", "-", "0.50"]]
    with pytest.raises(UserError, match=r"unknown method of the table 'D'\."):
        for_paper(grid(), PaperOptions(methods=("A", "D")))
    with pytest.raises(UserError, match=r"unknown column of the table 'f1_macr'. Did you mean 'f1_macro'"):
        for_paper(grid(), PaperOptions(columns=("f1_macr",)))


def test_mean_ranks_of_rows():
    # f1_macro: B 1, A and C 2.5; ranking_loss, where less is better: B 1, A 2, C 3.
    found = for_paper(grid(), PaperOptions(ranks=True))
    assert found.header[-1] == "mean rank"
    assert [row[-1].text for row in found.rows] == ["2.25", "1.00", "2.75"]
    assert [row[-1].best for row in found.rows] == [False, True, False]
    assert [row[-1].second for row in found.rows] == [True, False, False]


def test_mean_ranks_of_columns_over_data_sets_and_over_metrics():
    def cells(*values):
        return tuple(Shown("-" if value is None else str(value), value=value) for value in values)

    rows = ((Shown("yeast"), *cells(0.2, 0.1)), (Shown("scene"), *cells(0.4, 0.5)), (Shown("birds"), *cells(None, 0.1)))
    over = Grid("e: ranking_loss ↓", ("dataset", "A", "B"), "lrr", rows, ())
    assert [cell.text for cell in for_paper(over, PaperOptions(ranks=True)).rows[-1]] == ["mean rank", "1.50", "1.50"]
    rows = ((Shown("f1_macro ↑"), *cells(0.2, 0.1)), (Shown("ranking_loss ↓"), *cells(0.4, 0.5)))
    turned = Grid("e: yeast", ("metric", "A", "B"), "lrr", rows, ())
    assert [cell.text for cell in for_paper(turned, PaperOptions(ranks=True)).rows[-1]] == ["mean rank", "1.00", "2.00"]
    assert for_paper(turned, PaperOptions(methods=("B",))).header == ("metric", "B")


def test_names_caption_label_and_notes_in_latex():
    titles = {"A": "Ours & co", "f1_macro": "Macro-F1"}
    options = PaperOptions(("f1_macro",), None, titles, False, False, "Results_1", "tab:one", True)
    text = render_grids([for_paper(grid(), options)], "latex")
    assert r"\begin{table*}" in text
    assert text.rstrip().endswith(r"\end{table*}")
    assert "\\caption{Results\\_1}\n\\label{tab:one}" in text
    assert r"method & Macro-F1 $\uparrow$ \\" in text
    assert r"Ours \& co$^\dagger$ & 0.50 \\" in text
    assert "a note" not in text
    plain = render_grids([for_paper(grid(), PaperOptions())], "latex")
    assert r"\label" not in plain
    assert "a note" in plain


def repeated(make):
    """Three methods on five splits: B is the best, A a little below on each split, C now and then above."""
    noise = [0.0, 0.01, -0.01, 0.02, -0.02]
    values = {"A": [0.5 + n for n in noise], "B": [0.6 + n / 2 for n in noise], "C": [0.59, 0.62, 0.585, 0.6, 0.6]}
    return [
        make(method, f"r{i}", metrics={"f1_macro": value, "ranking_loss": 1 - value})
        for method, found in values.items()
        for i, value in enumerate(found)
    ]


def test_marks_are_those_of_the_test_of_compare(make):
    records = repeated(make)
    (repeats,), _ = gather(records, "f1_macro")
    for against, control in ((None, "B"), ("A", "A")):
        over = compare_splits(repeats, control=against)
        assert over.control == control
        differ = {
            ({pair.first, pair.second} - {control}).pop()
            for pair in over.pairs
            if control in (pair.first, pair.second) and pair.p_holm <= 0.05
        }
        assert differ == ({"A"} if control == "B" else {"B", "C"})  # so that the case shows something
        for layout in (GridLayout(), GridLayout.of(cols="dataset"), GridLayout.of(cols="method")):
            grids = arrange(records, ["f1_macro", "ranking_loss"], layout)
            marked = with_marks(grids, records, layout, against)
            sign = "•" if control == "B" else "◦"  # of a loss too: marks say better and worse, not more and less
            found = [cell.text for grid in marked for row in grid.rows for cell in row if cell.text.endswith(sign)]
            assert len(found) == 2 * len(differ), layout
            assert "over the splits at 0.05" in marked[0].notes[0]
    first = with_marks(arrange(records, ["f1_macro"], GridLayout()), records, GridLayout(), None)[0]
    assert [row[1].text.endswith("•") for row in first.rows] == [True, False, False]


def test_one_split_has_no_marks_and_an_unknown_method_is_refused(make):
    records = [make("A"), make("B", metrics={"f1_macro": 0.9})]
    grids = arrange(records, ["f1_macro"], GridLayout())
    (marked,) = with_marks(grids, records, GridLayout(), None)
    assert marked.rows == grids[0].rows
    with pytest.raises(UserError, match="unknown method 'C'"):
        with_marks(grids, records, GridLayout(), "C")
    with pytest.raises(UserError, match="marks compare methods"):
        with_marks(grids, records, GridLayout.of(by="method"), None)


def test_siunitx_aligns_columns_of_numbers_alone(make):
    records = repeated(make)
    grids = with_marks(arrange(records, ["f1_macro"], GridLayout(), 3), records, GridLayout(), None)
    text = render_grids([for_paper(grids[0], PaperOptions(columns=("f1_macro", "settings"), siunitx=True))], "latex")
    assert r"S[table-format=1.3(4), table-space-text-post={$^\bullet$}, detect-all" in text
    assert r"{f1\_macro $\uparrow$}" in text
    assert r"A & 0.500 \pm 0.016 {$^\bullet$} & - \\" in text
    assert r"B & \bfseries 0.600 \pm 0.008 & - \\" in text


COLUMNS = ("f1_macro", "f1_micro", "auc_macro", "ranking_loss", "hamming_loss")


def four_by_five(make, **more):
    """Return LaTeX of four methods and five metrics, under their own names."""
    records = [make(name, metrics={"hamming_loss": 0.25}) for name in ("Binary-SVM", "Rank-SVM", "Rank-HLapSVM", "D")]
    (grid,) = arrange(records, COLUMNS, GridLayout(), 4)
    return render_grids([for_paper(grid, PaperOptions(COLUMNS, notes=False, caption="Results", **more))], "latex")


def test_four_methods_and_five_metrics_are_one_narrow_table(make):
    text = four_by_five(make, narrow=True)
    assert text.count(r"\begin{table}") == 1
    assert r"\scriptsize" in text
    assert r"\scriptsize" not in four_by_five(make)
    with pytest.raises(UserError, match="'wide', over both columns"):
        for_paper(grid(), PaperOptions(wide=True, narrow=True))


def whole_table(make, wide):
    """Return LaTeX of all columns of a table, with its notes."""
    records = [make(name, searched={"C": 1.0, "lam": 0.001, "nu": 0.5}) for name in ("Binary-SVM", "Rank-HLapSVM")]
    return render_grids(
        [for_paper(arrange(records, COLUMNS[: 4 + wide], GridLayout())[0], PaperOptions(wide=wide))], "latex"
    )


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no LaTeX is installed")
@pytest.mark.parametrize(
    ("head", "options", "frame"),
    [
        (r"\documentclass{article}", {}, "{}"),
        (r"\documentclass[twocolumn]{article}", {"narrow": True}, "{}"),
        (r"\documentclass{beamer}", {}, r"\begin{{frame}}{{Results}}{}\end{{frame}}"),
    ],
    ids=["article", "two columns", "beamer"],
)
def test_nothing_is_overfull(make, tmp_path, head, options, frame):
    if subprocess.run(["kpsewhich", "beamer.cls", "booktabs.sty", "siunitx.sty"], capture_output=True).returncode:
        pytest.skip("this LaTeX lacks beamer, booktabs or siunitx")
    tables = [four_by_five(make, **options), four_by_five(make, siunitx=True, **options)]
    if "beamer" in head:
        tables.append(four_by_five(make, narrow=True))
    else:
        tables.append(whole_table(make, "twocolumn" in head))
    assert all(len(re.findall(r"\\begin\{table\*?\}", table)) == 1 for table in tables)
    body = "\n".join(frame.format(table) for table in tables)
    text = f"{head}\\usepackage{{booktabs,siunitx}}\\begin{{document}}\n{body}\n\\end{{document}}"
    (tmp_path / "t.tex").write_text(text, encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "t.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, errors="replace", check=True)
    assert re.findall(r"^(?:Overfull.*|! .*|.*too large.*)", done.stdout, re.MULTILINE) == []
