"""The command line: commands parse, call and print. Heavy imports live inside the commands."""

import sys

import typer
from typer.exceptions import TyperException

from mlrank import __version__
from mlrank.cli.check_solver import check_solver
from mlrank.cli.compare import compare
from mlrank.cli.datasets import app as datasets
from mlrank.cli.evaluate import evaluate
from mlrank.cli.explain import explain
from mlrank.cli.plot import plot
from mlrank.cli.predict import predict
from mlrank.cli.report import report
from mlrank.cli.reproduce import reproduce
from mlrank.cli.status import status, why
from mlrank.cli.table import table
from mlrank.cli.train import train
from mlrank.errors import UserError

__all__ = ["app", "main"]

app = typer.Typer(
    name="mlrank",
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"mlrank {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context,
    version: bool = typer.Option(False, "--version", callback=_show_version, is_eager=True, help="Show the version."),
) -> None:
    """Compare multi-label classification and ranking methods, and check published tables.

    Examples:

    * `mlrank train configs/quickstart.yaml` runs an experiment and prints its tables
    * `mlrank reproduce imageclef` sets a paper's table beside ours
    * `mlrank datasets list` shows which data sets are at hand

    Exit codes: 0 done, 1 a mistake to mend (told in one line), 2 some fits failed, 130 interrupted.
    """
    if context.invoked_subcommand is None:
        print(context.get_help())


app.command("train")(train)
app.command("evaluate")(evaluate)
app.command("predict")(predict)
app.command("reproduce")(reproduce)
app.command("table")(table)
app.command("compare")(compare)
app.command("plot")(plot)
app.command("report")(report)
app.command("explain")(explain)
app.command("check-solver")(check_solver)
app.command("status")(status)
app.command("why")(why)
app.add_typer(datasets, name="datasets")


def main() -> None:
    """Run the command line; a user's mistake is told on stderr, one line each, with exit code 1."""
    try:
        code = app(standalone_mode=False)
    except UserError as error:
        print(f"mlrank: {error}", file=sys.stderr)
        code = 1
    except TyperException as error:
        print(f"mlrank: {error} (see mlrank --help)", file=sys.stderr)
        code = 1
    sys.exit(code)
