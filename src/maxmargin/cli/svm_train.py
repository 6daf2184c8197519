"""`maxmargin svm-train`: LIBSVM's flags, output and model file, fitted by maxmargin."""

import os
import warnings
from itertools import combinations

import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_predict

import maxmargin
from maxmargin import arrays, files
from maxmargin.cli.libsvm_flags import evaluation, files_of, parsed, read_rows
from maxmargin.cli.libsvm_probability import fit_sigmoids, save_with_sigmoids
from maxmargin.cli.messages import UsageError, write
from maxmargin.cli.models import check_libsvm_can_hold
from maxmargin.cli.work import fit_with_line
from maxmargin.errors import FileError
from maxmargin.files.libsvm_layout import KERNEL_TYPES, SVM_TYPES, groups_of, opponent_row

USAGE = "maxmargin svm-train [options] training_set_file [model_file]"
HELP = f"""usage: {USAGE}

Fit a support vector machine to lines of `label index:value index:value ...`, with indices from 1,
or to a table whose name ends in .csv or .tsv, with the label in its last column. The model file is
LIBSVM's; without a name it is that of the data and .model, in this folder.

  -s KIND      0 C-SVC, 1 nu-SVC, 2 one class, 3 epsilon-SVR, 4 nu-SVR [0]
  -t KERNEL    0 x.z, 1 (g x.z + r)^d, 2 exp(-g |x-z|^2), 3 tanh(g x.z + r), 4 precomputed [2]
  -d DEGREE    d of the polynomial kernel [3]
  -g GAMMA     g of the kernels [1 / number of features]
  -r COEF0     r of the kernels [0]
  -c COST      C, the price of an error; for -s 0, 3 and 4 [1]
  -n NU        at most this share of errors, at least of support vectors; -s 1, 2 and 4 [0.5]
  -p EPSILON   half the width of the tube without loss; for -s 3 [0.1]
  -wLABEL X    multiply C by X for the points of this label; for -s 0 [1]
  -m MB        memory for kernel rows [100]
  -e TOL       the violation of the optimality conditions at which the fit ends [0.001]
  -h 0|1       shrinking, which changes nothing here [1]
  -b 0|1       fit probabilities too; for -s 0 and 1 [0]
  -v FOLDS     report the accuracy or error of cross validation, and write no model
  -q           print nothing
  --help       print this

Data for -t 4: `label 0:number 1:k(x, x1) 2:k(x, x2) ...`, where number counts the rows from 1.
"""
KINDS = {
    "s": int, "t": int, "d": int, "g": float, "r": float, "c": float, "n": float, "p": float,
    "m": float, "e": float, "h": int, "b": int, "v": int,
}  # fmt: skip
# These are in the order of LIBSVM's numbers.
CLASSES, KERNELS = tuple(SVM_TYPES.values()), tuple(KERNEL_TYPES.values())
PARAMETERS = {
    "d": "degree", "g": "gamma", "r": "coef0", "c": "C", "n": "nu", "p": "epsilon",
    "m": "cache_size", "e": "tol",
}  # fmt: skip


def main(arguments):
    weights = {}
    options, rest = parsed("svm-train", arguments, KINDS, flags=("q",), weights=weights)
    names = files_of("svm-train", USAGE, rest, 1, 2)
    model_path = names[1] if len(names) > 1 else os.path.basename(names[0]) + ".model"
    model = estimator_of(options, weights)
    if options.get("b") and not is_classifier(model):
        raise UsageError("svm-train: -b 1 is for classification, -s 0 or -s 1.")
    if "v" not in options:
        check_libsvm_can_hold(model_path)
    X, y = training_data(names[0], model)
    _drop_absent_labels(model, y)
    if "v" in options:
        write(cross_validated(model, X, y, options["v"]))
        return
    if options.get("q"):
        model.fit(X, y)
    else:
        fit_with_line(model, X, y)
        write(report(model, X, y))
    if options.get("b"):
        save_with_sigmoids(model, fit_sigmoids(model, X, y), model_path)
    else:
        files.save_libsvm(model, model_path)


def estimator_of(options, weights):
    """The unfitted estimator that LIBSVM's options describe, with LIBSVM's defaults."""
    kind, kernel = options.get("s", 0), options.get("t", 2)
    if not 0 <= kind < len(CLASSES):
        raise UsageError(f"svm-train: -s must be 0 to {len(CLASSES) - 1}, got {kind}.")
    if not 0 <= kernel < len(KERNELS):
        raise UsageError(f"svm-train: -t must be 0 to {len(KERNELS) - 1}, got {kernel}.")
    for letter in ("b", "h"):
        if options.get(letter, 0) not in (0, 1):
            raise UsageError(f"svm-train: -{letter} must be 0 or 1, got {options[letter]}.")
    cls = getattr(maxmargin, CLASSES[kind])
    known = cls._get_param_names()
    chosen = {PARAMETERS[one]: value for one, value in options.items() if one in PARAMETERS}
    chosen = {"gamma": "auto", "cache_size": 100.0, **chosen}
    if weights and cls is maxmargin.SVC:  # LIBSVM ignores them elsewhere
        chosen["class_weight"] = weights
    chosen = {name: value for name, value in chosen.items() if name in known}
    return cls(kernel=KERNELS[kernel], shrinking=bool(options.get("h", 1)), **chosen)


