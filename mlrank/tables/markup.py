"""Escaping for Markdown, LaTeX and HTML, and the frames of tables in them."""

import re
from collections.abc import Sequence
from html import escape
from typing import NamedTuple

__all__ = ["html", "html_page", "html_table", "latex", "latex_table", "markdown", "markdown_table"]

_LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    # Right after the end of a row, a bracket or a star would be read as an argument of the line break.
    "[": "{[}",
    "*": "{*}",
    "±": r"$\pm$",
    "†": r"$^\dagger$",
    "‡": r"$^\ddagger$",
    "•": r"$^\bullet$",
    "◦": r"$^\circ$",
    "↑": r"$\uparrow$",
    "↓": r"$\downarrow$",
    "λ": r"$\lambda$",
}


def latex(text: str) -> str:
    r"""Return `text` so that LaTeX prints it as it is.

    >>> print(latex("50% of f1_micro ± 2"))
    50\% of f1\_micro $\pm$ 2
    """
    escaped = "".join(_LATEX.get(character, character) for character in _one_line(text))
    return escaped.replace(r"\textasciicircum{}$\lambda$", r"$^\lambda$")


# Bold digits stay bold, and a spread stands behind its number.
_ALIGNED = "detect-all, mode=text, separate-uncertainty"


def latex_table(
    caption: str,
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    sides: str,
    notes: Sequence[str],
    label: str | None = None,
    wide: bool = False,
    formats: Sequence[str | None] | None = None,
    narrow: bool = False,
) -> str:
    """Return a booktabs table of escaped cells; `sides` holds l or r per column.

    `label` is what a paper refers to it by, and `wide` makes it span both columns of a page. Columns with a format are
    aligned by siunitx; `narrow` makes it fit one of two columns of a page.

    Long names and lists of settings are stacked, and a wide table is set smaller, so that it fits the width of a page
    of the class article; unless it has the smallest letters it fits a slide of beamer too, where letters are larger,
    and a narrow one always does. What is too wide or too long even then goes into several tables, each with the names
    of its rows.
    """
    body = [[_stacked(cell, ", ", MOST_CELL, "t", side) for cell, side in zip(row, sides, strict=True)] for row in rows]
    widths = [max([4.0, *(_width(row[place]) for row in body)]) for place in range(len(sides))]
    names = list(header)
    sizes = (*_SIZES, _NARROWEST if narrow else _SMALLEST)
    rooms = [_COLUMN if narrow else _BOTH_COLUMNS if wide else _SLIDE] * len(sizes)
    if not (narrow or wide):
        rooms[-1] = _PAGE
    if sizes[0].points([*map(max, widths, map(_width, names))]) > rooms[0]:
        parts = zip(header, widths, sides, strict=True)
        names = [_stacked(name, r"(?<=\\_)| (?!\$)", width, "b", side) for name, width, side in parts]
    widest = [max(width, _width(name)) for width, name in zip(widths, names, strict=True)]
    tables = [(places, some) for places in _abreast(widest, sides, sizes[-1], rooms[-1]) for some in _runs(body)]
    written = []
    for number, (places, some) in enumerate(tables, start=1):
        found = [widest[place] for place in places]
        fitting = (size for size, room in zip(sizes, rooms, strict=True) if size.points(found) <= room)
        size = next(fitting, sizes[-1])
        title = caption if len(tables) == 1 else f"{caption} (part {number} of {len(tables)})"
        name = label if label is None or len(tables) == 1 else f"{label}-{number}"
        cells = [[row[place] for place in places] for row in (names, *some)]
        below = notes if number == len(tables) else ()
        specs = [None if formats is None else formats[place] for place in places]
        # In a column of numbers other texts stand in braces.
        cells[0] = [name if spec is None else f"{{{name}}}" for name, spec in zip(cells[0], specs, strict=True)]
        pairs = zip(places, specs, strict=True)
        chosen = "".join(sides[place] if spec is None else f"S[{spec}, {_ALIGNED}]" for place, spec in pairs)
        written.append(_one_table(title, size, cells, chosen, below, name, "table*" if wide else "table"))
    return "\n".join(written)


