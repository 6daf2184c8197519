"""Random cases, the same ones every time; `make fuzz` draws fresh ones for an hour."""

import pytest
from checks import check
from hypothesis import HealthCheck, given, settings
from known import KNOWN
from plain import FORMULAS
from strategies import FAMILIES, cases, kernel_classes

EXAMPLES = {"SVC": 200, "NuSVC": 150, "SVR": 150, "NuSVR": 150, "OneClassSVM": 150}


@pytest.mark.parametrize("family", FAMILIES)
def test_agrees_with_the_oracles(family):
    @settings(
        max_examples=EXAMPLES.get(family, 100), derandomize=True, deadline=None, database=None,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(cases(family))
    def agrees(case):
        check(case)

    agrees()


@pytest.mark.parametrize("known", KNOWN, ids=lambda known: known.what)
def test_scikit_learn_still_does_that(known):
    assert known.still_there()


def test_every_exported_kernel_has_its_formula_on_paper():
    assert {kind.__name__ for kind in kernel_classes()} == set(FORMULAS)
