"""`maxmargin svm-predict`: LIBSVM's flags and output, for its model files and ours alike."""

import numpy as np
from scipy import sparse
from sklearn.base import is_regressor

from maxmargin import files
from maxmargin.cli.libsvm_flags import evaluation, files_of, parsed, read_rows
from maxmargin.cli.libsvm_probability import probabilities, read_sigmoids
from maxmargin.cli.messages import write
from maxmargin.errors import FileError
from maxmargin.files.access import replacing

USAGE = "maxmargin svm-predict [options] test_file model_file output_file"
HELP = f"""usage: {USAGE}

Predict the label or value of every line of test_file, `label index:value ...` or a table in .csv as
svm-train takes it, with a model that svm-train has written, ours or LIBSVM's; print how many are
right, or the mean squared error.

  -b 0|1       write the probability of each label too; needs a model trained with -b 1 [0]
  -q           print nothing
  --help       print this
"""


def main(arguments):
    options, rest = parsed("svm-predict", arguments, {"b": int}, flags=("q",))
    test_path, model_path, output_path = files_of("svm-predict", USAGE, rest, 3, 3)
    model, X, y = model_and_rows(model_path, test_path)
    sigmoids, wants = read_sigmoids(model_path), bool(options.get("b"))
    if wants and sigmoids is None:
        raise FileError(f"{model_path}: has no probabilities of labels; train it with -b 1.")
    lines = []
    if wants:
        labels, shares = sigmoids[0], probabilities(model, sigmoids, X)
        predicted = labels[shares.argmax(axis=1)]
        lines.append("labels " + " ".join(map(str, labels)))
        for label, row in zip(predicted, shares, strict=True):
            lines.append(f"{label} " + " ".join(f"{share:.17g}" for share in row))
    else:
        predicted = model.predict(X)
        lines += [f"{value:.17g}" for value in predicted.tolist()]
    with replacing(output_path) as file:
        file.write(("\n".join(lines) + "\n").encode())
    if not options.get("q"):
        if sigmoids is not None and not wants:
            write("Model supports probability estimates, but disabled in prediction.")
        write(evaluation(y, predicted, is_regressor(model)))


def model_and_rows(model_path, test_path):
    """The model and the test rows, with as many features as either has, as LIBSVM's files do not
    say how many there are."""
    model = files.load_libsvm(model_path)
    if model.kernel == "precomputed":
        table, y, *_ = files.read_data(test_path, format="svmlight", zero_based=True)
        n_rows = table.shape[1] - 1
        if n_rows < model.n_features_in_:
            raise FileError(f"{test_path}: has {n_rows} values a row, too few for the model.")
        X = np.ascontiguousarray(table.toarray()[:, 1:])
        return files.load_libsvm(model_path, n_features=n_rows), X, y
    X, y = read_rows(test_path)
    width = max(X.shape[1], model.n_features_in_)
    if model.n_features_in_ < width:
        model = files.load_libsvm(model_path, n_features=width)
    return model, sparse.csr_matrix((X.data, X.indices, X.indptr), shape=(len(y), width)), y
