"""The limits of a fit that iterates: time, callbacks, a line of progress, and Ctrl-C.

Invariant: whatever ends the fit early, the model so far is kept; an error leaves the estimator
exactly as it was.
"""

from contextlib import contextmanager
from functools import partial

from maxmargin.estimators.callbacks import CallbackSupport, fit_told
from maxmargin.estimators.parameters import SVM_CONSTRAINTS
from maxmargin.estimators.progress import ProgressLine
from maxmargin.solvers.base import Budget

LIMITS = {name: SVM_CONSTRAINTS[name] for name in ("max_time", "callbacks", "verbose")}


class LimitedFit(CallbackSupport):
    """What estimators with `max_time`, `callbacks` and `verbose` share.

    A subclass writes `_prepared`, which checks everything and returns the number of problems and a
    function of the budget that solves them, keeps the model and returns the solutions.
    """

    def _fit_within_limits(self, X, y, sample_weight, max_iter):
        """The solutions of all problems. After Ctrl-C the model so far is kept, and
        KeyboardInterrupt is raised."""
        with restored_on_error(self):
            n_problems, solve_and_keep = self._prepared(X, y, sample_weight)
            with ProgressLine(self.verbose) as line:
                callbacks = [*(self.callbacks or ()), *([] if line.is_silent else [line])]
                budget = Budget(max_iter, self.max_time, callbacks, trace=self._new_trace())
                work = partial(solve_and_keep, budget)
                solutions = fit_told(self, budget, n_problems, work, X, y, sample_weight)
                line.tell_times(budget.clock.seconds)
        if any(solution.stopped == "interrupted" for solution in solutions):
            raise KeyboardInterrupt
        return solutions

    def _new_trace(self):
        """Where the solver shall write its steps, if the estimator has a `trace`."""
        return None

    def _end_of(self, solutions):
        """The words of a warning that say which limit ended the fits that were cut short.

        It is None where rounding, or steps that gain nothing, have ended all of them.
        """
        reasons = {one.stopped for one in solutions} - {"converged", "stalled"}
        if "max_time" in reasons:
            return f"at max_time={self.max_time} s"
        if "callback" in reasons:
            return "because a callback asked for it"
        return f"at max_iter={self.max_iter}" if reasons else None


@contextmanager
def restored_on_error(estimator):
    """Leave the estimator as it was when the block raises."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise
