"""What the rows of a table were made with: versions, commit, machine, and which rows differ in them."""

from collections.abc import Iterator, Mapping, Sequence

from mlrank.records.run import RunRecord, SoftwareInfo

__all__ = ["machine_differs", "named_splits", "software_facts", "software_notes", "warnings_of_differences"]

MACHINE = "machine"


def software_facts(software: SoftwareInfo) -> dict[str, str]:
    """Return what a run was made with, by name: Python, mlrank, packages, BLAS libraries, threads, commit.

    >>> software_facts(SoftwareInfo("0.1.0", "3.11.7", {"numpy": "2.4.6"}, ("openblas 0.3.30",)))["numpy"]
    '2.4.6'
    """
    packages = {name: version for name, version in software.packages.items() if name != "mlrank"}
    return {
        "Python": software.python,
        "mlrank": software.mlrank,
        **packages,
        "BLAS": ", ".join(sorted(set(software.blas))) or "unknown",
        "threads of a fit": str(software.threads),
        "commit": (software.commit or "no commit")[:12],
    }


def _facts(record: RunRecord) -> dict[str, str]:
    machine = {} if record.time.machine is None else {MACHINE: record.time.machine}
    return software_facts(record.software) | machine


def _values(by_row: Mapping[str, Sequence[RunRecord]]) -> dict[str, dict[str, dict[str, list[str]]]]:
    """Return by fact and value the splits of each row that have it."""
    runs = [(label, record.split, _facts(record)) for label, records in by_row.items() for record in records]
    found: dict[str, dict[str, dict[str, list[str]]]] = {fact: {} for _, _, facts in runs for fact in facts}
    for label, split, facts in runs:
        for fact in found:
            # A machine may be unknown; a package that is not named was not there.
            if fact in facts or fact != MACHINE:
                values = found[fact].setdefault(facts.get(fact, "none"), {})
                values.setdefault(label, []).append(split)
    return found


def machine_differs(records: Sequence[RunRecord]) -> bool:
    """Return whether the records were timed on more than one machine, as far as machines are known."""
    return len({record.time.machine for record in records} - {None}) > 1


def warnings_of_differences(by_row: Mapping[str, Sequence[RunRecord]]) -> Iterator[str]:
    """Yield one line for each fact in which rows differ: which rows, and which values they have.

    Parameters
    ----------
    by_row : the records of each row by its label
    """
    for fact, values in _values(by_row).items():
        if len(values) > 1:
            parts = [f"{_rows(by_row, splits)}: {value}" for value, splits in values.items()]
            after = ": their times cannot be compared" if fact == MACHINE else ""
            yield f"warning: rows differ in {fact} ({'; '.join(parts)}){after}"


def _rows(by_row: Mapping[str, Sequence[RunRecord]], splits: Mapping[str, Sequence[str]]) -> str:
    """Return the names of rows; those of which only some splits are meant with these."""
    parts = []
    for label, names in splits.items():
        parts.append(label if len(names) == len(by_row[label]) else f"{label} [{named_splits(names)}]")
    return ", ".join(parts)


def named_splits(names: Sequence[str]) -> str:
    """Return the names of splits, the middle ones left out if there are many.

    >>> named_splits([f"r{place}" for place in range(10)])
    'r0, r1, ..., r9'
    """
    return ", ".join(names if len(names) <= 6 else [*names[:2], "...", names[-1]])


def software_notes(by_row: Mapping[str, Sequence[RunRecord]]) -> Iterator[str]:
    """Yield the machines, and the software that all rows share."""
    records = [record for found in by_row.values() for record in found]
    threads = sorted({record.software.threads for record in records})
    for machine in sorted({record.time.machine for record in records if record.time.machine is not None}):
        count = " or ".join(map(str, threads))
        yield f"machine: {machine}; every fit with {count} thread{'' if threads == [1] else 's'}"
    shared = {fact: next(iter(values)) for fact, values in _values(by_row).items() if len(values) == 1}
    parts = [_shown(fact, value) for fact, value in shared.items() if fact not in (MACHINE, "threads of a fit")]
    named = ", ".join(part for part in parts if part)
    if named:
        yield f"software: {named}"


def _shown(fact: str, value: str) -> str:
    if fact == "BLAS":
        return "" if value == "unknown" else value
    if fact == "commit":
        return "" if value == "no commit" else f"commit {value}"
    return f"{fact} {value}"
