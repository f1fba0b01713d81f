"""The rows of some labels, with rows and features numbered anew, so that what is gone through often lies together."""

import numpy as np

from mlrank.compiled import njit

__all__ = ["local_rows"]


@njit(cache=True)
def local_rows(row_ptr, features, values, label_ptr, label_rows, labels, local_row, local_feature):  # type: ignore[no-untyped-def]
    """Return (mark_ptr, marks, ptr, found, numbers, own): the rows that have one of `labels`, as a CSR of their own.

    Label ``labels[i]`` has the rows ``marks[mark_ptr[i]:mark_ptr[i + 1]]``; row r has the features ``found`` and the
    values ``numbers`` from ``ptr[r]`` to ``ptr[r + 1]``; feature f of it is ``own[f]`` of all. Rows and features have
    numbers in the order in which they are met. `local_row` (n_samples,) and `local_feature` (n_features,) are -1 before
    and after.
    """
    n_marks = 0
    for label in labels:
        n_marks += label_ptr[label + 1] - label_ptr[label]
    mark_ptr, marks = np.zeros(labels.size + 1, np.int64), np.empty(n_marks, np.int32)
    rows, n_rows, size, filled = np.empty(n_marks, np.int64), 0, 0, 0
    for i in range(labels.size):
        for s in range(label_ptr[labels[i]], label_ptr[labels[i] + 1]):
            row = label_rows[s]
            if local_row[row] < 0:
                local_row[row] = n_rows
                rows[n_rows] = row
                n_rows += 1
                size += row_ptr[row + 1] - row_ptr[row]
            marks[filled] = local_row[row]
            filled += 1
        mark_ptr[i + 1] = filled
    ptr, found, numbers = np.zeros(n_rows + 1, np.int64), np.empty(size, np.int32), np.empty(size, values.dtype)
    own, n_own, filled = np.empty(min(size, local_feature.size), np.int32), 0, 0
    for r in range(n_rows):
        for t in range(row_ptr[rows[r]], row_ptr[rows[r] + 1]):
            feature = features[t]
            if local_feature[feature] < 0:
                local_feature[feature] = n_own
                own[n_own] = feature
                n_own += 1
            found[filled], numbers[filled] = local_feature[feature], values[t]
            filled += 1
        ptr[r + 1] = filled
    for r in range(n_rows):
        local_row[rows[r]] = -1
    for i in range(n_own):
        local_feature[own[i]] = -1
    return mark_ptr, marks, ptr, found, numbers, own[:n_own].copy()
