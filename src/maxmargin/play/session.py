"""The session of the page: a pure function from a request to a reply, which knows no web.

The local server, the recorded figures of the documentation and the notebook widget all call it. A
request is a mapping of plain values; `ask` names what is wanted:

    fit       the model, its certificate, its code, and every step that led to it
    columns   the kernel columns of some points on a grid, from which a browser draws f at any step
    at        the library's numbers at a step: coefficients, f at the points, the conditions
    matrix    the kernel matrix sorted by class, and its spectrum
    csv       the points of a CSV text

Invariant: whatever a request holds, the reply is an answer or a RequestError in plain words.
"""

import numpy as np

from maxmargin.files.access import plain
from maxmargin.inspection import kkt_report
from maxmargin.inspection.kkt import KERNEL_MACHINES
from maxmargin.play.fitting import CLASSIFIERS, REGRESSORS, fitted
from maxmargin.play.limits import (
    MOST_IN_MATRIX,
    RequestError,
    grid_of,
    items,
    keys,
    one_of,
    spec_of,
    whole,
)
from maxmargin.play.points import from_csv
from maxmargin.play.wire import Reply
from maxmargin.problems.certificate import prove
from maxmargin.problems.trace import REASONS, REFUSALS

SPEC_KEYS = ("ask", "data", "model", "solver")
STEP_NUMBERS = (
    "error_i", "error_j", "eta", "L", "H", "unclipped", "clipped", "alpha_i", "b", "spread",
    "objective", "gap", "violation",
)  # fmt: skip
STEP_COUNTS = ("problem", "i", "j", "refused")
MOST_REFUSED = 20_000  # A page gets at most this many rows of the table of refusals.


def reply_to(request):
    """The reply to a request, whatever its content."""
    if not isinstance(request, dict):
        raise RequestError("a request must be a mapping.")
    return ASKED[one_of(request.get("ask"), "ask", tuple(ASKED))](request)


# The fit.


def fit(request):
    keys(request, "the request", (*SPEC_KEYS, "grid"))
    found = fitted(spec_of(request))
    header, arrays = _model(found)
    if request.get("grid") is not None:
        arrays["field"] = field_on(found, grid_of(request["grid"]))
    if found.has_steps:
        arrays |= _steps(found.model.trace_)
    return Reply(header, arrays)


def _model(found):
    model, points = found.model, found.points
    decisions = found.decisions(found.rows)
    header = {
        "n": len(points.X),
        "model": found.name,
        "classes": _class_names(found),
        "machines": [_machine(found, k) for k in range(len(found.machines))],
        "kernel": repr(model.kernel_),
        "gamma": getattr(model.kernel_, "gamma", None),
        "intercept": model.intercept_,
        "n_support": len(model.support_),
        "n_iter": int(np.sum(model.n_iter_)),
        "converged": bool(model.converged_),
        "score": _score(found),
        "certificate": _certificate(model.certificate_),
        "conditions": [one._asdict() for one in kkt_report(model).conditions],
        "warnings": found.warnings,
        "code": found.code,
        "reasons": list(REASONS.values()),
        "refusals": list(REFUSALS.values()),
        "has_steps": found.has_steps,
    }
    arrays = {
        "X": points.X,
        "label": found.labels.astype(np.int32),
        "weight": points.weight,
        "coef": found.coef,
        "bound": found.bounds,
        "decision": decisions,
        "is_support": np.isin(np.arange(len(points.X)), model.support_).astype(np.uint8),
    }
    for k, machine in enumerate(found.machines):
        arrays[f"rows{k}"] = machine.rows.astype(np.int32)
        arrays[f"sign{k}"] = machine.signs
        if found.has_steps:
            start = model.trace_.start(k)
            arrays |= {f"start{k}": start.coef, f"box{k}": start.box, f"turn{k}": start.signs}
    return plain(header), arrays


def _machine(found, position):
    machine, model = found.machines[position], found.model
    start = model.trace_.start(position) if found.has_steps else None
    return {
        "classes": machine.classes,
        "b": float(np.ravel(model.intercept_)[position]),
        "start_b": 0.0 if start is None else start.b,
        "start_spread": 0.0 if start is None else start.spread,
    }


def _class_names(found):
    labels = found.model.classes_ if found.name in CLASSIFIERS else np.unique(found.points.y)
    return [str(label) for label in labels.tolist()]


def _score(found):
    """Accuracy of a classifier, R^2 of a regression, the share inside of a one-class machine."""
    if found.name == "one_class":
        return float(np.mean(found.model.predict(found.rows) > 0))
    return float(found.model.score(*found.training))


