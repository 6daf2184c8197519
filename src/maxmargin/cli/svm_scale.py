"""`maxmargin svm-scale`: LIBSVM's flags, output and file of ranges."""

import numpy as np

from maxmargin.cli.libsvm_flags import files_of, parsed, read_rows
from maxmargin.cli.messages import UsageError, say, write
from maxmargin.cli.scaling import Scaling

USAGE = "maxmargin svm-scale [options] data_filename"
HELP = f"""usage: {USAGE}

Bring every feature to one range and print the rows, `label index:value ...`. The data are such
rows, or a table whose name ends in .csv or .tsv, with the label in its last column. Scale test data
by the ranges of the training data: save these with -s, and apply them with -r.

  -l LOWER     where the smallest value of a feature goes [-1]
  -u UPPER     where the largest goes [1]
  -y LOWER UPPER    scale the targets too, to this range [they stay]
  -s FILE      save the ranges in this file
  -r FILE      apply the ranges of this file, and take none from the data
  --help       print this
"""
KINDS = {"l": float, "u": float, "y": float, "s": str, "r": str}
BLOCK_ENTRIES = 2**22  # This many entries are scaled and written at a time.


def main(arguments):
    options, rest = parsed("svm-scale", arguments, KINDS, counts={"y": 2})
    (path,) = files_of("svm-scale", USAGE, rest, 1, 1)
    if "s" in options and "r" in options:
        raise UsageError("svm-scale: -s and -r cannot be used together.")
    lower, upper = options.get("l", -1.0), options.get("u", 1.0)
    if not lower < upper:
        raise UsageError(f"svm-scale: -l must be below -u, got {lower:g} and {upper:g}.")
    X, y = read_rows(path)
    if "r" in options:
        scaling = Scaling.load(options["r"], n_features=X.shape[1])
        X.resize((X.shape[0], len(scaling.smallest)))
    else:
        target = (*options["y"], float(y.min()), float(y.max())) if "y" in options else None
        scaling = Scaling.to_range(X, lower, upper, target)
    if "s" in options:
        scaling.save(options["s"])
    n_written = _write_rows(X, scaling.transform_target(y), scaling)
    if n_written > X.nnz:
        say(
            f"warning: {X.nnz} entries became {n_written}; use -l 0 if many feature values are "
            "zeros."
        )


def _write_rows(X, y, scaling):
    """Write labels and the entries that are not zero; return how many these are."""
    n_written, step = 0, max(1, BLOCK_ENTRIES // max(1, X.shape[1]))
    for start in range(0, X.shape[0], step):
        block = scaling.transform(X[start : start + step].toarray())
        lines = []
        for label, row in zip(y[start : start + step], block, strict=True):
            indices = np.flatnonzero(row)
            n_written += len(indices)
            pairs = "".join(f"{i + 1}:{row[i]:g} " for i in indices)
            lines.append(f"{label:.17g} {pairs}\n")
        write("".join(lines))
    return n_written
