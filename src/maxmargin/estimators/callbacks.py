"""scikit-learn's callbacks (`sklearn.callback`, experimental, from 1.9 on) at the fits of SVMs.

A fit is a tree of tasks: "fit", below it one "problem" per binary problem, below that one "slice"
per slice of the solver's work. A callback whose `on_fit_task_end` returns True on a slice ends the
fit, which keeps the model so far. This is the only file that knows the protocol; with an older
scikit-learn estimators have no `set_callbacks`, and nothing here does anything.
"""

try:
    from sklearn.callback import CallbackSupportMixin as CallbackSupport
    from sklearn.callback import with_callbacks
except ImportError:  # scikit-learn before 1.9

    class CallbackSupport:  # type: ignore[no-redef]
        """An empty mixin, because there are no callbacks to support."""

    def with_callbacks(method):
        return method


def fit_told(estimator, budget, n_problems, work, X, y, sample_weight):
    """What `work` returns; the callbacks of `set_callbacks` hear of its progress.

    `work` solves `n_problems` problems one after the other within `budget`, and keeps the model.
    """
    if not hasattr(estimator, "_skl_callbacks"):
        return work()
    given = {"X": X, "y": y, "metadata": {"sample_weight": sample_weight}}
    return _tell(estimator, budget, n_problems, work, given)


@with_callbacks  # this tears the callbacks down, whatever happens
def _tell(estimator, budget, n_problems, work, given):
    fit = estimator._init_callback_context(max_subtasks=n_problems)
    fit.call_on_fit_task_begin(estimator=estimator, **given)
    slices = _Slices(estimator, fit)
    budget.callbacks = [*budget.callbacks, slices]
    result = work()
    slices.end()
    fit.call_on_fit_task_end(estimator=estimator, reconstruction_attributes={}, **given)
    return result


class _Slices:
    """A callback of ours that calls scikit-learn's: each report ends one slice and begins another.

    There is no model yet in the middle of a solver's work, so no `fitted_estimator` is given there.
    """

    def __init__(self, estimator, fit):
        self._estimator, self._fit = estimator, fit
        self._position = self._problem = self._slice = None

    def __call__(self, progress):
        if progress.problem != self._position:
            self.end()
            self._position = progress.problem
            self._problem = self._begun(self._fit, task_name="problem", max_subtasks=None)
            self._slice = self._begun(self._problem, task_name="slice")
        stop = self._slice.call_on_fit_task_end(estimator=self._estimator)
        self._slice = self._begun(self._problem, task_name="slice")
        return stop

    def _begun(self, parent, **task):
        context = parent.subcontext(**task)
        context.call_on_fit_task_begin(estimator=self._estimator)
        return context

    def end(self):
        """End the slice that is under way, and its problem, because every task must end."""
        for context in (self._slice, self._problem):
            if context is not None:
                context.call_on_fit_task_end(estimator=self._estimator)
        self._slice = self._problem = None