def _one_table(
    caption: str,
    size: "_Size",
    rows: Sequence[Sequence[str]],
    sides: str,
    notes: Sequence[str],
    label: str | None,
    environment: str,
) -> str:
    """Return one table environment; the first of the rows is the header."""
    lines = [" & ".join(row) + r" \\" for row in rows]
    notes = [rf"{note}\par" for note in notes]
    height = sum(map(_height, rows)) + sum(1 + len(text) // NOTE_LINE for text in (caption, *notes))
    below, after = notes, []
    if notes and height > MOST_LINES:  # too long for a page: outside the float they may go over several
        below, after = [], [r"{\footnotesize\sloppy\noindent", *notes, r"}", ""]
    if below:
        below = [r"", r"\smallskip", r"\begin{minipage}{\linewidth}\footnotesize", *below, r"\end{minipage}"]
    return "\n".join(
        [
            rf"\begin{{{environment}}}",
            r"\centering",
            rf"\caption{{{caption}}}",
            *([rf"\label{{{label}}}"] if label else []),
            *([rf"{size.command}\setlength{{\tabcolsep}}{{{size.gap / 2:g}pt}}"] if size.command else []),
            rf"\begin{{tabular}}{{@{{}}{sides}@{{}}}}",
            *(r"\toprule", lines[0], r"\midrule", *lines[1:], r"\bottomrule"),
            r"\end{tabular}",
            *below,
            rf"\end{{{environment}}}",
            "",
            *after,
        ]
    )


def _abreast(widths: Sequence[float], sides: str, size: "_Size", room: float) -> list[list[int]]:
    """Return the columns of each table: those that name the rows, and as many others as fit into a line."""
    names = len(sides) - len(sides.lstrip("l"))
    lead = list(range(names if 0 < names < len(sides) else 1))
    found: list[list[int]] = [[]]
    for place in range(len(lead), len(sides)):
        if found[-1] and size.points([widths[other] for other in (*lead, *found[-1], place)]) > room:
            found.append([])
        found[-1].append(place)
    return [[*lead, *places] for places in found]


def _runs(rows: Sequence[list[str]]) -> list[Sequence[list[str]]]:
    """Return the rows in runs that fit a page; stacked cells count their lines."""
    found: list[list[list[str]]] = [[]]
    lines = 0
    for row in rows:
        height = _height(row)
        if found[-1] and lines + height > MOST_LINES:
            found.append([])
            lines = 0
        found[-1].append(row)
        lines += height
    return list(found)


def _height(row: Sequence[str]) -> int:
    """Return how many lines a row takes: as many as its highest stacked cell."""
    return max(cell.count(r" \\ ") + 1 for cell in row)


# Digits in a line of a cell, lines of a table on a page, and characters in a line of its caption and notes.
MOST_CELL, MOST_LINES, NOTE_LINE = 22, 40, 70
# Points across: of a page of article, one of its columns and both, and what a slide has room for, letters there being
# larger, in points of article's letters.
_PAGE, _COLUMN, _BOTH_COLUMNS, _SLIDE = 345.0, 229.0, 469.0, 280.0


class _Size(NamedTuple):
    """A size of letters: its command, and in points the width of a digit and the room between two columns."""

    command: str
    digit: float
    gap: float

    def points(self, widths: Sequence[float]) -> float:
        return self.digit * sum(widths) + self.gap * (len(widths) - 1)


_SIZES = (_Size("", 5.0, 12.0), _Size(r"\small", 4.63, 6.0), _Size(r"\footnotesize", 4.25, 6.0))
_SMALLEST, _NARROWEST = _Size(r"\scriptsize", 3.98, 6.0), _Size(r"\scriptsize", 3.98, 4.0)
# Widths of letters in digits, as Computer Modern has them; others are as wide as a digit.
_ALIKE = {"il.,:;'!|`": 0.56, "fj": 0.61, "- ": 0.67, "I_": 0.72, "rst()[]": 0.78, "cez": 0.89, "kvxy": 1.06}
_ALIKE |= {"bdhnpquS": 1.11, "FJL": 1.28, "EPZ": 1.36, "BCRTw": 1.45, "ADGHKNOQUVXY=+<>": 1.55, "m%": 1.66, "MW@": 1.95}
_LETTERS = {letter: width for letters, width in _ALIKE.items() for letter in letters}
_BOLD = 1.15


def _width(cell: str) -> float:
    """Return about how many digits wide an escaped cell is printed; of a stacked one, the widest line."""
    lines = re.sub(r"\\(begin|end)\{tabular\}(\[.\]\{@\{\}.@\{\}\})?", "", cell).split(r"\\")
    bold = _BOLD if r"\textbf" in cell or r"\bfseries" in cell else 1.0
    # Signs of formulas are as wide as a digit, what stands for a character too.
    lines = [re.sub(r"\\(pm|[a-z]*arrow|d+agger|bullet|circ|lambda)|\\text[a-z]+\{\}", "0", line) for line in lines]
    bare = [re.sub(r"\\[A-Za-z]+|[{}$\\^]", "", line) for line in lines]
    return bold * max(sum(_LETTERS.get(letter, 1.0) for letter in line.strip()) for line in bare)


def _stacked(cell: str, at: str, most: float, place: str, side: str) -> str:
    """Return a cell in lines of at most `most` characters, if it is longer and matches `at`, where it may break."""
    pieces = re.split(f"({at})", cell) if _width(cell) > most else [cell]
    lines = [""]
    for piece in pieces:
        if lines[-1] and _width(lines[-1] + piece.rstrip(", ")) > most:
            lines.append("")
        lines[-1] += piece if lines[-1] else piece.lstrip()
    lines = [line.strip() for line in lines if line.strip()]
    if len(lines) < 2:
        return cell
    return rf"\begin{{tabular}}[{place}]{{@{{}}{side}@{{}}}}" + r" \\ ".join(lines) + r"\end{tabular}"


def markdown(text: str) -> str:
    r"""Return `text` so that Markdown shows it as it is, inside a table too.

    >>> print(markdown("a|b * f1_micro _x_"))
    a\|b \* f1_micro \_x\_
    """
    escaped = re.sub(r"[\\`*<>\[\]|]", r"\\\g<0>", _one_line(text))
    # An underscore between letters or digits is no emphasis, and metric names are full of them.
    return re.sub(r"(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])", r"\\_", escaped)


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]], sides: str) -> list[str]:
    """Return the lines of a table of escaped cells, padded so that it reads well as plain text."""
    widths = [max(3, *(len(row[place]) for row in (header, *rows))) for place in range(len(header))]

    def line(cells: Sequence[str]) -> str:
        padded = (
            cell.ljust(width) if side == "l" else cell.rjust(width)
            for cell, width, side in zip(cells, widths, sides, strict=True)
        )
        return f"| {' | '.join(padded)} |"

    rule = ["-" * width if side == "l" else "-" * (width - 1) + ":" for width, side in zip(widths, sides, strict=True)]
    return [line(header), line(rule), *(line(row) for row in rows)]


