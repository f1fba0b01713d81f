"""A table as values: cells, rows, and the notes below."""

from dataclasses import dataclass

__all__ = ["ResultTable", "TableCell", "TableRow"]


@dataclass(frozen=True)
class TableCell:
    """One metric, or one cost, of one method on one dataset.

    Parameters
    ----------
    value : float or None
        Mean of a metric over the splits on which it is defined, median of a cost; None if there is none.
    std : float or None
        Of a metric, of the sample (divided by n - 1); None for fewer than two splits.
    n : int
        Number of splits that entered the value.
    low, high : float or None
        Quartiles of a cost; None for fewer than two splits.
    competes : bool
        Whether it can be best or second.
    best : bool
        Whether no competing row of the table has a better value; ties are all best.
    second : bool
        Whether exactly one competing row is better, and another one worse.
    """

    value: float | None
    std: float | None
    n: int
    low: float | None = None
    high: float | None = None
    competes: bool = False
    best: bool = False
    second: bool = False


@dataclass(frozen=True)
class TableRow:
    """One method on one dataset.

    Parameters
    ----------
    label : str
        The method's name; with that of its experiment where several experiments of the table use it.
    method, experiment, solver : str
    cells : tuple of TableCell, one per column of the table
    n_done, n_failed : int
        Splits with a result, splits whose run failed; both 0 for a method without any run.
    settings : str
        The values that the search chose, the commonest over the splits.
    fit, predict, memory : TableCell
        Seconds of the fit and of the predictions, bytes of memory.
    optimality : float or None
        The worst certificate over the splits; None if one is unknown.
    certificate : str or None
        What it is: "gap", "residual" or "backward error"; None where records do not say.
    n_not_converged : int
    oracle : bool
        Whether the threshold looks at the true labels of the rows it decides on.
    transductive : bool
        Whether the fit saw the features of the test rows.
    """

    label: str
    method: str
    experiment: str
    solver: str
    cells: tuple[TableCell, ...]
    n_done: int
    n_failed: int
    settings: str
    fit: TableCell
    predict: TableCell
    memory: TableCell
    optimality: float | None
    certificate: str | None
    n_not_converged: int
    oracle: bool
    transductive: bool

    @property
    def fit_seconds(self) -> float | None:
        """Median seconds of the fit over the splits."""
        return self.fit.value


@dataclass(frozen=True)
class ResultTable:
    """The results on one dataset.

    Parameters
    ----------
    experiment : str
        Several experiments joined by " + ".
    dataset, source : str
    about : str
        The dataset in one line: its name, shape and source.
    stand_in : bool
        Whether the data were generated.
    metrics : tuple of str
        The columns: metrics and costs.
    n_splits : int
        Number of different splits over all rows.
    rows : tuple of TableRow
    notes : tuple of str, the lines below the table
    """

    experiment: str
    dataset: str
    source: str
    about: str
    stand_in: bool
    metrics: tuple[str, ...]
    n_splits: int
    rows: tuple[TableRow, ...]
    notes: tuple[str, ...]

    @property
    def title(self) -> str:
        """The line above the table."""
        return f"{self.experiment}: {self.about}"
