"""Escaping for Markdown and LaTeX, and the frames of tables in both."""

import re
from collections.abc import Sequence

__all__ = ["latex", "latex_table", "markdown", "markdown_table"]

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
    "↑": r"$\uparrow$",
    "↓": r"$\downarrow$",
}


def latex(text: str) -> str:
    r"""Return `text` so that LaTeX prints it as it is.

    >>> print(latex("50% of f1_micro ± 2"))
    50\% of f1\_micro $\pm$ 2
    """
    return "".join(_LATEX.get(character, character) for character in _one_line(text))


def latex_table(
    caption: str, header: Sequence[str], rows: Sequence[Sequence[str]], sides: str, notes: Sequence[str]
) -> str:
    """Return a booktabs table of escaped cells; `sides` holds l or r per column."""
    lines = [" & ".join(row) + r" \\" for row in (header, *rows)]
    below = [rf"{note}\par" for note in notes]
    return "\n".join(
        [
            r"\begin{table}",
            r"\centering",
            rf"\caption{{{caption}}}",
            rf"\begin{{tabular}}{{{sides}}}",
            *(r"\toprule", lines[0], r"\midrule", *lines[1:], r"\bottomrule"),
            r"\end{tabular}",
            *(
                [r"", r"\smallskip", r"\begin{minipage}{\linewidth}\footnotesize", *below, r"\end{minipage}"]
                if notes
                else []
            ),
            r"\end{table}",
            "",
        ]
    )


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


def _one_line(text: str) -> str:
    return " ".join(text.split())
