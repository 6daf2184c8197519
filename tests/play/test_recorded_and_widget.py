"""Figures that hold their replies, and the widget of notebooks, on the page's own front end."""

import json
import re

import numpy as np
import pytest

from maxmargin import SVC, SVR, OneClassSVM, play, solvers
from maxmargin.play.limits import RequestError, spec_of
from maxmargin.play.links import link_of
from maxmargin.play.notebook import answer_to, request_of
from maxmargin.play.session import reply_to
from maxmargin.play.wire import unpacked

READY = ".mm-play[data-ready]"
X = np.array([[0.0, 0.0], [1.0, 0.2], [2.0, 2.0], [3.0, 1.5], [0.5, 1.0], [2.5, 0.5]])
LABELS = np.array(["a", "a", "b", "b", "a", "b"])


@pytest.fixture
def figure(tmp_path):
    path = tmp_path / "figure.html"
    play.record(path, data={"name": "moons", "n": 14, "noise": 0.1}, model={"C": 2.0}, step=2)
    return path


def test_a_recorded_figure_can_be_stepped_without_a_server(browser, figure):
    with browser.new_context() as context:
        page, asked = context.new_page(), []
        page.on("request", lambda request: asked.append(request.url))
        page.goto(figure.as_uri())
        page.wait_for_selector(READY)
        most = int(page.inner_text("[data-testid=counter]").split("/")[1])
        wanted = {"data": {"name": "moons", "n": 14, "noise": 0.1}, "model": {"C": 2.0}}
        reply = reply_to({"ask": "fit", **wanted})
        assert most == reply.header["n_iter"]
        assert page.inner_text("[data-testid=counter]").startswith("2 /")
        page.keyboard.press("ArrowRight")  # of a page that the keys belong to
        page.get_by_role("button", name="One step forward").click()
        assert not page.inner_text("[data-testid=counter]").startswith("2 /")
        page.get_by_role("button", name="To the end").click()
        page.wait_for_function(
            "() => document.querySelectorAll('li[data-holds=true]').length === 5"
        )
        assert reply.header["code"] in page.inner_text("[data-testid=code]") + "\n"
        assert asked == [figure.as_uri()]  # and nothing of anybody else


def test_a_recorded_figure_names_no_other_host(figure):
    assert set(re.findall(r"https?://[\w.]+", figure.read_text(encoding="utf-8"))) == {
        "http://www.w3.org"
    }


# The widget.


def test_the_widget_shows_the_model_and_its_points():
    pytest.importorskip("anywidget", reason="anywidget is not installed")
    model = SVC(C=3.0, kernel="linear", solver=solvers.SMOSteps(order=1))
    shown = play.widget(model, X, LABELS)
    asked = request_of(model, X, LABELS, None)
    assert shown.link == link_of(spec_of(asked))
    assert "C=3.0" in shown.link
    assert "solver=first_order" in shown.link
    reply = reply_to({"ask": "fit", **asked})
    np.testing.assert_allclose(reply.arrays["X"], X, atol=1e-4)
    assert not hasattr(model, "support_")  # it was not fitted by being shown


def test_the_widget_answers_by_its_channel():
    pytest.importorskip("anywidget", reason="anywidget is not installed")
    shown, sent = play.widget(), []
    shown.send = lambda *message: sent.append(message)
    request = {"ask": "fit", "data": {"name": "moons", "n": 8}}
    shown._handle_custom_msg({"number": 7, "request": request}, [])
    shown._handle_custom_msg({"number": 8, "request": {"ask": "nothing"}}, [])
    (answer, buffers), (refusal, none) = sent
    assert (answer, unpacked(buffers[0]).header["n"]) == ({"number": 7}, 8)
    assert refusal["number"] == 8
    assert "ask must be one of" in refusal["error"]
    assert none == []


