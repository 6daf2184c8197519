"""The machines that the experiments compare: the text's solver beside the fast one.

Both solve the same problem, so they must find the same model; the slow one adds a record of every
iteration.
"""

import warnings

import numpy as np
from sklearn.metrics import balanced_accuracy_score

from maxmargin.errors import ConvergenceWarning
from maxmargin.estimators.svc import SVC
from maxmargin.estimators.validation import seed_of
from maxmargin.solvers import solver_named

C, GAMMA = 0.6, 2.0  # All experiments of the text use these.


def whole_seed(random_state):
    """A whole number, which NumPy and scikit-learn both take for a seed."""
    seed = seed_of(random_state)
    return int(seed.integers(2**31)) if isinstance(seed, np.random.Generator) else int(seed)


def random_pair_machine(X, y, C, gamma, seed, max_rounds):
    """An SVC fitted by random-pair SMO, with its trace.

    That solver may reach its limit of iterations first, which is a result here, so no warning.
    """
    solver = solver_named("smo_random_pair")(max_rounds=max_rounds)
    machine = SVC(C=C, gamma=gamma, solver=solver, random_state=seed, trace=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return machine.fit(X, y)


def comparison(fast, slow, X):
    """How far apart two machines for the same problem are, and the effort of the slow one."""
    best = fast.certificate_.dual_objective
    rounds = slow.trace_.rounds
    return {
        "iterations": len(rounds),
        "pairs_moved": slow.n_iter_[0],
        "converged": slow.converged_,
        "kkt_violation": slow.certificate_.kkt_violation,
        "objective": slow.certificate_.dual_objective,
        "relative_difference_of_objectives": (best - slow.certificate_.dual_objective) / best,
        "largest_difference_of_decisions": np.max(
            np.abs(fast.decision_function(X) - slow.decision_function(X))
        ),
        "last_accuracy": rounds["accuracy"][-1],
        "last_loss": rounds["loss"][-1],
        "last_movement": rounds["movement"][-1],
    }


def scores(model, X_train, X_test, y_train, y_test):
    """Accuracies; the balanced one, on the test rows, is the mean of those of the classes."""
    predicted = model.predict(X_test)
    return {
        "train_accuracy": np.mean(model.predict(X_train) == y_train),
        "test_accuracy": np.mean(predicted == y_test),
        "balanced_accuracy": balanced_accuracy_score(y_test, predicted),
    }
