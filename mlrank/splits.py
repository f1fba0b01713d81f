"""Rows to train and to test on: the official split, seeded hold-outs and folds, stratified or not, papers' samples.

Stratified means iterative stratification, for which `mlrank.stratification` exists. Labels may be sparse: what is drawn
does not depend on how they are stored, and takes memory by their marks alone.
"""

import hashlib
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array, hstack

from mlrank.arrays import BoolArray, IntArray
from mlrank.errors import UserError, unknown_name
from mlrank.labels import LabelMatrix, columns_of, row_counts, sparse_labels

__all__ = ["SPLIT_KINDS", "Split", "holdout_sizes", "kfold", "make_splits", "predefined_folds"]

SPLIT_KINDS = {
    "official": "The training and test parts that the data set comes with.",
    "holdout": "Rows to train on and rows to test on, drawn by the seed.",
    "kfold": "Cross-validation: rows are divided into folds, each of which is tested on once.",
    "per_class": "The rows of each label are divided into parts, one of which is trained on, the others are tested on.",
    "strata": "So many training rows with one label and so many with several; all other rows are tested on.",
    "predefined": "The folds of the data set's `fold_column`, each of which is tested on once.",
}
"""The kinds of split, each with what it does."""


@dataclass(frozen=True)
class Split:
    """Rows to train on and rows to test on.

    Parameters
    ----------
    name : str
        "official", "r0" (repeat 0) or "r0f1" (repeat 0, fold 1).
    train, test : int64 ndarray of row numbers

    Raises
    ------
    ValueError
        If a row occurs twice, or train or test is empty.
    """

    name: str
    train: IntArray
    test: IntArray

    def __post_init__(self) -> None:
        rows = np.concatenate([self.train, self.test])
        if np.unique(rows).size != rows.size:
            raise ValueError(f"split {self.name}: a row occurs twice, in train, in test or in both")
        if not (self.train.size and self.test.size):
            raise ValueError(f"split {self.name}: {self.train.size} train rows and {self.test.size} test rows")


def make_splits(
    Y: LabelMatrix,
    official: tuple[IntArray, IntArray] | None,
    seed: int,
    *,
    kind: str,
    train: float | None = None,
    test: float | None = None,
    folds: int = 5,
    stratified: bool = True,
    parts: int = 10,
    single: int | None = None,
    multiple: int | None = None,
    repeats: int = 1,
    groups: IntArray | None = None,
    predefined: IntArray | None = None,
) -> list[Split]:
    """Return the splits of a data set, the same ones for the same arguments.

    Parameters
    ----------
    Y : (n_samples, n_labels) bool ndarray or csr_array
    official : (train_rows, test_rows) or None
        The split the data set comes with.
    seed : int, not negative
        Each repeat draws from a seed derived from this one by hashing.
    kind : "official", "holdout", "kfold", "per_class", "strata" or "predefined"
    train, test : int or float
        For "holdout": numbers of rows, or fractions of all rows in (0, 1). Rows beyond both are left out.
    folds, stratified, repeats : as the names say
    parts : int
        For "per_class": the rows of each label are divided into so many parts, one of which is trained on.
    single, multiple : int
        For "strata": numbers of training rows with one label and with several; all other rows are tested on.
    groups : (n_samples,) int64 ndarray, optional
        Rows of one group stay on one side of every split; parts are then only about as large as asked for.
    predefined : (n_samples,) int64 ndarray, optional
        For "predefined": the fold of each row; each fold is tested on once.

    Raises
    ------
    UserError
        If the data cannot be split so.
    """
    if kind == "official":
        return [_whole_groups(_official(Y.shape[0], official, repeats), groups)]
    if kind == "predefined":
        return _predefined(predefined, groups)
    if kind == "holdout":
        sizes = holdout_sizes(Y.shape[0], train, test)
        return [_holdout(Y, sizes, _repeat_seed(seed, r), stratified, f"r{r}", groups) for r in range(repeats)]
    if groups is not None and kind in ("per_class", "strata"):
        raise UserError(f"kind '{kind}' draws rows one by one, which would cut groups; use kfold or holdout")
    if kind == "kfold":
        pairs = [kfold(Y, folds, _repeat_seed(seed, r), stratified, groups) for r in range(repeats)]
        return [Split(f"r{r}f{f}", *pair) for r, found in enumerate(pairs) for f, pair in enumerate(found)]
    if kind == "per_class":
        return [_per_class(Y, parts, _repeat_seed(seed, r), f"r{r}") for r in range(repeats)]
    if kind == "strata":
        return [_strata(Y, single, multiple, _repeat_seed(seed, r), f"r{r}") for r in range(repeats)]
    raise UserError(unknown_name("kind of split", kind, SPLIT_KINDS))


