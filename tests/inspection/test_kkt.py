"""The KKT report: right numbers, right words, for every SVM."""

import re

import numpy as np
import pytest
import sklearn.svm
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from maxmargin import (
    SVC,
    SVR,
    LinearSVC,
    LinearSVR,
    NuSVC,
    NuSVR,
    OneClassSVM,
    Perceptron,
    from_sklearn,
)
from maxmargin.errors import ConvergenceWarning
from maxmargin.inspection import kkt_report

NAMES = [
    "stationarity",
    "primal_feasibility",
    "dual_feasibility",
    "complementary_slackness",
    "slack_complementarity",
]
MACHINES = [
    SVC(),
    SVC(kernel="linear", C=np.inf),
    NuSVC(nu=0.2),
    SVR(),
    NuSVR(),
    OneClassSVM(),
    LinearSVC(),
    LinearSVC(loss="hinge", max_iter=10_000),
    LinearSVC(penalty="l1", dual=False),
    LinearSVC(multi_class="crammer_singer"),
    LinearSVR(),
    LinearSVR(loss="squared_epsilon_insensitive"),
]


def two_species():
    X, y = load_iris(return_X_y=True)
    return X[:100], y[:100]


@pytest.mark.parametrize("machine", MACHINES, ids=str)
def test_all_five_hold_at_the_optimum_of_every_svm(machine):
    report = kkt_report(machine.fit(*two_species()))
    assert [condition.name for condition in report.conditions] == NAMES
    assert report.holds
    assert all(condition.words for condition in report.conditions)
    assert "FAILS" not in repr(report)


def test_numbers_are_those_of_the_definition(binary):
    X, y = binary
    model = SVC(gamma=0.5, C=3.0, tol=1e-3).fit(X, y)
    signs = np.where(y == 1, 1.0, -1.0)
    alpha = np.zeros(len(y))
    alpha[model.support_] = np.abs(model.dual_coef_[0])
    excess = signs * model.decision_function(X) - 1.0
    report = kkt_report(model)
    stationarity = abs(alpha @ signs) / max(1.0, alpha.sum())
    assert report["stationarity"].violation == pytest.approx(stationarity, abs=1e-12)
    assert report["dual_feasibility"].violation == 0.0
    assert report["complementary_slackness"].violation == pytest.approx(
        max(0.0, excess[alpha > 0].max()), abs=1e-9
    )
    assert report["slack_complementarity"].violation == pytest.approx(
        max(0.0, -excess[alpha < 3.0].min()), abs=1e-9
    )
    assert report.duality_gap == report.primal_objective - report.dual_objective


def test_an_early_stop_fails_and_says_where(binary):
    X, y = binary
    with pytest.warns(ConvergenceWarning):
        model = SVC(gamma=0.5, max_iter=3).fit(X, y)
    report = kkt_report(model)
    assert not report.holds
    assert not report["slack_complementarity"].holds
    assert report["dual_feasibility"].holds
    assert "FAILS  slack complementarity" in repr(report)


def test_several_classes_report_their_parts():
    X, y = load_iris(return_X_y=True)
    report = kkt_report(SVC().fit(X, y))
    assert len(report.parts) == 3
    worst = max(part["slack_complementarity"].violation for part in report.parts)
    assert report["slack_complementarity"].violation == worst


def test_the_gap_of_several_problems_is_the_difference_beside_which_it_stands():
    X, y = load_iris(return_X_y=True)
    with pytest.warns(ConvergenceWarning):
        report = kkt_report(SVC(max_iter=3).fit(X, y))
    *_, sums, largest = repr(report).splitlines()
    line = r"  primal (\S+) - dual (\S+) = gap (\S+), summed over 3 binary problems"
    primal, dual, gap = map(float, re.fullmatch(line, sums).groups())
    assert gap == pytest.approx(primal - dual, rel=1e-2)
    gaps = [part.duality_gap for part in report.parts]
    assert gap == pytest.approx(sum(gaps), rel=1e-2)
    assert f"the largest gap of one of them is {max(gaps):.3g}," in largest
    assert sum(gaps) > 1.1 * max(gaps), "or the test would see no difference"


def test_a_pipeline_is_reported_by_the_svm_at_its_end():
    X, y = two_species()
    model = make_pipeline(StandardScaler(), SVC()).fit(X, y)
    assert repr(kkt_report(model)) == repr(kkt_report(model[-1]))
    with pytest.raises(NotFittedError):
        kkt_report(make_pipeline(StandardScaler(), SVC()))
    with pytest.raises(TypeError, match=r"an SVM of maxmargin, got Perceptron\.$"):
        kkt_report(make_pipeline(StandardScaler(), Perceptron()).fit(X, y))


def test_what_is_no_svm_is_refused():
    X, y = two_species()
    with pytest.raises(TypeError, match="kkt_report: model must be an SVM of maxmargin"):
        kkt_report(Perceptron().fit(X, y))
    with pytest.raises(TypeError, match=r"an SVM of maxmargin, got LinearSVC of sklearn\.$"):
        kkt_report(sklearn.svm.LinearSVC().fit(X, y))


def test_a_model_that_was_fitted_elsewhere_has_nothing_to_report():
    X, y = two_species()
    theirs = sklearn.svm.SVC().fit(X, y)
    with pytest.raises(TypeError, match=r"an SVM of maxmargin, got SVC of sklearn\.$"):
        kkt_report(theirs)
    with pytest.raises(
        ValueError, match=r"^kkt_report: this SVC has no certificate: it was fitted"
    ):
        kkt_report(from_sklearn(theirs))
