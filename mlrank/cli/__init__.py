"""The command line: commands parse, call and print. Heavy imports live inside the commands."""

import os
import signal
import sys
import warnings
from collections.abc import Callable
from typing import NoReturn

import typer
from typer.exceptions import TyperException

from mlrank import __version__
from mlrank.cli.benchmark import app as benchmark
from mlrank.cli.certify import certify
from mlrank.cli.check_solver import check_solver
from mlrank.cli.compare import compare
from mlrank.cli.completion import metric_names
from mlrank.cli.datasets import app as datasets
from mlrank.cli.evaluate import evaluate
from mlrank.cli.explain import explain
from mlrank.cli.help import CommandLine
from mlrank.cli.plot import plot
from mlrank.cli.predict import predict
from mlrank.cli.report import report
from mlrank.cli.reproduce import reproduce
from mlrank.cli.status import status, why
from mlrank.cli.table import table
from mlrank.cli.terminal import safe_output
from mlrank.cli.train import train
from mlrank.errors import UserError

__all__ = ["app", "main"]

app = CommandLine(
    name="mlrank",
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(requested: bool) -> None:
    if requested:
        print(f"mlrank {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: bool = typer.Option(False, "--version", callback=_show_version, is_eager=True, help="Show the version."),
) -> None:
    """Compare multi-label classification and ranking methods, and check published tables.

    Examples:

    * `mlrank train quickstart` runs an example on embedded data and prints its tables
    * `mlrank reproduce imageclef` compares a paper's table with ours
    * `mlrank datasets list` shows which data sets are available

    Exit codes: 0 done, 1 an error in the input (one line), 2 some fits failed, 130 interrupted, 143 terminated.
    """


# Below the options, since a column of theirs would cut the longer names.
METRIC_NAMES = f"Metrics: {', '.join(metric_names())}."

app.command("train")(train)
app.command("evaluate", epilog=METRIC_NAMES)(evaluate)
app.command("certify")(certify)
app.command("predict")(predict)
app.command("reproduce")(reproduce)
app.command("table", epilog=METRIC_NAMES)(table)
app.command("compare", epilog=METRIC_NAMES)(compare)
app.command("plot", epilog=METRIC_NAMES)(plot)
app.command("report", epilog=METRIC_NAMES)(report)
app.command("explain")(explain)
app.command("check-solver")(check_solver)
app.command("status")(status)
app.command("why")(why)
app.add_typer(benchmark, name="benchmark")
app.add_typer(datasets, name="datasets")


def main() -> None:
    """Run the command line; errors in the input are reported on stderr in one line, with exit code 1."""
    with safe_output():
        code = _run()
    sys.exit(code)


def _run() -> int:
    before, shown = signal.signal(signal.SIGTERM, _terminate), warnings.showwarning
    warnings.showwarning = _printer_of_warnings()
    try:
        code = int(app(standalone_mode=False) or 0)
        sys.stdout.flush()
    except UserError as error:
        code = _fail(str(error))
    except TyperException as error:
        code = _fail(_misused(error))
    except MemoryError as error:
        code = _fail(f"not enough memory: {str(error) or 'none is left'}")
    except BrokenPipeError:
        # Whoever reads has read enough, as `head` does. What is still to be written goes nowhere, also at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except OSError as error:
        # Modules report their own files in more detail; this is for the output and for rare cases.
        reason = (error.strerror or str(error)).lower()
        code = _fail(f"{error.filename}: {reason}" if error.filename else f"cannot write the output: {reason}")
    except RuntimeError as error:
        if "no locator available" not in str(error):
            raise
        code = _fail(
            "compiled code can be stored neither beside the package nor in the home folder; set NUMBA_CACHE_DIR to a "
            "writable folder"
        )
    finally:
        signal.signal(signal.SIGTERM, before)
        warnings.showwarning = shown
    return code


def _misused(error: TyperException) -> str:
    """Name the option or argument that is missing or wrong, and the command whose help describes it."""
    describe, context = getattr(error, "format_message", error.__str__), getattr(error, "ctx", None)
    command = context.command_path if context else "mlrank"
    message = " ".join(describe().split()).rstrip(".").removeprefix("Invalid value: ").replace(": Value error, ", ": ")
    return f"{message} (see {command} --help)"


def _terminate(number: int, frame: object) -> NoReturn:
    """End as an interrupt does, with clean-up; a second signal is ignored."""
    signal.signal(number, signal.SIG_IGN)
    sys.exit(128 + number)


def _printer_of_warnings() -> Callable[..., None]:
    """Return a function that prints each warning once and in one line, without its place in the code."""
    printed: set[str] = set()

    def show(message: Warning | str, *_: object, **__: object) -> None:
        line = " ".join(str(message).split())
        if line not in printed:
            printed.add(line)
            print(f"mlrank: warning: {line}", file=sys.stderr)

    return show


def _fail(message: str) -> int:
    print(f"mlrank: {message}", file=sys.stderr)
    return 1