def html(text: str) -> str:
    """Return `text` so that HTML shows it as it is, inside an attribute too.

    >>> html('<a href="x">R&D</a>')
    '&lt;a href=&quot;x&quot;&gt;R&amp;D&lt;/a&gt;'
    """
    return escape(_one_line(text))


def html_table(
    caption: str,
    header: Sequence[str],
    rows: Sequence[Sequence[tuple[str, float | None]]],
    sides: str,
    notes: Sequence[str],
) -> str:
    """Return a table of escaped cells, each with the number behind it, and the notes as a list below."""
    align = [' class="r"' if side == "r" else "" for side in sides]

    def cell(place: int, text: str, value: float | None) -> str:
        number = "" if value is None else f' data-value="{value!r}"'
        return f'<th scope="row">{text}</th>' if place == 0 else f"<td{align[place]}{number}>{text}</td>"

    heads = "".join(f'<th scope="col"{side}>{name}</th>' for name, side in zip(header, align, strict=True))
    body = ["<tr>" + "".join(cell(place, *found) for place, found in enumerate(row)) + "</tr>" for row in rows]
    below = ['<ul class="notes">', *(f"<li>{note}</li>" for note in notes), "</ul>"] if notes else []
    lines = ["<table>", f"<caption>{caption}</caption>", f"<thead><tr>{heads}</tr></thead>", "<tbody>", *body]
    return "\n".join([*lines, "</tbody>", "</table>", *below]) + "\n"


def html_page(title: str, parts: Sequence[str]) -> str:
    """Return a page of HTML fragments; `title` is plain text."""
    head = f'<!DOCTYPE html>\n<html lang="en">\n<head><meta charset="utf-8"><title>{html(title)}</title>'
    return f"{head}\n<style>{_STYLE}</style></head>\n<body>\n{''.join(parts)}</body>\n</html>\n"


_STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;margin:2rem}table{border-collapse:collapse;margin-top:2rem}"
    "caption{text-align:left;font-weight:bold;padding-bottom:.5rem}th,td{padding:.2rem .8rem;text-align:left}"
    "thead,tbody{border-top:1px solid;border-bottom:1px solid}.r{text-align:right}.notes{font-size:.85em}"
)


def _one_line(text: str) -> str:
    return " ".join(text.split())
