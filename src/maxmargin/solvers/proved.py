"""Solve, then prove; and solve on where the proof finds less than the solver claims.

A solver stops by its own measure. The proof then takes its coefficients, computes Kc and the biases
from the data, and has the last word in both directions. What a solver calls converged is converged
only if every condition holds, and what stopped for another reason is converged if they hold and the
gap is small. Where a condition does not hold, the solver goes on from the Kc of the proof, with
kernel values in float64. Where all hold but the gap is still large beside the objective, more steps
narrow it, though no more than it took to come this far.
"""

from dataclasses import dataclass, replace

import numpy as np

from maxmargin.problems.certificate import Certificate, prove, slack_unit, unproved
from maxmargin.solvers.base import Solution

MORE = 0.1  # The next attempt has this share of the tolerance.
ATTEMPTS = 6  # The last of this many attempts has 1e-5 of the tolerance.
FEWEST_STEPS = 100  # At least this many steps per variable may be made beyond LIBSVM's tolerance.
CAN_GO_ON = ("converged", "stalled")


def solve_in_unit(solver, problem, budget, start=None):
    """Solve to LIBSVM's tolerance, and to tol in the unit of the problem if that is less.

    Small targets at an ordinary C are a hard problem, which may take for ever. So the steps beyond
    LIBSVM's tolerance are limited; where they do not suffice, the fit warns.
    """
    unit = slack_unit(problem)
    found = solver.solve(problem, budget, start)
    if unit >= 1.0 or not found.converged:
        return found
    left = budget.after(found.n_iter)
    more = left.limited(max(found.n_iter, FEWEST_STEPS * problem.n))
    finer = solver.with_tol(unit * solver.tol).solve(problem, more, found)
    if finer.stopped == "max_iter" and more.max_iter < left.max_iter:
        finer = replace(finer, stopped="coarse_tol")
    return replace(finer, n_iter=found.n_iter + finer.n_iter)


@dataclass(frozen=True)
class _Attempt:
    """The solution that a solver found, with Kc and biases from the data, and its certificate."""

    solution: Solution
    certificate: Certificate

    @property
    def is_proved(self):
        """Whether the solver has reached its own goal and the proof agrees."""
        return self.solution.converged and self.certificate.stationary

    @property
    def is_enough(self):
        proof = self.certificate
        return proof.rounding > proof.tol or (proof.stationary and proof.has_small_gap)

    def is_better_than(self, other):
        """Whether this attempt is better than an earlier one: it is proved, or neither is and it
        violates less."""
        if other is None or self.certificate.stationary:
            return True
        proof, last = self.certificate, other.certificate
        is_nearer = proof.recomputed and proof.kkt_violation < last.kkt_violation
        return is_nearer and not last.stationary


def solve_and_prove(solve, solver, problem, budget, start, certify=True, **known):
    """A solution, with Kc and biases from the data, and its certificate.

    `solve` is called with the solver and all that follows; `known` is what the certificate needs to
    know about the kernel. Without `certify`, Kc is the solver's own, and its word counts.
    """
    tol, n_iter, best, was_proved = solver.tol, 0, None, False
    if not certify:
        return _unproved(solve(solver, problem, budget, start), problem, tol, known)
    for _ in range(ATTEMPTS):
        found = _attempt(solve, solver, problem, budget.after(n_iter), start, tol, known)
        n_iter += found.solution.n_iter
        is_better, was_proved = found.is_better_than(best), was_proved or found.is_proved
        best = found if is_better else best
        if found.is_enough or not (is_better and found.solution.stopped in CAN_GO_ON):
            break
        if found.certificate.stationary:
            budget = budget.limited(n_iter + max(n_iter, FEWEST_STEPS * problem.n))
        solver, start = _next(solver, problem, found), found.solution
    if budget.trace is not None and not np.array_equal(best.solution.coef, found.solution.coef):
        budget.trace.complete = False  # the trace goes on beyond the model
    stopped = _stopped(found.solution, best.certificate, was_proved)
    return replace(best.solution, n_iter=n_iter, stopped=stopped), best.certificate


def _next(solver, problem, found):
    """The solver for the next attempt: it is more precise if rounding may have misled this one;
    else it has a smaller tolerance, if this one has reached its own."""
    is_misled = found.solution.stopped == "stalled" or not found.certificate.stationary
    if is_misled and solver != solver.precise_for(problem):
        return solver.precise_for(problem)
    return solver.with_tol(MORE * solver.tol) if found.solution.converged else solver


def _attempt(solve, solver, problem, budget, start, tol, known):
    """What the solver finds, and its proof. After Ctrl-C there is no time for a proof."""
    found = solve(solver, problem, budget, start)
    with budget.clock("proof"):
        proof = None
        if _is_worth_a_proof(found, problem, budget):
            told = _teller(found, tol, problem, budget)
            try:
                proof = prove(problem, found.coef, tol, told, **known)
            except KeyboardInterrupt:
                found = replace(found, stopped="interrupted")
        if proof is None:
            return _Attempt(*_unproved(_ended(found, budget), problem, tol, known))
    found = replace(found, expansion=proof.expansion, bias=proof.bias)
    return _Attempt(found, proof.certificate)


def _ended(found, budget):
    """The solution, ended by time or a callback if it has converged but its proof was cut short."""
    reason = "callback" if budget.may_still_prove() else "max_time"
    return replace(found, stopped=reason) if found.converged else found


def _teller(found, tol, problem, budget):
    """The function that hears how far the proof is; None without callbacks and time limit."""
    if not budget.callbacks and budget.deadline == np.inf:
        return None
    return budget.teller(
        n_iter=found.n_iter,
        violation=found.violation,
        tol=tol,
        objective=problem.objective(found.coef, found.expansion),
        n_support=np.count_nonzero(found.coef),
    )


def _is_worth_a_proof(found, problem, budget):
    """Whether a proof is begun: always, unless the fit was cut short with no time for it."""
    if found.stopped in ("max_time", "callback"):
        return budget.has_time_to_prove(problem.seconds_to_expand(found.coef))
    return found.stopped != "interrupted"


def _unproved(found, problem, tol, known):
    """The solution with a certificate from the solver's own Kc, which proves nothing."""
    proof = unproved(problem, found.coef, tol, found.expansion, **known)
    return replace(found, bias=proof.bias), proof.certificate


def _stopped(last, proof, was_proved):
    """Why the fit ended according to the proof; `last` is the solution of the last attempt."""
    if last.stopped == "interrupted" or (last.stopped == "no_margin" and not was_proved):
        return last.stopped
    if proof.stationary and (was_proved or proof.has_small_gap):
        return "converged"
    return "stalled" if last.converged else last.stopped