def kfold(
    Y: LabelMatrix, folds: int, seed: int, stratified: bool, groups: IntArray | None = None
) -> list[tuple[IntArray, IntArray]]:
    """Return `folds` pairs (train, test) of sorted rows; the test parts hold every row once, equally many or nearly.

    With `groups`, (n_samples,), all rows of a group are in one test part.

    Raises
    ------
    UserError
        If there are fewer than two folds or more folds than rows, or groups.
    """
    n_samples = Y.shape[0]
    if folds < 2:
        raise UserError(f"k-fold needs 2 folds or more, found {folds}")
    if folds > n_samples:
        raise UserError(f"{folds} folds need {folds} rows or more, the data has {n_samples}", setting="folds")
    base, extra = divmod(n_samples, folds)
    sizes = np.full(folds, base) + (np.arange(folds) < extra)
    part = _parts(Y, sizes, seed, stratified, groups)
    pairs = [(np.flatnonzero(part != fold), np.flatnonzero(part == fold)) for fold in range(folds)]
    for train, test in pairs:
        _assert_complete(n_samples, train, test)
    _assert_complete(n_samples, *(test for _, test in pairs))
    return pairs


def holdout_sizes(n_samples: int, train: float | None, test: float | None) -> tuple[int, int]:
    """Return (n_train, n_test) for counts or fractions; fractions that add up to 1 leave no row out.

    >>> holdout_sizes(2417, 1500, 0.25), holdout_sizes(11, 0.5, 0.5)
    ((1500, 604), (6, 5))

    Raises
    ------
    UserError
        If a part would be empty or both need more rows than there are.
    """
    if train is None or test is None:
        raise UserError("holdout needs both train and test: numbers of rows, or fractions of all rows")
    n_train, n_test = _count(n_samples, train), _count(n_samples, test)
    if isinstance(train, float) and isinstance(test, float) and abs(train + test - 1) < 1e-9:
        n_test = n_samples - n_train
    if n_train + n_test > n_samples:
        raise UserError(f"holdout wants {n_train} + {n_test} rows, the data has {n_samples}")
    if not (n_train and n_test):
        raise UserError(f"holdout would leave {n_train} train and {n_test} test rows of {n_samples}")
    return n_train, n_test


def _count(n_samples: int, size: float) -> int:
    if isinstance(size, float):
        if not 0 < size < 1:
            raise UserError(f"a fraction of the rows must lie between 0 and 1, found {size}; counts are whole numbers")
        return int(np.floor(size * n_samples + 0.5))
    if size < 1:
        raise UserError(f"a part needs 1 row or more, found {size}")
    return size


def _official(n_samples: int, official: tuple[IntArray, IntArray] | None, repeats: int) -> Split:
    if official is None:
        raise UserError("the data set comes without an official split; use kind 'holdout' or 'kfold'", setting="kind")
    if repeats != 1:
        raise UserError(f"the official split is one split, it cannot be repeated {repeats} times", setting="repeats")
    train, test = (np.asarray(rows, dtype=np.int64) for rows in official)
    _assert_complete(n_samples, train, test)
    return Split("official", train, test)


def _holdout(
    Y: LabelMatrix, sizes: tuple[int, int], seed: int, stratified: bool, name: str, groups: IntArray | None
) -> Split:
    rest = Y.shape[0] - sum(sizes)
    part = _parts(Y, np.array([*sizes, rest] if rest else sizes), seed, stratified, groups)
    split = Split(name, np.flatnonzero(part == 0), np.flatnonzero(part == 1))
    if groups is None and (split.train.size, split.test.size) != sizes:
        raise ValueError(f"split {name} has {split.train.size} + {split.test.size} rows, not {sizes}")
    return split


def _per_class(Y: LabelMatrix, parts: int, seed: int, name: str) -> Split:
    """Train on one of `parts` random parts of each label's rows, on one row of a label with fewer (SLRM paper, 4.3).

    A row is trained on if any of its labels has drawn it, and tested on if none has.
    """
    if parts < 2:
        raise UserError(f"per_class needs 2 parts or more, found {parts}")
    rng = np.random.default_rng(seed)
    chosen = np.zeros(Y.shape[0], dtype=np.bool_)
    by_label = columns_of(Y)
    for positives in np.split(by_label.indices.astype(np.int64), by_label.indptr[1:-1]):
        rows = rng.permutation(positives)
        drawn = int(rng.integers(parts))
        # With fewer rows than parts some parts are empty, and one row is taken.
        chosen[np.array_split(rows, parts)[drawn] if rows.size >= parts else rows[:1]] = True
    return _test_the_rest(chosen, "per_class", name)


def _strata(Y: LabelMatrix, single: int | None, multiple: int | None, seed: int, name: str) -> Split:
    """Train on random rows with one label and with several (efficient multi-label ranking paper, section 4)."""
    if single is None or multiple is None:
        raise UserError("strata needs both single and multiple: numbers of rows with one label and with several")
    rng, n_labels, chosen = np.random.default_rng(seed), row_counts(Y), np.zeros(Y.shape[0], dtype=np.bool_)
    one, several = ("single", "one label", single), ("multiple", "several labels", multiple)
    for (setting, what, required), stratum in ((one, n_labels == 1), (several, n_labels > 1)):
        rows = np.flatnonzero(stratum)
        if required > rows.size:
            raise UserError(f"strata requires {required} rows with {what}, the data has {rows.size}", setting=setting)
        chosen[rng.choice(rows, required, replace=False)] = True
    return _test_the_rest(chosen, "strata", name)


