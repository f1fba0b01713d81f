"""The folder of one experiment: configuration, environment, log, journal of trials, runs, tables."""

import io
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mlrank.errors import UserError
from mlrank.imported import is_path
from mlrank.metrics import METRICS
from mlrank.records.atomic import (
    dump_json,
    make_folder,
    npz_bytes,
    os_errors,
    safe_name,
    sweep_parts,
    write_archive,
    write_atomic,
)
from mlrank.records.journal import Journal
from mlrank.records.run import FORMAT, RunRecord
from mlrank.records.software import environment
from mlrank.stored import DAMAGED, ArchiveContent, check_unpacked_size, short_names

if TYPE_CHECKING:
    from mlrank.yamlfile import YamlMapping

__all__ = ["DataNames", "RunFolder"]

PLANNED = "planned.json"
MARK = "format.json"
# Any of these shows that a folder without a mark of its format was written by a version that made none.
CONTENTS = ("config.yaml", "trials.jsonl", PLANNED, "runs")


class DataNames(NamedTuple):
    """Names of the labels, of the features, and of the rows of a data set; None where rows have none."""

    labels: tuple[str, ...]
    features: tuple[str, ...]
    rows: tuple[str, ...] | None = None


@dataclass(frozen=True)
class RunFolder:
    """``results/<experiment>/``: the files of an experiment.

    format.json, config.yaml, environment.json, log.jsonl, trials.jsonl, planned.json, names/, runs/ and tables/.

    All of a folder has one format. A run is ``runs/<dataset>/<split>/<method>.json`` with its arrays in the ``.npz``
    beside it, and its model, where that can be stored, in the ``.model``. The JSON is written last, so a run whose JSON
    exists is complete. It holds the real names.

    Parameters
    ----------
    path : Path
    """

    path: Path

    @classmethod
    def create(cls, results_dir: Path | str, experiment_name: str) -> "RunFolder":
        """Make the folder of an experiment, or take the one that exists; make sure that it can be written.

        Raises
        ------
        UserError
            If it cannot be made or written, or an older or newer version made it: nothing in it is changed then.
        """
        folder = cls.of(results_dir, experiment_name)
        make_folder(folder.path)
        folder.write_mark()  # a full or read-only disk must be known before the first fit
        return folder

    @classmethod
    def of(cls, results_dir: Path | str, experiment_name: str) -> "RunFolder":
        """Return the folder of an experiment, whether it exists or not.

        Raises
        ------
        UserError
            If an older or newer version made it.
        """
        if not experiment_name:
            raise UserError("the experiment needs a name: it names the results folder")
        folder = cls(Path(results_dir) / safe_name(experiment_name))
        folder.check_format()
        return folder

    @classmethod
    def open(cls, path: Path | str) -> "RunFolder":
        """Take the folder of an experiment that was run before; its last part may be the experiment's name.

        Raises
        ------
        UserError
            If there is none at `path`; experiments one level below are named. Or if an older or newer version made it.
        """
        path = Path(path)
        named = path.with_name(safe_name(path.name)) if path.name else path
        path = path if path.is_dir() or not named.is_dir() else named
        if not path.is_dir():
            raise UserError("there is no such results folder", path)
        if not (path / "config.yaml").is_file():
            inside = sorted(str(found.parent) for found in path.glob("*/config.yaml"))
            hint = f"; experiments below it: {', '.join(inside)}" if inside else ""
            raise UserError(f"not the results folder of an experiment: it holds no config.yaml{hint}", path)
        folder = cls(path)
        folder.check_format()
        return folder

    @staticmethod
    def is_awaited(path: Path) -> bool:
        """Whether there is no folder of an experiment at `path` yet, nor anything else: a run may still begin there."""
        named = path.with_name(safe_name(path.name)) if path.name else path
        path = path if path.exists() else named
        if not path.is_dir():
            return not path.exists()
        begun = any((path / name).exists() for name in CONTENTS)
        return not begun and ((path / MARK).exists() or not any(path.iterdir()))

    def check_format(self) -> None:
        """Refuse a folder that another version of mlrank wrote in another format.

        Raises
        ------
        UserError
        """
        # Before the mark is looked for: a process that starts at this moment writes the mark first.
        filled = any((self.path / name).exists() for name in CONTENTS)
        path = self.path / MARK
        if path.exists():
            with os_errors("read the format", path):
                content = path.read_bytes()
            try:
                found = int(json.loads(content)["format"])
            except (ValueError, KeyError, TypeError) as error:
                raise UserError("damaged mark of the results folder's format", path) from error
        else:
            found = FORMAT - 1 if filled else FORMAT
        _check_format(found, self.path)

    def write_mark(self) -> None:
        """Write which format the folder has."""
        self.write_text(MARK, dump_json({"format": FORMAT}))

    @property
    def journal(self) -> Journal:
        """The journal of finished trials."""
        return Journal(self.path / "trials.jsonl")

    def sweep(self) -> None:
        """Remove files that killed processes left half written, right after `create`; others may be at work."""
        sweep_parts(self.path, (self.path / MARK).stat().st_mtime)

    def write_config(self, config: Mapping[str, object]) -> None:
        """Write the resolved configuration, keys in the order given."""
        from mlrank.yamlfile import dump_yaml  # workers need records, and no YAML

        self.write_mark()
        write_atomic(self.path / "config.yaml", dump_yaml(dict(config)).encode())

    def read_config(self) -> "YamlMapping":
        """Return the resolved configuration as plain values.

        Raises
        ------
        UserError
            If config.yaml is missing or damaged.
        """
        from mlrank.yamlfile import load_yaml

        config = load_yaml(self.path / "config.yaml")[0]
        _take_up_own_metrics(config.get("own_metrics"))
        return config

    def write_environment(self) -> dict[str, object]:
        """Write environment.json and return what is in it."""
        found = environment()
        self.write_text("environment.json", dump_json(found))
        return found

    def write_text(self, name: str, text: str) -> Path:
        """Write a text file at `name`, a path below the folder, and return its full path."""
        path = self.path / name
        write_atomic(path, text.encode())
        return path

    def log(self, event: Mapping[str, object]) -> None:
        """Append `event`, with the time, to log.jsonl."""
        path = self.path / "log.jsonl"
        line = dump_json({"time": datetime.now(UTC).isoformat(timespec="milliseconds"), **event}, indent=None)
        make_folder(self.path)
        with os_errors("write the log", path), open(path, "a", encoding="utf-8") as handle:
            handle.write(line)

    def write_run(
        self, record: RunRecord, arrays: Mapping[str, npt.NDArray[Any]], model: ArchiveContent | None = None
    ) -> None:
        """Write one run; it replaces an earlier run of the same dataset, split and method.

        `model` is the content of a model file.

        Raises
        ------
        UserError
            If the system refuses, or the file holds another run because the disk does not tell letter case.
        """
        path = self._run_path(*record.names)
        old = _read_record(path)
        if old is not None and old.names != record.names:
            message = f"this disk does not tell letter case, and the file already holds the run {old.label}"
            raise UserError(message, path)
        arrays_path, model_path = (path.with_suffix(ending) for ending in (".npz", ".model"))
        with os_errors("replace the run", path):
            # The old JSON goes first: with new arrays beside it, it would look complete.
            path.unlink(missing_ok=True)
            arrays_path.unlink(missing_ok=True)
            model_path.unlink(missing_ok=True)
        if arrays:
            write_atomic(arrays_path, npz_bytes(arrays))
        if model is not None:
            write_archive(model_path, model)
        write_atomic(path, dump_json(record.to_json()).encode())

    def find_run(self, dataset: str, split: str, method: str) -> RunRecord | None:
        """Return the record of one run, or None if it has not been run."""
        record = _read_record(self._run_path(dataset, split, method))
        return record if record is not None and record.names == (dataset, split, method) else None

    def write_planned(self, keys: Iterable[str]) -> None:
        """Say which runs belong to the present configuration; others stay on disk but are not shown."""
        self.write_text(PLANNED, dump_json(sorted(keys)))

    def runs(self) -> list[RunRecord]:
        """Return the records of the present configuration's runs, in the order of dataset, split and method in it.

        Runs that an earlier configuration of the same name left, with other splits, methods or settings, are passed
        over.

        Raises
        ------
        UserError
            If a record is damaged.
        """
        stored = map(_read_record, sorted(self.path.glob("runs/*/*/*.json")))
        records = [record for record in stored if record is not None]
        keys = self.planned_keys()
        if keys is not None:
            records = [record for record in records if record.key in keys]
        config: YamlMapping = self.read_config() if (self.path / "config.yaml").exists() else {}
        datasets = {name: place for place, entry in enumerate(config.get("datasets", ())) for name in _called(entry)}
        methods = {name: place for place, name in enumerate(config.get("methods", ()))}

        def order(record: RunRecord) -> tuple[Any, ...]:
            dataset, split, method = record.names
            place = datasets.get(dataset, len(datasets)), methods.get(method, len(methods))
            return place[0], dataset, _natural(split), place[1], method

        return sorted(records, key=order)

    def planned_keys(self) -> set[str] | None:
        """Return the keys of the runs that the present configuration asks for; None if that was never written.

        Raises
        ------
        UserError
            If the list is damaged.
        """
        path = self.path / PLANNED
        if not path.exists():
            return None
        with os_errors("read the planned runs", path):
            content = path.read_bytes()
        try:
            return set(json.loads(content))
        except (ValueError, TypeError) as error:
            raise UserError(
                "damaged list of the planned runs; start the experiment again to have it made", path
            ) from error

    def run_arrays(self, record: RunRecord) -> dict[str, npt.NDArray[Any]]:
        """Return the arrays of a run: scores, Y_pred, Y_true, rows, propensities, and known where some labels are not.

        A run of very many labels has the best scores of each row: labels and scores (n_rows, n_best), which of them are
        chosen, and the true_labels of row i at ``true_starts[i]:true_starts[i + 1]``; see `stored_predictions`.

        Raises
        ------
        UserError
            If they are missing or damaged.
        """
        path = self._run_path(*record.names).with_suffix(".npz")
        with os_errors("read the arrays of the run", path):
            content = io.BytesIO(path.read_bytes())
        try:
            check_unpacked_size(content)
            with np.load(content, allow_pickle=False) as stored:
                return {name: stored[name] for name in stored.files}
        except DAMAGED as error:
            message = "damaged arrays of a run; delete the run's .json and .npz to have it done again"
            raise UserError(message, path) from error

    def write_names(self, dataset: str, data_hash: str, names: DataNames) -> None:
        """Write the names of a data set's labels, features and rows, which readers of its runs need."""
        path = self._names_path(dataset, data_hash)
        values = {"labels": short_names(names.labels), "features": short_names(names.features)}
        if names.rows is not None:
            values["rows"] = short_names(names.rows)
        content = dump_json(values).encode()
        if not path.exists() or path.read_bytes() != content:
            write_atomic(path, content)

    def names(self, record: RunRecord) -> DataNames:
        """Return the names of the labels and features of a run's data, in the order of its arrays.

        Raises
        ------
        UserError
            If they are missing or damaged.
        """
        path = self._names_path(record.dataset.name, record.dataset.hash)
        with os_errors("read the names of the data set", path):
            content = path.read_bytes()
        try:
            values = json.loads(content)
            rows = _full_names(values["rows"]) if "rows" in values else None
            names = DataNames(_full_names(values["labels"]), _full_names(values["features"]), rows)
            if (len(names.labels), len(names.features)) != (record.dataset.n_labels, record.dataset.n_features):
                raise ValueError("of another data set")
        except (ValueError, KeyError, TypeError) as error:
            message = "damaged names of a data set; delete the file and start the experiment again to have it made"
            raise UserError(message, path) from error
        return names

    def _names_path(self, dataset: str, data_hash: str) -> Path:
        return self.path / "names" / f"{safe_name(f'{dataset}-{data_hash}')}.json"

    def model_path(self, dataset: str, split: str, method: str) -> Path:
        """Return where the model of a run is, if it could be stored."""
        return self._run_path(dataset, split, method).with_suffix(".model")

    def _run_path(self, dataset: str, split: str, method: str) -> Path:
        return self.path / "runs" / safe_name(dataset) / safe_name(split) / f"{safe_name(method)}.json"


