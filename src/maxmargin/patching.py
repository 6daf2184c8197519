"""Our classes in place of scikit-learn's, so that `from sklearn.svm import SVC` means ours."""

import logging
from importlib import import_module

import maxmargin

logger = logging.getLogger("maxmargin")

_originals: dict[str, type] = {}


def patched_names():
    """The names that scikit-learn's `sklearn.svm` and this library share."""
    svm = import_module("sklearn.svm")
    return [name for name in svm.__all__ if name in maxmargin.__all__]


def patch_sklearn():
    """Swap the classes in `sklearn.svm` for ours, for imports from now on.

    Names that were imported before keep their meaning. Calling it twice changes nothing.

    Examples
    --------
    >>> import maxmargin
    >>> maxmargin.patch_sklearn()
    >>> from sklearn.svm import SVC
    >>> SVC is maxmargin.SVC
    True
    >>> maxmargin.unpatch_sklearn()
    """
    svm = import_module("sklearn.svm")
    names = [name for name in patched_names() if name not in _originals]
    for name in names:
        _originals[name] = getattr(svm, name)
        setattr(svm, name, getattr(maxmargin, name))
    if names:
        logger.info("sklearn.svm now holds maxmargin's %s.", ", ".join(names))


def is_patched():
    return bool(_originals)


def unpatch_sklearn():
    """Restore the classes of `sklearn.svm`."""
    svm = import_module("sklearn.svm")
    names = list(_originals)
    for name in names:
        setattr(svm, name, _originals.pop(name))
    if names:
        logger.info("sklearn.svm holds its own %s again.", ", ".join(names))
