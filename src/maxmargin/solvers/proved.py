"""Solve, then prove; and solve on where the proof finds less than the solver claims.

A solver stops by its own measure; the proof has the last word in both directions: what a solver
calls converged is not before every condition holds, and what stopped for another reason is
converged where they do. Where they hold but the gap is still large beside the objective, more steps
are made to narrow it, though no more than it took to come this far.
"""

from dataclasses import replace

from maxmargin.problems.certificate import certify, slack_unit
from maxmargin.solvers.base import expansion_of

MORE = 0.1  # of the tolerance, for the next attempt
ATTEMPTS = 6  # the last of them at 1e-5 of the tolerance
FEWEST_STEPS = 100  # for every variable, beyond LIBSVM's tolerance


def solve_in_unit(solver, problem, engine, budget, start=None):
    """Solve to LIBSVM's tolerance, and to tol in the unit of the problem if that is less.

    Small targets at an ordinary C are a hard problem, which may take for ever. So the steps beyond
    LIBSVM's tolerance are limited; where they do not suffice, the fit warns.
    """
    unit = slack_unit(problem)
    found = solver.solve(problem, engine, budget, start)
    if unit >= 1.0 or not found.converged:
        return found
    left = budget.after(found.n_iter)
    more = left.limited(max(found.n_iter, FEWEST_STEPS * problem.n))
    finer = solver.with_tol(unit * solver.tol).solve(problem, engine, more, found.coef)
    if finer.stopped == "max_iter" and more.max_iter < left.max_iter:
        finer = replace(finer, stopped="coarse_tol")
    return replace(finer, n_iter=found.n_iter + finer.n_iter)


def solve_and_prove(solve, solver, problem, engine, budget, start, **known):
    """A solution, with f from the data, and its certificate.

    `solve` is called with the solver and all that follows; `known` is what the certificate is told
    of the kernel.
    """
    n_iter, tol, best = 0, solver.tol, None
    for _ in range(ATTEMPTS):
        found = solve(solver, problem, engine, budget.after(n_iter), start)
        n_iter += found.n_iter
        with budget.clock("proof"):
            expansion = _expansion_of(found, problem, engine)
            recomputed = found.stopped != "interrupted"
            proof = certify(problem, found.coef, found.bias, tol, expansion, recomputed, **known)
        stopped = _stopped(found, proof)
        if best is None or proof.stationary:
            stopped = stopped if best is None else "converged"
            best = replace(found, expansion=expansion, stopped=stopped), proof
        if found.stopped != "converged" or proof.rounding > tol:
            break
        if proof.stationary and proof.has_small_gap:
            break
        if proof.stationary:
            budget = budget.limited(n_iter + max(n_iter, FEWEST_STEPS * problem.n))
        solver, start = solver.with_tol(MORE * solver.tol), found.coef
    solution, proof = best
    if budget.trace is not None and solution.coef is not found.coef:
        budget.trace.complete = False  # it goes on to where the model is not
    stopped = found.stopped if found.stopped == "interrupted" else solution.stopped
    return replace(solution, n_iter=n_iter, stopped=stopped), proof


def _expansion_of(solution, problem, engine):
    """f from the data; the solver's own where Ctrl-C leaves no time for that."""
    if solution.stopped == "interrupted":
        return solution.expansion
    return expansion_of(problem, solution.coef, engine)


def _stopped(solution, proof):
    """Why the fit ended, as the proof sees it."""
    if solution.converged:
        return "converged" if proof.stationary else "stalled"
    if solution.stopped in ("interrupted", "no_margin"):
        return solution.stopped
    return "converged" if proof.stationary and proof.has_small_gap else solution.stopped
