"""The steps of a model, and advice about those that a file cannot hold."""

from sklearn.pipeline import Pipeline

from maxmargin.estimators.exchange import CLASSES


def steps_of(model):
    """The steps that do something, with their names; a model alone is its only step."""
    steps = model.steps if type(model) is Pipeline else [(type(model).__name__, model)]
    return [(name, step) for name, step in steps if step not in (None, "passthrough")]


def way_out(model, function, holds):
    """The end of a sentence that says what to do with a model that cannot be saved; `holds` says
    whether the function saves an estimator."""
    steps, is_pipeline = steps_of(model), isinstance(model, Pipeline)
    for name, step in steps:
        if type(step).__module__.startswith("sklearn.svm.") and type(step).__name__ in CLASSES:
            return f"; from_sklearn(model{f'[{name!r}]' if is_pipeline else ''}) is one"
    ours = [f"{function}(model[{name!r}], path)" for name, step in steps if holds(step)]
    others = [repr(name) for name, step in steps if not holds(step)]
    if not is_pipeline or not ours:
        return ""
    kept = f"; {_listed(others)} must be kept otherwise" if others else ""
    return f"; save its steps one by one, with {_listed(ours)}{kept}"


def _listed(words):
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))
