"""The settings that Rank-SVM and Rank-HLapSVM share."""

from dataclasses import dataclass, fields
from typing import Any

from mlrank.kernels import Kernel
from mlrank.solvers.base import check_choices, check_kernel, check_positive
from mlrank.solvers.rank_svm.rows import DENSE_FROM

__all__ = ["RankSettings"]

# Value of the constant feature for each setting of `bias`; a free bias has none.
BIAS = {"augmented": 1.0, "free": 0.0, "none": 0.0}
# Passes that a fit of moderate C takes, for estimates.
PASSES = 30
# More pairs than this are packed: as numbers they would take a GiB with what belongs to them.
PACKED_FROM = 4 * 10**7
CHOICES: dict[str, tuple[str, ...]] = {
    "bias": tuple(BIAS),
    "algorithm": ("dcd", "frank_wolfe"),
    "order": ("permuted", "cyclic"),
    "stop": ("gap", "step"),
    "C_scale": ("sum", "mean"),
}


@dataclass(frozen=True)
class RankSettings:
    """Settings of the problem of eq. 9 and of its solution, checked; both solvers explain them.

    Raises
    ------
    ValueError
        For a setting out of range, or settings that do not go together.
    """

    C: float
    kernel: Kernel
    bias: str
    algorithm: str
    tol: float
    max_iter: int
    seed: int
    order: str
    stop: str
    eps: float
    C_scale: str

    @classmethod
    def of(cls, solver: Any) -> "RankSettings":
        """Return the shared settings of a solver."""
        check_kernel(solver, precomputed=True)
        others = {one.name: getattr(solver, one.name) for one in fields(cls) if one.name != "kernel"}
        return cls(kernel=Kernel.of(solver), **others)

    def __post_init__(self) -> None:
        check_positive(self, "C", "eps", "tol", "max_iter")
        check_choices(self, CHOICES)
        if self.order == "cyclic" and self.bias == "free":
            raise ValueError("order 'cyclic' is Algorithm 1 as printed, whose bias is penalized; found bias 'free'")
        for name, value in (("order", "cyclic"), ("stop", "step")):
            if self.algorithm == "frank_wolfe" and getattr(self, name) == value:
                raise ValueError(f"{name} {value!r} is of algorithm 'dcd' alone, found algorithm 'frank_wolfe'")

    @property
    def bias_value(self) -> float:
        """Value of the constant feature."""
        return BIAS[self.bias]

    @property
    def free_bias(self) -> bool:
        """Whether the bias is not penalized."""
        return self.bias == "free"

    def packs(self, n_pairs: float) -> bool:
        """Whether the dual variables of so many pairs are packed: they are many, and passes over features do."""
        plain = self.kernel.kind == "linear" and self.algorithm == "dcd" and not self.free_bias
        return plain and self.order == "permuted" and self.stop == "gap" and n_pairs > PACKED_FROM

    def cost(self, n_samples: int, n_features: int, n_labels: int, density: float = 1.0) -> tuple[float, float]:
        """Return how operations and bytes of a fit grow with the shape of the training set.

        A pass takes an operation for each number of the rows and each label, and a pair of labels 12 bytes, or a bit if
        packed; rows are taken to have four relevant ones. Dense rows are rotated into the eigenbasis of their moment.
        """
        n_pairs = n_samples * 4.0 * n_labels
        pairs = n_pairs * (0.125 if self.packs(n_pairs) else 12.0)
        if self.kernel.kind != "linear":
            return PASSES * float(n_samples) ** 2 * n_labels + float(n_samples) ** 3, 16.0 * n_samples**2 + pairs
        cells, smaller = density * n_samples * n_features, min(n_samples, n_features)
        passes, memory = PASSES * cells * n_labels, 8.0 * cells + pairs
        if density < DENSE_FROM:
            return passes, memory + 16.0 * n_features * n_labels
        return passes + cells * smaller, memory + 16.0 * smaller**2
