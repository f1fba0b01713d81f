"""The pages: paper and ours in one cell, marks that agree with the verdicts, and counts that add up."""

import re

import numpy as np

from mlrank.recipes import CELL_VERDICTS, compare
from mlrank.recipes.page import CELL_MARKS, cells_in_words, comparison_page
from mlrank.recipes.summary import TableOutcome, render_summary
from mlrank.tables.markup import markdown


def made(recipe, over_splits, place=1, **settings):
    records = over_splits({"A": {"f1_macro": 0.515, "ranking_loss": 0.3}, "B": {"f1_macro": 0.625}}, **settings)
    return compare(recipe, recipe.data[place], records)


def cells_of(page):
    rows = [line for line in page.splitlines() if re.match(r"\| [AB]  ", line)]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]


def test_paper_and_ours_share_a_cell_with_the_mark_of_the_verdict(recipe, over_splits):
    comparison = made(recipe, over_splits)
    page = comparison_page(comparison)
    shown = {cell.verdict for cell in comparison.cells}
    assert shown == {"matches", "close", "differs"}
    # The paper prints three decimals at most.
    assert cells_of(page)[:2] == [
        ["A", ".500 / .515 ≈", ".200 / .300 ✗"],
        ["B", ".625 / .625 ✓", ""],
    ]
    assert "The paper's number / ours: ✓ matches, ≈ close, ✗ differs." in page
    assert CELL_MARKS.keys() == CELL_VERDICTS.keys()


def test_the_verdict_comes_first_in_three_lines(recipe, over_splits):
    lines = comparison_page(made(recipe, over_splits)).splitlines()
    assert lines[0] == "# tiny: Table 9"
    assert lines[2:7] == [
        "Somebody, 2000",
        "",
        "**Numbers:** 2 of 3 are recovered (1 matches, 1 is close, 1 differs).  ",
        "**Claims:** 1 is undecided.  ",
        "**Data:** real, same data and split, 4 splits: the files of the paper.",
    ]


def test_all_else_is_folded_once(recipe, over_splits):
    comparison = made(recipe, over_splits)
    page = comparison_page(comparison)
    open_part, *parts = page.split("<details>")
    assert len(parts) == page.count("</details>") == 4
    assert "A 0.5150" not in open_part
    assert all("\n\n" in part for part in parts)  # Markdown inside needs an empty line before it
    for cell in comparison.cells:
        assert page.count(markdown(cell.reason)) == sum(cell.reason == other.reason for other in comparison.cells)
    assert page.count("nothing was left open") == 1


def test_stand_in_data_have_no_marks(recipe, over_splits):
    page = comparison_page(made(recipe, over_splits, 2, dataset="fake", stand_in=True))
    assert not set("✓≈✗!") & set(page)
    assert "**Numbers:** none is comparable.  " in page


def test_the_summary_opens_with_a_row_for_each_paper(recipe, over_splits):
    """Counts are those of the cells: 1 match, 1 close and 1 different, twice for the first paper."""
    first = made(recipe, over_splits)
    outcomes = [
        TableOutcome("tiny", paper, "Table 9", "tiny.md", first)
        for paper in (
            "One and Two, A title, with a comma, KDD 2008",
            "One and Two, A title, with a comma, KDD 2008",
            "Three",
        )
    ]
    page = render_summary(outcomes)
    rows = [line for line in page.splitlines() if line.startswith("| ") and "--" not in line][:4]
    counts = [[cell.strip(" *") for cell in row.strip("|").split("|")] for row in rows]
    assert counts[0][:5] == ["paper", "matches ✓", "close ≈", "differs ✗", "not attainable as named !"]
    assert [row[:5] for row in counts[1:]] == [
        ["One and Two, KDD 2008", "2", "2", "2", "0"],
        ["Three", "1", "1", "1", "0"],
        ["all", "3", "3", "3", "0"],
    ]
    undecided = counts[0].index("undecided ?")
    assert [row[undecided] for row in counts[1:]] == ["2", "1", "3"]
    assert page.index("| paper") < page.index("## One")
    assert np.sum([int(row[1]) for row in counts[1:3]]) == int(counts[3][1])


def test_verdicts_are_counted_in_words(recipe, over_splits):
    assert cells_in_words(made(recipe, over_splits).cells[:1] * 2) == "2 are close"