@pytest.fixture
def notebook(browser, served):
    """Shows a widget as a notebook does: its module, with the kernel's answers on the channel."""
    pass_ = served.pass_
    home = f"http://{pass_.authority}"
    with browser.new_context() as context:
        context.add_cookies([{"name": pass_.cookie_name, "value": pass_.cookie, "url": home}])
        page = context.new_page()
        page.expose_function("kernel", lambda content: _answered(content))
        page.goto(f"{home}/nothing")  # a page that is empty but for its words

        def show(asked, is_shadow=False):
            page.evaluate(IN_NOTEBOOK, [home, link_of(spec_of(asked)), is_shadow])
            page.wait_for_selector(READY)
            return page

        yield show


def test_the_front_end_of_the_widget_asks_and_draws(notebook):
    page = notebook(request_of(SVR(epsilon=0.05), X[:, :1], X[:, 1], None))
    assert page.locator(".mm-point").count() == len(X)
    assert page.evaluate("location.hash") == ""  # a notebook's address is not the widget's


@pytest.mark.parametrize("is_shadow", [False, True], ids=["JupyterLab", "marimo"])
def test_keys_are_the_widget_s_while_it_has_the_focus(notebook, is_shadow):
    """marimo shows a widget in a shadow tree, and JupyterLab must be told to leave the keys."""
    page = notebook(request_of(SVC(), X, LABELS, None), is_shadow)
    counter = page.locator("[data-testid=counter]")
    before = counter.inner_text()
    page.keyboard.press("Home")
    assert counter.inner_text() == before  # the keys are still the notebook's
    page.locator(".mm-over").click(position={"x": 4, "y": 4})
    page.wait_for_selector(".mm-point[data-row='6']")
    page.wait_for_selector(READY)
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    assert counter.inner_text().startswith("1 / ")
    for inside in (".mm-play", ".mm-settings select", ".mm-point >> nth=0"):
        page.locator(inside).first.focus()
        assert page.locator(inside).first.get_attribute("data-lm-suppress-shortcuts") == "true"


def test_the_widget_is_dark_where_the_notebook_is(notebook):
    page = notebook(request_of(SVC(), X, LABELS, None))
    for said, theme in (
        ("document.body.dataset.jpThemeLight = 'false'", "dark"),
        ("document.body.dataset.jpThemeLight = 'true'", "light"),
        ("delete document.body.dataset.jpThemeLight; document.body.classList.add('dark')", "dark"),
    ):
        page.evaluate(said)
        page.wait_for_selector(f".mm-play[data-theme={theme}]")


IN_NOTEBOOK = """async ([home, link, isShadow]) => {
  const { default: widget } = await import(home + "/page.js");
  const heard = [];
  const model = {
    get: () => link,
    on: (name, listen) => heard.push(listen),
    send: async (content) => {
      const [answer, text] = await window.kernel(content);
      const bytes = Uint8Array.from(atob(text), (one) => one.charCodeAt(0));
      heard.forEach((listen) => listen(answer, text ? [new DataView(bytes.buffer)] : []));
    },
  };
  const place = document.createElement("div");
  document.body.append(place);
  widget.render({ model, el: isShadow ? place.attachShadow({ mode: "open" }) : place });
}"""


def _answered(content):
    from base64 import b64encode

    answer, buffers = answer_to(json.loads(json.dumps(content)))
    return [answer, b64encode(buffers[0]).decode() if buffers else ""]


@pytest.mark.parametrize(
    ("model", "points", "words"),
    [
        (object(), None, "model must be one of SVC"),
        (SVC(), X[:, :1], "X must have 2 columns"),
        (SVR(), X, "X must have 1 column of"),
        (SVC(kernel="precomputed"), X, "kernel must be one of"),
        (OneClassSVM(), np.full((3, 2), np.nan), "finite numbers"),
    ],
    ids=range(5),
)
def test_what_the_widget_cannot_show_is_refused(model, points, words):
    with pytest.raises((TypeError, ValueError, RequestError), match=words):
        spec_of(request_of(model, points, None, None))
