"""What every estimator says of small data, by this process or by one in which much is missing.

As a script, `what_is_said.py FILE MISSING...` hides what a platform may lack, then writes its
answers to the file. The names of what can be missing are those of `HIDE`.
"""

import os
import pickle
import sys
import threading
import warnings


def no_numba():
    sys.modules["numba"] = None  # from now on, its import fails


def no_threads():
    def refuse(thread):
        raise RuntimeError("can't start new thread")

    threading.Thread.start = refuse


def no_system():
    """What only some systems tell of themselves."""
    for name in ("sched_getaffinity", "fork", "register_at_fork", "sysconf"):
        delattr(os, name)
    sys.modules["psutil"] = None  # which asks the system, where joblib finds it


HIDE = {one.__name__: one for one in (no_numba, no_threads, no_system)}
N_ROWS = 30


def said_of_all():
    """For each estimator of `EVERY`: its numbers, and whether it kept the other promises."""
    from every_estimator import EVERY

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return {title: said_by(make()) for title, make in EVERY.items()}


def said_by(model):
    from every_estimator import IGNORED, answers, data_for, numbers
    from sklearn.base import clone

    for one in IGNORED:
        action, _, category = one.split(":")
        warnings.simplefilter(action, _class_named(category))
    if "tol" in model.get_params():
        model.set_params(tol=1e-8)  # so that the answer does not depend on the way to it
    X, y = data_for(model, n=N_ROWS)
    fitted, again = model.fit(X, y), clone(model).fit(X, y)
    certificate = getattr(fitted, "certificate_", None)
    return {
        "numbers": numbers(fitted, X),
        "is optimal": None if certificate is None else bool(certificate.optimal),
        "is the same when cloned": answers(again, X) == answers(fitted, X),
        "is the same from a file": answers(_from_file(fitted), X) == answers(fitted, X),
    }


def _class_named(path):
    module, _, name = path.rpartition(".")
    __import__(module)
    return getattr(sys.modules[module], name)


def _from_file(model):
    import tempfile

    import maxmargin

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.mm")
        maxmargin.save(model, path)
        return maxmargin.load(path)


if __name__ == "__main__":
    for missing in sys.argv[2:]:
        HIDE[missing]()
    said = said_of_all()
    with open(sys.argv[1], "wb") as file:
        pickle.dump(said, file)
