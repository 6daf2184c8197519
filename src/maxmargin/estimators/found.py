"""What the machines of a classifier have found, side by side in arrays."""

from dataclasses import dataclass

import numpy as np

from maxmargin.problems.certificate import CertificateTable

PROOF = (
    "primal_objective", "dual_objective", "stationarity", "dual_feasibility",
    "complementary_slackness", "slack_complementarity", "n_zero", "n_free", "n_bound", "rounding",
)  # fmt: skip
COUNTS = ("n_zero", "n_free", "n_bound")


@dataclass(frozen=True)
class Found:
    """What is known of the machines of a fit, an entry or a row of each array for each of them.

    `coef` and `roles` have the layout of `dual_coef_`, with a column per training row.
    """

    coef: np.ndarray
    roles: np.ndarray
    bias: np.ndarray
    n_iter: np.ndarray
    norms: np.ndarray
    proofs: np.ndarray
    slopes: np.ndarray
    done: np.ndarray

    @classmethod
    def nothing(cls, n_coef_rows, n_rows, bias, slopes):
        """The place for all that, with the bias and the slopes of machines that are not there."""
        n = len(bias)
        return cls(
            np.zeros((n_coef_rows, n_rows)), np.zeros((n_coef_rows, n_rows), dtype=np.int8), bias,
            np.zeros(n, dtype=np.int32), np.zeros(n), np.empty((n, len(PROOF))), slopes,
            np.zeros(n, dtype=bool),
        )  # fmt: skip

    def certificates(self, tol, mercer):
        """Of the machines that are done, in order; `mercer` is what is known of their kernel."""
        columns = dict(zip(PROOF, self.proofs[self.done].T.copy(), strict=True))
        columns |= {name: columns[name].astype(np.int64) for name in COUNTS}
        n = np.count_nonzero(self.done)
        columns |= {"primal_feasibility": np.zeros(n), "tol": np.full(n, float(tol))}
        columns["mercer"] = np.full(n, mercer, dtype=object)
        return CertificateTable(columns)
