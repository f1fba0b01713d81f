"""What a certificate means, with the numbers of runs put in."""

from collections.abc import Mapping, Sequence

from mlrank.records.run import RunRecord
from mlrank.solvers import SOLVERS, Capabilities
from mlrank.tables import Grid, Shown

__all__ = ["CERTIFICATES", "certificates_of"]

CERTIFICATES: Mapping[str, str] = {
    "gap": "relative duality gap (P - D) / P: P is the objective of the model, and no model has one below D",
    "residual": "relative residual |r| / |b|: r is what is left of the equations that a fit solves, b their right side",
    "backward error": "backward error |r| / |z|: r is what is left of the normal equations on the given rows, by its "
    "effect on scores, z the target where it is largest",
}
"""The definition of each kind of certificate; the module of a solver says what its objective and equations are."""
NONE = "none: nothing is solved, or the solver does not say of what kind its certificate is"


def certificates_of(records: Sequence[RunRecord]) -> Grid:
    """Return a row for each finished run: its certificate by the definition, and where the optimum lies."""
    rows, kinds = [], dict.fromkeys(map(_kind, records))
    for record in records:
        info, tol = record.fit, record.settings.get("tol")
        limit = f"at most tol = {tol:g}" if isinstance(tol, int | float) else "no tol: a closed form"
        reached = "reached" if info.converged else "not reached"
        named = map(Shown, (*record.names, _kind(record) or "-", _with_numbers(record)))
        rows.append((*named, Shown(f"{limit}: {reached}" if info.optimality is not None else "-")))
    header = ("data", "split", "method", "certificate", "with the numbers of the run", "asked for")
    notes = [CERTIFICATES.get(kind or "", NONE) for kind in kinds]
    return Grid("Certificates of the runs", header, "llllll", tuple(rows), tuple(notes))


def _kind(record: RunRecord) -> str | None:
    """Return what the certificate of a run is; records of earlier versions do not say."""
    known = SOLVERS.get(record.solver)
    return record.fit.certificate or (None if known is None else Capabilities.of(known).certificate)


def _with_numbers(record: RunRecord) -> str:
    """Return the definition of the certificate of a run with its numbers in the place of letters."""
    info, kind = record.fit, _kind(record)
    if info.optimality is None:
        return "-"
    if kind != "gap" or info.objective is None:
        letters = {"residual": "|r| / |b| = ", "backward error": "|r| / |z| = "}.get(kind or "", "")
        return f"{letters}{info.optimality:.3g}"
    P, D = info.objective, info.objective * (1.0 - info.optimality)
    return f"({P:.9g} - {D:.9g}) / {P:.9g} = {info.optimality:.3g}: the optimum is from {D:.9g} to {P:.9g}"
