"""The session of the page: its numbers are the library's, and every other request is refused."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maxmargin.play import fitting, limits
from maxmargin.play.fitting import CLASSES, fitted
from maxmargin.play.limits import RequestError
from maxmargin.play.session import cells_of, reply_to
from maxmargin.play.wire import packed, read_json, unpacked

GRID = {"view": [-2.0, 3.0, -2.0, 2.0], "nx": 12, "ny": 9}
KINDS = ("svc", "nusvc", "svr", "nusvr", "one_class")


def request(ask="fit", model="svc", **more):
    data = {"name": "wave" if "svr" in model else "moons", "n": 24, "noise": 0.2, "seed": 1}
    wanted = {"data": data, "model": {"name": model, "nu": 0.3}}
    return {"ask": ask, **wanted, **more}


def answered(wanted):
    """The reply to a request, or None and the words of its refusal."""
    try:
        return reply_to(wanted), ""
    except RequestError as error:
        return None, str(error)


def random_state(rng):
    """What a link may say, with few points."""
    model = str(rng.choice(KINDS))
    names = limits.SOLVERS if model == "svc" else limits.ANY_MACHINE
    solver = str(rng.choice([name for name in names if name != "smo_random_pair"]))
    gamma = "scale" if rng.random() < 0.5 else float(10 ** rng.uniform(-1, 1))
    if rng.random() < 0.4:
        points = [
            [int(rng.integers(65536)), int(rng.integers(65536)), k % 2, int(rng.integers(5, 30))]
            for k in range(16)
        ]
        data = {"name": "points", "box": [-1.5, 2.0, -1.0, 1.25], "points": points}
    else:
        name = str(rng.choice(limits.DATA_SETS))
        data = {"name": name, "n": int(rng.integers(8, 24)), "noise": 0.3, "seed": 3}
    return {
        "ask": "fit",
        "data": data,
        "model": {
            "name": model, "C": float(10 ** rng.uniform(-1, 1)), "nu": 0.3, "epsilon": 0.1,
            "kernel": str(rng.choice(("linear", "rbf", "laplacian"))), "gamma": gamma,
        },
        "solver": solver,
    }  # fmt: skip


@pytest.mark.filterwarnings("ignore::maxmargin.errors.ConvergenceWarning")
def test_the_code_that_is_shown_makes_the_model_that_is_shown(capsys):
    """On two hundred states of the page, digit by digit."""
    rng, shown = np.random.default_rng(0), 0
    for _ in range(200):
        reply, refusal = answered(random_state(rng))
        if reply is None:  # what these points do not allow
            assert "nu" in refusal or "class" in refusal
            continue
        made = {}
        exec(reply.header["code"], made)
        model, coef = made["model"], reply.arrays["coef"]
        assert reply.header["intercept"] == model.intercept_.tolist()
        assert reply.header["certificate"]["dual_objective"] == model.certificate_.dual_objective
        if len(coef) == 1:
            np.testing.assert_array_equal(coef[0, model.support_], model.dual_coef_[0])
            assert np.count_nonzero(coef) == len(model.support_)
        shown += 1
    assert shown > 150
    assert "optimal" in capsys.readouterr().out


@pytest.mark.parametrize("model", KINDS)
def test_f_is_the_sum_of_the_columns_that_a_browser_adds_up(model):
    reply = reply_to(request(model=model, grid=GRID))
    rows = np.flatnonzero(np.any(reply.arrays["coef"] != 0, axis=0)).tolist()
    sent = reply_to(request("columns", model, grid=GRID, rows=rows))
    coef, b = reply.arrays["coef"][0, rows], reply.header["machines"][0]["b"]
    field = coef @ sent.arrays["columns"].astype(float) + b
    np.testing.assert_allclose(field, reply.arrays["field"][0], atol=1e-5)
    at_points = coef @ sent.arrays["gram"] + b
    np.testing.assert_allclose(at_points, reply.arrays["decision"][:, 0], atol=1e-9)


def test_several_classes_have_a_machine_for_every_pair():
    data = {"name": "three", "n": 30, "noise": 0.8, "seed": 0}
    wanted = {"ask": "fit", "data": data, "grid": GRID}
    reply, found = reply_to(wanted), fitted(limits.spec_of(wanted))
    assert [machine["classes"] for machine in reply.header["machines"]] == [[0, 1], [0, 2], [1, 2]]
    K = found.model.kernel_(found.points.X)
    b = np.array([machine["b"] for machine in reply.header["machines"]])
    np.testing.assert_allclose(K @ reply.arrays["coef"].T + b, reply.arrays["decision"], atol=1e-9)
    for k in range(3):
        used = reply.arrays[f"rows{k}"]
        others = np.setdiff1d(np.arange(30), used)
        assert not np.any(reply.arrays["coef"][k, others])


@pytest.mark.parametrize("model", KINDS)
def test_the_word_on_a_step_is_the_trace_s(model):
    reply = reply_to(request(model=model))
    n_steps = len(reply.arrays["step_i"])
    assert n_steps > 5
    for step in (0, 1, n_steps // 2, n_steps):
        said = reply_to(request("at", model, step=step))
        assert len(said.header["conditions"]) == 5
        if step:
            proof, row = said.header["certificate"], {
                name: reply.arrays[f"step_{name}"][step - 1] for name in ("gap", "objective", "b")
            }  # fmt: skip
            assert proof["duality_gap"] == pytest.approx(row["gap"], rel=1e-6, abs=1e-9)
            assert proof["dual_objective"] == pytest.approx(row["objective"], rel=1e-9)
            assert said.header["b"] == pytest.approx(row["b"], abs=1e-9)
    last = reply_to(request("at", model, step=n_steps))
    assert all(condition["holds"] for condition in last.header["conditions"])


def test_the_steps_replay_to_the_model():
    reply = reply_to(request())
    arrays, coef = reply.arrays, reply.arrays["start0"].copy()
    for k, (i, j) in enumerate(zip(arrays["step_i"], arrays["step_j"], strict=True)):
        coef[i] = arrays["turn0"][i] * arrays["step_alpha_i"][k]
        coef[j] = arrays["turn0"][j] * arrays["step_clipped"][k]
    np.testing.assert_array_equal(coef, arrays["coef"][0])
    assert set(arrays["step_reason"]) == {0}
    assert "gains most" in reply.header["reasons"][0]


def test_the_matrix_is_sorted_by_class_and_its_spectrum_is_its_own():
    reply = reply_to(request("matrix"))
    found = fitted(limits.spec_of(request()))
    order, K = reply.arrays["order"], found.model.kernel_(found.points.X)
    assert np.all(np.diff(found.labels[order]) >= 0)
    np.testing.assert_allclose(reply.arrays["K"], K[np.ix_(order, order)], atol=1e-6)
    assert reply.arrays["spectrum"].sum() == pytest.approx(np.trace(K))


def test_cells_are_asked_at_their_middles_from_the_bottom():
    found = fitted(limits.spec_of(request()))
    cells = cells_of(found, limits.grid_of({"view": [0, 4, 0, 2], "nx": 2, "ny": 2}))
    np.testing.assert_array_equal(cells, [[1, 0.5], [3, 0.5], [1, 1.5], [3, 1.5]])


# One's own table.


def test_a_csv_becomes_points_that_a_link_can_hold():
    text = "a,b,kind\n" + "".join(f"{k},{k * k},{'odd' if k % 2 else 'even'}\n" for k in range(9))
    taken = reply_to({"ask": "csv", "text": text}).header
    assert taken["labels"] == ["even", "odd"]
    data = {"name": "points", "box": taken["box"], "points": taken["points"]}
    X = reply_to({"ask": "fit", "data": data}).arrays["X"]
    expected = [[k, k * k] for k in range(9)]
    np.testing.assert_allclose(X, expected, atol=64 * 1.2 / 65535)


def test_two_columns_are_a_regression():
    taken = reply_to({"ask": "csv", "text": "x,target\n0,1.5\n1,2.5\n2,2.0\n"}).header
    assert taken["is_regression"]
    assert [place[2] for place in taken["points"]] == [0, 0, 0]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a,b,c\n1,2,x\n1,oops,y\n", r"your.csv:3:2: not a number: 'oops'"),
        ("1,2,3,4\n5,6,7,8\n", "has 3 columns beside the label"),
        ("x,y\n1,red\n2,blue\n", "the second must be a number"),
        ("\n".join(f"{k},{k},{k}" for k in range(9)), "9 different labels"),
        ("", "no rows"),
        (7, "the text must have at most"),
        ("x" * 900_001, "the text must have at most"),
        ("a,b,c\n" + "1,2,0\n" * 2001, "2001 rows"),
    ],
    ids=range(8),
)
def test_a_csv_that_does_not_fit_is_refused_in_the_reader_s_words(text, words):
    with pytest.raises(RequestError, match=words):
        reply_to({"ask": "csv", "text": text})


# Limits.


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"ask": "exec"}, "ask must be one of"),
        ({"path": "/etc/passwd"}, "unknown key 'path'"),
        ({"data": {"name": "../moons"}}, "data must be one of"),
        ({"data": {"name": "moons", "n": 401}}, "from 4 to 400"),
        ({"data": {"name": "moons", "n": 2001}, "solver": "smo"}, "from 4 to 2000"),
        ({"data": {"name": "moons", "n": 40.5}}, "whole number"),
        ({"data": {"name": "moons", "noise": float("nan")}}, "noise must be a number"),
        (
            {"data": {"name": "points", "box": [0, 1, 0, 1], "points": [[1, 2, 3]]}},
            "its two places",
        ),
        ({"data": {"name": "points", "box": [0, 0, 0, 1], "points": []}}, "not empty"),
        (
            {"data": {"name": "points", "box": [0, 1, 0, 1], "points": [[1, 2, 0, 10]]}},
            "at least two",
        ),
        ({"data": {"name": "points", "box": [0, 1, 0, 1], "points": [[1, 65536, 0, 10]]}}, "65535"),
        (
            {"data": {"name": "points", "box": [0, 1, 0, 1], "points": [[1, 2, 0, 10]] * 3}},
            "two classes",
        ),
        ({"model": {"name": "svc", "kernel": "__import__('os')"}}, "kernel must be one of"),
        ({"model": {"name": "svc", "C": 0}}, "C must be a number"),
        ({"model": {"name": "svc", "C": True}}, "C must be a number"),
        ({"model": {"name": "svc", "gamma": "auto"}}, "gamma must be a number"),
        ({"model": {"name": "nusvc", "nu": 1.0}, "data": {"name": "outlier", "n": 9}}, "nu"),
        ({"model": {"name": "svr"}, "solver": "smo_platt"}, "for SVC only"),
        ({"solver": "os.system"}, "solver must be one of"),
        ({"grid": {"view": [0, 1, 0, 1], "nx": 129, "ny": 2}}, "from 2 to 128"),
        ({"grid": {"view": [0, 1, 0, float("inf")], "nx": 2, "ny": 2}}, "view must be a number"),
        ({"ask": "columns", "grid": GRID, "rows": [24]}, "from 0 to 23"),
        ({"ask": "at", "step": 10**6}, "step must be a whole number"),
        ({"ask": "at", "step": 1, "solver": "smo"}, "no single steps"),
        ({"ask": "matrix", "data": {"name": "moons", "n": 201}}, "takes 200 points"),
    ],
    ids=range(25),
)
def test_python_checks_every_limit(changed, words):
    with pytest.raises(RequestError, match=words):
        reply_to({**request(), **changed})


def test_a_solver_that_takes_more_steps_than_allowed_is_stopped(monkeypatch):
    monkeypatch.setattr(fitting, "MOST_STEPS", 5)
    taken = reply_to(request(data={"name": "moons", "n": 23, "noise": 0.3, "seed": 77}))
    assert taken.header["n_iter"] == len(taken.arrays["step_i"]) == 5
    assert not taken.header["converged"]
    assert "max_iter=5" in taken.header["code"]


WORDS = st.sampled_from(
    [*KINDS, *limits.SOLVERS, *limits.DATA_SETS, *limits.KERNELS, "points", "fit", "columns", "at",
     "scale", "csv", "", "\0"]
)  # fmt: skip
LEAVES = st.none() | st.booleans() | st.integers(-5, 70_000) | st.floats() | WORDS
NAMES = st.sampled_from(
    ["ask", "data", "model", "solver", "grid", "rows", "step", "text", "name", "n", "noise", "seed",
     "box", "points", "C", "nu", "gamma", "kernel", "view", "nx", "ny", "degree", "tol"]
)  # fmt: skip
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=5)
)


@settings(deadline=None, max_examples=300)
@given(VALUES)
def test_any_request_is_answered_or_refused(wanted):
    if isinstance(wanted, dict):
        wanted.setdefault("ask", "fit")
    reply, refusal = answered(wanted)
    assert packed(reply) if reply else refusal.endswith(".")


# The wire.


def test_a_reply_arrives_as_it_was_sent():
    reply = reply_to(request(grid=GRID))
    data = packed(reply)
    again = unpacked(data)
    assert again.header == reply.header
    assert set(again.arrays) == set(reply.arrays)
    for name, array in reply.arrays.items():
        np.testing.assert_array_equal(again.arrays[name], array)
    assert len(data) % 8 == 0


@pytest.mark.parametrize("text", ["[NaN]", "[Infinity]", "[-Infinity]", "{", ""])
def test_what_is_no_json_of_finite_numbers_is_refused(text):
    with pytest.raises(ValueError):
        read_json(text.encode())


def test_every_model_of_the_page_is_a_class_of_the_library():
    assert set(CLASSES) == set(limits.MODELS)