def training_data(path, model):
    if model.kernel == "precomputed":
        X, y = _gram_of(path)
    else:
        X, y = read_rows(path)
    if is_classifier(model) and y.dtype.kind != "i":
        raise FileError(f"{path}: labels must be whole numbers.")
    return X, y


def _gram_of(path):
    """The matrix and labels from rows of `label 0:serial 1:k(x, x_1) 2:k(x, x_2) ...`."""
    table, y, *_ = files.read_data(path, format="svmlight", zero_based=True)
    table = table.toarray()
    n = len(y)
    if table.shape[1] != n + 1 or not np.array_equal(table[:, 0], np.arange(1, n + 1)):
        raise FileError(
            f"{path}: a precomputed kernel needs rows of 0:number 1:value ... {n}:value."
        )
    return np.ascontiguousarray(table[:, 1:]), y


def _drop_absent_labels(model, y):
    """Drop the weights of labels that do not occur, with a warning, as in LIBSVM."""
    weights = getattr(model, "class_weight", None) or {}
    absent = sorted(set(weights) - set(y.tolist()))
    for label in absent:
        warnings.warn(f"-w{label}: there is no such label in the data", stacklevel=2)
    if absent:
        kept = {label: weight for label, weight in weights.items() if label not in absent}
        model.set_params(class_weight=kept or None)


def cross_validated(model, X, y, n_folds):
    if n_folds < 2:
        raise UsageError("svm-train: -v must be at least 2.")
    folds = StratifiedKFold if is_classifier(model) else KFold
    folds = folds(n_folds, shuffle=True, random_state=0)
    with warnings.catch_warnings():  # a class may be smaller than the number of folds
        warnings.filterwarnings("ignore", "The least populated class")
        predicted = cross_val_predict(model, X, y, cv=folds)
    return evaluation(y, predicted, is_regressor(model), prefix="Cross Validation ")


def report(model, X, y):
    """LIBSVM's lines about each binary problem."""
    proofs = model.certificate_.parts or (model.certificate_,)
    lines = []
    for k, proof in enumerate(proofs):
        lines += ["*", f"optimization finished, #iter = {np.atleast_1d(model.n_iter_)[k]}"]
        name, value = _third_number(model, proof, k, X, y)
        lines += [f"{name} = {value:f}"] if value is not None else []
        objective = -proof.dual_objective * (value**2 if name == "C" else 1.0)
        lines.append(f"obj = {objective:f}, rho = {-model.intercept_[k]:f}")
        lines.append(f"nSV = {proof.n_free + proof.n_bound}, nBSV = {proof.n_bound}")
    if is_classifier(model):
        lines.append(f"Total nSV = {int(np.sum(model.n_support_))}")
    return "\n".join(lines)


def _third_number(model, proof, k, X, y):
    """The one of C, nu and epsilon that the formulation leaves to the data, and its name.

    It uses that sum alpha = nu C n, if all points have the same C, and that epsilon is the residual
    of the points on the edge of the tube. The certificate of a nu-SVC has alpha <= 1, and LIBSVM's
    objective has alpha <= C.
    """
    kind, n = type(model).__name__, proof.n_zero + proof.n_free + proof.n_bound
    if kind == "NuSVC":
        return "C", _sum_of_alpha(model, k) / (model.nu * n)
    if kind == "NuSVR":
        coef = np.abs(arrays.dense(model.dual_coef_)[0])
        edge = model.support_[coef < coef.max(initial=0.0)]
        residual = np.abs(y[edge] - model.predict(arrays.take(X, edge))) if len(edge) else []
        return "epsilon", float(np.median(residual)) if len(edge) else None
    is_weighted = getattr(model, "class_weight", None) is not None
    if kind == "OneClassSVM" or is_weighted:
        return "nu", None
    return "nu", _sum_of_alpha(model, k) / (model.C * n)


def _sum_of_alpha(model, k):
    coef = np.abs(arrays.dense(model.dual_coef_))
    if not is_classifier(model) or len(model.classes_) == 2:
        return coef.sum()
    groups = groups_of(model.n_support_)
    i, j = list(combinations(range(len(groups)), 2))[k]
    return coef[opponent_row(i, j), groups[i]].sum() + coef[opponent_row(j, i), groups[j]].sum()