def _check_format(found: int, path: Path) -> None:
    if found != FORMAT:
        age = "an older" if found < FORMAT else "a newer"
        message = f"made by {age} version of mlrank, in format {found} (this one reads {FORMAT}); choose another "
        raise UserError(f"{message}--results folder or delete it", path)


def _take_up_own_metrics(declared: Any) -> None:
    """Have the metrics of the user's own that a configuration declares known by name, without their code."""
    for name, one in declared.items() if isinstance(declared, dict) else ():
        if is_path(name) and isinstance(one, dict):
            higher, needs = one.get("higher_is_better"), one.get("needs")
            if isinstance(higher, bool) and needs in ("scores", "sets"):
                METRICS.describe(name, higher, needs)


def _read_record(path: Path) -> RunRecord | None:
    """Return the record of a run, None if there is none: another process may be about to replace it."""
    with os_errors("read the run", path):
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            return None
    try:
        values = json.loads(content)
        if (found := values["format"]) == FORMAT:
            return RunRecord.from_json(values)
        found = int(found)
    except (ValueError, KeyError, TypeError) as error:
        raise UserError("damaged record of a run; delete it to have the run done again", path) from error
    _check_format(found, path)
    raise AssertionError("only another format gets here")


def _full_names(value: Any) -> tuple[str, ...]:
    if isinstance(value, dict):
        return tuple(map(str, range(value["from"], value["from"] + value["count"])))
    if not (isinstance(value, list) and all(isinstance(name, str) for name in value)):
        raise ValueError("names are a list of texts")
    return tuple(value)


def _called(entry: Any) -> list[str]:
    """Return the names by which records may call a dataset of the configuration."""
    if isinstance(entry, Mapping):
        entry = entry.get("name") or entry.get("train")
    if not isinstance(entry, str):
        return []
    path = Path(entry)
    return [entry, path.name, path.stem, path.name.partition(".")[0]]


def _natural(name: str) -> list[tuple[int, str]]:
    """Return a sort key by which "r2" comes before "r10"."""
    return [(int(part or 0), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name)]