def _certificate(proof):
    names = ("primal_objective", "dual_objective", "duality_gap", "relative_gap", "kkt_violation",
             "tol", "n_zero", "n_free", "n_bound", "stationary", "optimal", "rounding")  # fmt: skip
    return {name: getattr(proof, name) for name in names}


def _steps(trace):
    steps, refused = trace.steps, trace.refused[:MOST_REFUSED]
    arrays = {f"step_{name}": steps[name] for name in STEP_NUMBERS}
    arrays |= {f"step_{name}": steps[name].astype(np.int32) for name in STEP_COUNTS}
    arrays["step_reason"] = steps["reason"].astype(np.int32)
    for name in ("step", "i", "j", "why"):
        arrays[f"refused_{name}"] = refused[name].astype(np.int32)
    return arrays


# On the grid.


def field_on(found, grid):
    """f in every cell (for a regression, in every column), machine by machine, as float32."""
    decisions = found.decisions(cells_of(found, grid))
    return np.ascontiguousarray(decisions.T, dtype=np.float32)


def cells_of(found, grid):
    """The middles of the cells, row by row from the bottom."""
    left, right, bottom, top = grid.view
    x = left + (np.arange(grid.nx) + 0.5) / grid.nx * (right - left)
    if found.name in REGRESSORS:
        return x[:, None]
    y = bottom + (np.arange(grid.ny) + 0.5) / grid.ny * (top - bottom)
    return np.column_stack([np.tile(x, grid.ny), np.repeat(y, grid.nx)])


def columns(request):
    keys(request, "the request", (*SPEC_KEYS, "grid", "rows"))
    found, grid = fitted(spec_of(request)), grid_of(request.get("grid"))
    n = len(found.points.X)
    rows = [whole(row, "a row", 0, n - 1) for row in items(request.get("rows"), "rows", n)]
    if not rows:
        return Reply(
            {"rows": []}, {"columns": np.empty((0, 0), dtype=np.float32), "gram": np.empty((0, n))}
        )
    of_cells = found.model.kernel_(found.rows[rows], cells_of(found, grid))
    of_points = found.model.kernel_(found.rows[rows], found.rows)
    arrays = {"columns": np.asarray(of_cells, dtype=np.float32), "gram": np.asarray(of_points)}
    return Reply({"rows": rows}, arrays)


# A step, and the matrix.


def at(request):
    """The library's numbers at a step, computed from the data alone."""
    keys(request, "the request", (*SPEC_KEYS, "step"))
    found = fitted(spec_of(request))
    if not found.has_steps:
        raise RequestError("the fast solver keeps no single steps; choose smo_steps.")
    steps = found.model.trace_.steps
    step = whole(request.get("step"), "step", 0, len(steps))
    position = int(steps["problem"][max(step - 1, 0)]) if len(steps) else 0
    before = int(np.sum(steps["problem"][:step] == position))
    coef = found.model.trace_.replay(position, before)
    proof = prove(found.problem(position), coef, found.parameters["tol"])
    words = KERNEL_MACHINES[type(found.model).__name__]
    certificate = proof.certificate
    conditions = [
        {"name": name, "words": say, "violation": value, "holds": value <= certificate.tol}
        for (name, value), say in zip(certificate.conditions.items(), words, strict=True)
    ]
    header = {
        "step": step,
        "problem": position,
        "certificate": _certificate(certificate),
        "conditions": conditions,
        "b": float(proof.bias.mean()),
        "spread": 0.5 * float(proof.bias[-1] - proof.bias[0]),
    }
    return Reply(plain(header), {"coef": coef, "expansion": proof.expansion})


def matrix(request):
    keys(request, "the request", SPEC_KEYS)
    found = fitted(spec_of(request))
    n = len(found.points.X)
    if n > MOST_IN_MATRIX:
        raise RequestError(
            f"the picture of the kernel matrix takes {MOST_IN_MATRIX} points, and these are {n}."
        )
    key = found.points.X[:, 0] if found.name in REGRESSORS else found.labels
    order = np.argsort(key, kind="stable")
    K = np.asarray(found.model.kernel_(found.rows[order]))
    spectrum = np.linalg.eigvalsh((K + K.T) / 2)[::-1]
    mercer = found.model.kernel_.positive_semidefinite
    return Reply(
        {"mercer": plain(mercer)},
        {"K": K.astype(np.float32), "order": order.astype(np.int32), "spectrum": spectrum.copy()},
    )


def csv(request):
    keys(request, "the request", ("ask", "text"))
    return Reply(from_csv(request.get("text")))


ASKED = {"fit": fit, "columns": columns, "at": at, "matrix": matrix, "csv": csv}
