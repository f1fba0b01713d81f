"""Write two of the examples as notebooks with their outputs: ``python docs/notebooks.py``.

The examples are scripts, which Sphinx-Gallery runs for the site. A forge shows notebooks with what they printed, so
these two are stored as such too; a test runs them anew and compares.
"""

import ast
import base64
import contextlib
import io
import json
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent
STORED = ("own_data", "reading_a_reproduction")


def notebook(name: str) -> dict[str, Any]:
    """Return an example as a notebook, run in a folder of its own."""
    from matplotlib import pyplot as plt

    plt.close("all")  # those that are open already are not the example's
    names: dict[str, Any] = {"__name__": "__main__"}
    found, before = [], Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for place, (kind, text) in enumerate(cells((DOCS / "examples" / f"{name}.py").read_text("utf-8"))):
                cell = {"cell_type": kind, "id": f"{name[:40]}-{place}", "metadata": {}, "source": _lines(text)}
                if kind == "code":
                    cell |= {"execution_count": place, "outputs": outputs(text, names)}
                found.append(cell)
        finally:
            os.chdir(before)
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    about = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return {"cells": found, "metadata": about, "nbformat": 4, "nbformat_minor": 5}


def cells(script: str) -> Iterator[tuple[str, str]]:
    """Yield the kind and text of each cell: the docstring, then what stands between lines of ``# %%``."""
    docstring = ast.get_docstring(ast.parse(script)) or ""
    yield "markdown", _markdown(docstring)
    for part in re.split(r"^# %%\n", script.split('"""', 2)[2], flags=re.M):
        words = re.match(r"(?:#.*\n)*", part)
        text = re.sub(r"^# ?", "", words[0], flags=re.M) if words else ""
        code = part[len(words[0]) :] if words else part
        if text.strip():
            yield "markdown", _markdown(text)
        if code.strip():
            yield "code", code.strip()


def outputs(code: str, names: dict[str, Any]) -> list[dict[str, Any]]:
    """Run a cell, and return what it printed, the value of its last line, and its figures."""
    from matplotlib import pyplot as plt

    tree = ast.parse(code)
    last = ast.Expression(tree.body.pop().value) if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, "cell", "exec"), names)
        value = eval(compile(last, "cell", "eval"), names) if last else None
    found: list[dict[str, Any]] = []
    if printed.getvalue():
        found.append({"output_type": "stream", "name": "stdout", "text": _lines(printed.getvalue())})
    if value is not None:
        data = {"text/plain": _lines(repr(value))}
        if hasattr(value, "_repr_html_"):
            data["text/html"] = _lines(value._repr_html_())
        found.append({"output_type": "display_data", "metadata": {}, "data": data})
    for number in plt.get_fignums():
        image = io.BytesIO()
        plt.figure(number).savefig(image, dpi=80, metadata={"Software": None})
        data = {"image/png": base64.b64encode(image.getvalue()).decode()}
        found.append({"output_type": "display_data", "metadata": {}, "data": data})
    plt.close("all")
    return found


def _markdown(text: str) -> str:
    """Return the few words of reStructuredText that examples use as Markdown."""
    text = re.sub(r"^(.+)\n=+$", r"# \1", text.strip(), flags=re.M)
    return re.sub(r"^(.+)\n-+$", r"## \1", text, flags=re.M).replace("``", "`")


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def main() -> None:
    """Run the examples and write them."""
    import matplotlib

    matplotlib.use("agg")
    for name in STORED:
        text = json.dumps(notebook(name), indent=1, ensure_ascii=False)
        (DOCS / "notebooks" / f"{name}.ipynb").write_text(text + "\n", "utf-8")


if __name__ == "__main__":
    main()
