"""The kernels that estimators know by a name."""

from maxmargin.kernels.custom import Precomputed
from maxmargin.kernels.distance import RBF, Laplacian
from maxmargin.kernels.dot import Linear, Polynomial, Sigmoid

SVM_NAMES = ("linear", "poly", "rbf", "sigmoid", "laplacian", "precomputed")
PAIRWISE_NAMES = (*SVM_NAMES, "polynomial", "cosine")  # sklearn.metrics.pairwise has these two.


def kernel_named(name, gamma="scale", degree=3, coef0=0.0):
    """The kernel of that name, with those of the parameters that it has.

    Examples
    --------
    >>> from maxmargin.kernels.named import kernel_named
    >>> kernel_named("poly", gamma=0.5, degree=2)
    Polynomial(degree=2, gamma=0.5)
    """
    if name in ("poly", "polynomial"):
        return Polynomial(degree, gamma, coef0)
    if name == "sigmoid":
        return Sigmoid(gamma, coef0)
    if name in ("rbf", "laplacian"):
        return RBF(gamma) if name == "rbf" else Laplacian(gamma)
    return {"linear": Linear(), "cosine": Linear().normalised(), "precomputed": Precomputed()}[name]
