import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import ClassVar, Literal

import pytest

from mlrank.config import ExperimentConfig, parse_config
from mlrank.errors import UserError
from mlrank.solvers import SOLVERS
from mlrank.thresholds import bounds
from mlrank.thresholds.strategies import Zero


@dataclass(frozen=True)
class Toy:
    """Has a setting of each type, and settings that need each other."""

    C: float = 1.0
    kernel: str = "linear"
    gamma: float | None = None
    n: int = 3
    halve: bool = False
    mode: Literal["fast", "exact", 7] = "fast"

    def __post_init__(self) -> None:
        if self.C <= 0:
            raise ValueError(f"C must be above 0, found {self.C}")
        if self.n < 1:
            raise ValueError(f"n must be 1 or more, found {self.n}")
        if self.kernel not in ("linear", "rbf"):
            raise ValueError(f"kernel must be linear or rbf, found {self.kernel}")
        if self.kernel == "rbf" and self.gamma is None:
            raise ValueError("kernel rbf needs gamma")
        if self.mode == "exact" and self.n > 5:
            raise ValueError("mode exact takes n up to 5")

    def fit(self, train: object, prepared: object = None) -> None:
        return None


@dataclass(frozen=True)
class Needy:
    """Has a setting without a default."""

    rank: int

    def fit(self, train: object, prepared: object = None) -> None:
        return None


@dataclass(frozen=True)
class TopK:
    FIT_ON: ClassVar[str] = "heldout"
    k: int = 3

    def __post_init__(self) -> None:
        if self.k < 1:
            raise ValueError(f"k must be 1 or more, found {self.k}")


@pytest.fixture(autouse=True)
def toys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SOLVERS.places, "toy", f"{__name__}:Toy")
    monkeypatch.setitem(SOLVERS.places, "needy", f"{__name__}:Needy")
    thresholds = ModuleType("mlrank.thresholds")
    thresholds.THRESHOLDS = {"zero": Zero, "svr_midpoint": Zero, "top_k": TopK, "natural": Zero}  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "mlrank.thresholds", thresholds)
    monkeypatch.setitem(sys.modules, "mlrank.thresholds.bounds", bounds)


REST = """\
name: demo
datasets: [scene]
split: {kind: official}
"""


@pytest.fixture
def parse() -> Callable[[str], ExperimentConfig]:
    """Parse a text as the file f.yaml."""
    return lambda text: parse_config(text, "f.yaml")


@pytest.fixture
def lines() -> Callable[[str], list[str]]:
    """Return the lines of the UserError that a text raises."""

    def told(text: str) -> list[str]:
        with pytest.raises(UserError) as caught:
            parse_config(text, "f.yaml")
        return str(caught.value).split("\n")

    return told


@pytest.fixture
def method_lines(lines: Callable[[str], list[str]]) -> Callable[[str], list[str]]:
    """Return the lines that the one method M of an otherwise good config raises; it stands in line 5."""
    return lambda method: lines(f"{REST}methods:\n  M: {method}\n")