def _test_the_rest(chosen: BoolArray, kind: str, name: str) -> Split:
    if not chosen.any() or chosen.all():
        raise UserError(f"{kind} would leave {int(chosen.sum())} train and {int((~chosen).sum())} test rows")
    return Split(name, np.flatnonzero(chosen), np.flatnonzero(~chosen))


def _assert_complete(n_samples: int, *parts: IntArray) -> None:
    if not np.array_equal(np.sort(np.concatenate(parts)), np.arange(n_samples)):
        raise ValueError(f"the parts of a split do not hold each of the {n_samples} rows exactly once")


def _repeat_seed(seed: int, repeat: int) -> int:
    return int.from_bytes(hashlib.sha256(f"split {seed} {repeat}".encode()).digest()[:8], "big")


def predefined_folds(folds: IntArray) -> list[tuple[IntArray, IntArray]] | None:
    """Return a pair (train, test) of sorted rows for each of the folds that the data say; None if there is one alone.

    Parameters
    ----------
    folds : (n_samples,) int64 ndarray, the fold of each row
    """
    numbers = np.unique(folds)
    if numbers.size < 2:
        return None
    return [(np.flatnonzero(folds != number), np.flatnonzero(folds == number)) for number in numbers]


def _predefined(folds: IntArray | None, groups: IntArray | None) -> list[Split]:
    pairs = None if folds is None else predefined_folds(folds)
    if pairs is None:
        message = "kind 'predefined' needs a fold_column of the data set with two values or more"
        raise UserError(message, setting="kind")
    return [_whole_groups(Split(f"f{number}", *pair), groups) for number, pair in enumerate(pairs)]


def _whole_groups(split: Split, groups: IntArray | None) -> Split:
    """Refuse a split that has rows of one group on both sides."""
    if groups is not None:
        both = np.intersect1d(groups[split.train], groups[split.test])
        if both.size:
            n_rows = int(np.isin(groups[split.test], both).sum())
            message = f"{both.size} groups are on both sides of the split '{split.name}', with {n_rows} test rows"
            raise UserError(f"{message}: use kind kfold or holdout, which keep groups together", setting="kind")
    return split


def _parts(Y: LabelMatrix, sizes: IntArray, seed: int, stratified: bool, groups: IntArray | None = None) -> IntArray:
    """Return the part number of each row; part p has sizes[p] rows, or about so many where groups stay together."""
    rng = np.random.default_rng(seed)
    if groups is not None:
        return _group_parts(Y, sizes, rng, stratified, groups)
    if stratified:
        from mlrank.stratification import stratified_parts  # compiled loops, which most workers need not load

        return stratified_parts(Y, sizes, rng)
    order, part = rng.permutation(Y.shape[0]), np.empty(Y.shape[0], dtype=np.int64)
    part[order] = np.repeat(np.arange(sizes.size), sizes)
    return part


def _group_parts(
    Y: LabelMatrix, sizes: IntArray, rng: np.random.Generator, stratified: bool, groups: IntArray
) -> IntArray:
    """Return the part number of each row, equal within groups.

    Groups are handed out one by one, the largest first, each to the part in which it leaves rows, and labels if
    `stratified`, nearest to their shares. Takes n_parts steps for each label that a group has.
    """
    _, member = np.unique(groups, return_inverse=True)
    counts = np.bincount(member)
    if counts.size < sizes.size:
        raise UserError(f"{sizes.size} parts need {sizes.size} groups or more, the data has {counts.size}")
    # Rows count as one more label, the first.
    columns = [csr_array(np.ones((Y.shape[0], 1))), sparse_labels(Y).astype(np.float64)][: 1 + stratified]
    of_group = csr_array((np.ones(member.size), member, np.arange(member.size + 1))).T
    content = csr_array(of_group @ hstack(columns, format="csr"))
    # Every label weighs as much as the number of rows: how far a part is from its share, relative to the share.
    shares = np.outer(sizes / sizes.sum(), content.sum(axis=0))
    weight = 1 / np.maximum(shares, 1e-9) ** 2 * (shares > 0)
    weight[:, 1:] /= max(content.shape[1] - 1, 1)
    held, part_of = np.zeros_like(shares), np.empty(counts.size, np.int64)
    order = rng.permutation(counts.size)
    for place, group in enumerate(order[np.argsort(-counts[order], kind="stable")]):
        own = slice(content.indptr[group], content.indptr[group + 1])
        labels, added = content.indices[own], content.data[own]
        ahead = held[:, labels] - shares[:, labels]
        cost = (weight[:, labels] * ((ahead + added) ** 2 - ahead**2)).sum(axis=1)
        empty = np.flatnonzero(held[:, 0] == 0)
        # The last groups fill parts that have none.
        open_parts = empty if empty.size >= counts.size - place else np.arange(sizes.size)
        best = int(open_parts[cost[open_parts].argmin()])
        part_of[group] = best
        held[best, labels] += added
    found: IntArray = part_of[member]
    return found
