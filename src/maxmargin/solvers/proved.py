"""Solve, then prove; and solve on where the proof finds less than the solver claims.

A solver stops by its own measure; the proof has the last word in both directions: what a solver
calls converged is not before every condition holds, and what stopped for another reason is
converged where they do and the gap is small. Where they hold but the gap is still large beside the
objective, more steps are made to narrow it, though no more than it took to come this far.
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
    tol, n_iter, best, was_proved = solver.tol, 0, None, False
    for _ in range(ATTEMPTS):
        found, proof = _attempt(
            solve, solver, problem, engine, budget.after(n_iter), start, tol, known
        )
        n_iter += found.n_iter
        best = _better(best, (found, proof))
        was_proved = was_proved or (found.converged and proof.stationary)
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
    stopped = _stopped(found, proof, was_proved)
    return replace(solution, n_iter=n_iter, stopped=stopped), proof


def _attempt(solve, solver, problem, engine, budget, start, tol, known):
    """What the solver finds, with f from the data, and its proof. After Ctrl-C there is no time for
    either: f is the solver's own, and proves nothing."""
    found = solve(solver, problem, engine, budget, start)
    with budget.clock("proof"):
        if found.stopped != "interrupted":
            try:
                found = replace(found, expansion=expansion_of(problem, found.coef, engine))
            except KeyboardInterrupt:
                found = replace(found, stopped="interrupted")
        recomputed = found.stopped != "interrupted"
        proof = certify(problem, found.coef, found.bias, tol, found.expansion, recomputed, **known)
    return found, proof


def _better(best, other):
    """The later of two solutions if it is proved, or if neither is and it violates less."""
    if best is None or other[1].stationary:
        return other
    is_nearer = other[1].recomputed and other[1].kkt_violation < best[1].kkt_violation
    return other if is_nearer and not best[1].stationary else best


def _stopped(last, proof, was_proved):
    """Why the fit ended, as the proof sees it; `last` is the last attempt, and `was_proved` whether
    a solver has come to its own goal and the proof has agreed."""
    if last.stopped == "interrupted" or (last.stopped == "no_margin" and not was_proved):
        return last.stopped
    if proof.stationary and (was_proved or proof.has_small_gap):
        return "converged"
    return "stalled" if last.converged else last.stopped
