"""What to say of a model that a file cannot hold."""

from sklearn.pipeline import Pipeline

from maxmargin.estimators.exchange import CLASSES


def way_out(model, function, holds):
    """What works for a model of others that cannot be saved as it is, as the end of a sentence;
    `holds` says whether the function saves an estimator."""
    if isinstance(model, Pipeline):
        return _way_out_of_pipeline(model, function, holds)
    cls = type(model)
    is_theirs = cls.__module__.startswith("sklearn.svm.") and cls.__name__ in CLASSES
    return "; from_sklearn(model) is one" if is_theirs else ""


def _way_out_of_pipeline(pipeline, function, holds):
    steps = [(name, step) for name, step in pipeline.steps if step not in (None, "passthrough")]
    ours = [f"{function}(model[{name!r}], path)" for name, step in steps if holds(step)]
    others = [repr(name) for name, step in steps if not holds(step)]
    if not ours:
        return ""
    kept = f"; {_listed(others)} must be kept otherwise" if others else ""
    return f"; save its steps one by one, with {_listed(ours)}{kept}"


def _listed(words):
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))
