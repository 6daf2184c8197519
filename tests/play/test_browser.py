"""The page in a real Chromium: what a visitor does, and what they then see."""

import contextlib
import io
import json
import os
import re

import numpy as np
import pytest
from test_session import random_state  # this folder is on the path

from maxmargin.play.limits import RequestError, spec_of
from maxmargin.play.links import asked_by
from maxmargin.play.session import reply_to

READY = ".mm-play[data-ready]"
STORE = "window.maxmarginPlay"
DESKTOP = {"width": 1280, "height": 800}
PHONE = {"width": 360, "height": 640}


@pytest.fixture
def opened(browser, served):
    """Opens the page at a link; whatever it complains of, or asks of another host, fails."""
    with contextlib.ExitStack() as stack:

        def open_page(link="", **options):
            context = stack.enter_context(
                browser.new_context(**{"viewport": DESKTOP, "locale": "en-GB", **options})
            )
            pass_ = served.pass_
            home = f"http://{pass_.authority}/"
            context.add_cookies([{"name": pass_.cookie_name, "value": pass_.cookie, "url": home}])
            page = context.new_page()
            page.complaints = []
            page.on("console", lambda said: page.complaints.append(f"{said.type}: {said.text}"))
            page.on("pageerror", lambda error: page.complaints.append(str(error)))
            page.on("request", lambda asked: _check_host(page, asked.url, home))
            page.goto(home + link)
            page.wait_for_selector(READY)
            stack.callback(lambda: _check_silent(page))
            return page

        yield open_page


def _check_host(page, url, home):
    if not url.startswith((home, "data:", "blob:")):
        page.complaints.append(f"asked {url}")


def _check_silent(page):
    said = [words for words in page.complaints if "400 (Bad Request)" not in words]
    assert said == []


def link(**parts):
    return "#" + "&".join(f"{name}={value}" for name, value in {"v": 1, **parts}.items())


def spec(page):
    return page.evaluate(f"{STORE}.spec()")


def settle(page):
    """Until the page has fitted what was last asked for."""
    page.wait_for_timeout(30)
    page.wait_for_selector(READY)


def counter(page):
    return page.inner_text("[data-testid=counter]")


def place_of(page, row):
    """Where a point is on the screen."""
    box = page.locator(f".mm-point[data-row='{row}'] > path").bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


# What it shows.


def test_the_link_that_is_printed_opens_the_page(browser, served):
    with browser.new_context(viewport=DESKTOP) as context:
        page = context.new_page()
        page.goto(served.url + link(data="circles", n=12))
        page.wait_for_selector(READY)
        assert "token" not in page.url
        assert spec(page)["data"]["name"] == "circles"  # what stands behind the # came along
        assert page.evaluate("document.cookie") == ""


@pytest.mark.parametrize("model", ["svc", "nusvc", "svr", "nusvr", "one_class"])
def test_f_in_the_browser_is_python_s_at_every_step(opened, model):
    data = "wave" if "svr" in model else "moons"
    page = opened(link(data=data, n=24, noise=0.2, seed=1, model=model, nu=0.3))
    n_steps = page.evaluate(f"{STORE}.fit.value.nSteps")
    assert n_steps > 8
    for step in (0, 1, n_steps // 2, n_steps - 1):
        f, coef, bias, unit = page.evaluate(
            f"k => {{ const fit = {STORE}.fit.value; return [[...fit.decisionAt(k, 0)],"
            " [...fit.variablesAt(k)[0]], fit.biasAt(k, 0), fit.unitAt(k, 0)]; }",
            step,
        )
        said = reply_to({"ask": "at", **spec(page), "step": step})
        np.testing.assert_array_equal(coef, said.arrays["coef"])
        expected = said.arrays["expansion"][:24] / unit + bias
        np.testing.assert_allclose(f, expected, atol=1e-9)
        if step:
            assert bias == pytest.approx(said.header["b"] / unit, abs=1e-9)
        on_grid = page.evaluate(f"k => [...{STORE}.fit.value.fieldAt(k, 0)]", step)
        grid = page.evaluate(f"{STORE}.fit.value.grid")
        wanted = {**spec(page), "grid": grid, "rows": list(range(24))}
        columns = reply_to({"ask": "columns", **wanted}).arrays["columns"]
        own = np.array(coef[:24]) + (coef[24:] if model == "nusvr" else 0.0)
        np.testing.assert_allclose(on_grid, own / unit @ columns + bias, atol=1e-5)


def test_forward_and_back_restores_every_pixel(opened):
    page = opened(link(n=30, step=4))
    plane = page.locator(".mm-plane")
    before = plane.screenshot()
    for _ in range(6):
        page.keyboard.press("ArrowRight")
    assert plane.screenshot() != before
    for _ in range(6):
        page.keyboard.press("ArrowLeft")
    assert plane.screenshot() == before


@pytest.mark.filterwarnings("ignore::maxmargin.errors.ConvergenceWarning")
def test_numbers_on_the_page_are_those_of_the_code_it_shows(opened):
    """Links of random states, each opened, read and run."""
    rng, page, shown = np.random.default_rng(8), opened(link(n=8)), 0
    words = page.evaluate("() => null")
    for _ in range(int(os.environ.get("MAXMARGIN_LINKS", "12"))):
        wanted = random_state(rng)
        try:
            reply_to(wanted)
        except RequestError:
            continue
        page.evaluate("hash => { location.hash = hash }", hash_of(page, wanted))
        page.wait_for_function(
            f"wanted => JSON.stringify({STORE}.spec().data) === JSON.stringify(wanted)",
            arg=wanted["data"],
        )
        settle(page)
        code = page.inner_text("[data-testid=code]")
        assert code != words
        words, made = code, {}
        with contextlib.redirect_stdout(io.StringIO()):
            exec(code, made)
        model = made["model"]
        for name, value in (
            ("primal", model.certificate_.primal_objective),
            ("dual", model.certificate_.dual_objective),
        ):
            assert page.inner_text(f"[data-testid={name}]") == short(page, value)
        intercept = ", ".join(short(page, value) for value in model.intercept_.tolist())
        assert page.inner_text("[data-testid=intercept]") == intercept
        assert page.evaluate(f"{STORE}.fit.value.header.intercept") == model.intercept_.tolist()
        shown += 1
    assert shown > 6


def hash_of(page, wanted):
    """The page's own link to a state."""
    return page.evaluate(
        "wanted => { const store = " + STORE + "; return store.linkTo({...store.state.value,"
        " ...wanted, model: {...store.state.value.model, ...wanted.model}, step: -1}); }",
        {name: wanted[name] for name in ("data", "model", "solver")},
    )


def short(page, value):
    return page.evaluate(f"value => {STORE}.short(value)", value)


def test_a_link_brings_everything_back(opened):
    page = opened(link(data="xnor", n=18, noise=0.3, seed=5, C=3, kernel="laplacian", gamma=0.7))
    x, y = place_of(page, 3)
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 40, y - 25, steps=4)
    page.mouse.up()
    settle(page)
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    settle(page)
    again = opened(page.evaluate("location.hash"))
    assert again.evaluate("location.hash") == page.evaluate("location.hash")
    assert spec(again) == spec(page)
    assert spec_of(asked_by(page.url)[0]) == spec_of(spec(page))  # and to Python
    assert counter(again) == counter(page)
    assert counter(again).startswith("2 / ")
    numbers = f"[...{STORE}.fit.value.array('coef')]"
    assert again.evaluate(numbers) == page.evaluate(numbers)


def test_what_a_link_asks_beyond_the_limits_is_refused_by_python(opened):
    page = opened(link(n=10))
    page.evaluate("location.hash = '#v=1&data=moons&n=5000'")
    page.wait_for_selector(".mm-error")
    assert "from 4 to 400" in page.inner_text(".mm-error")
    page.evaluate("location.hash = '#v=1&data=moons&n=20&solver=os.system'")
    page.wait_for_function(
        "() => document.querySelector('.mm-error')?.innerText.includes('solver')"
    )


def test_what_a_link_leaves_out_is_the_same_to_the_page_and_to_python(opened):
    assert spec_of(spec(opened())) == spec_of({})
    assert spec_of(spec(opened(link(model="nusvc")))) == spec_of(asked_by("#v=1&model=nusvc")[0])


# What a visitor does.


def test_a_click_adds_a_drag_moves_and_undo_takes_back(opened):
    page = opened(link(n=14))
    box = page.locator(".mm-over").bounding_box()
    page.mouse.click(box["x"] + box["width"] - 20, box["y"] + 20)
    settle(page)
    assert page.locator(".mm-point").count() == 15
    assert spec(page)["data"]["name"] == "points"
    before = spec(page)["data"]["points"][14]
    x, y = place_of(page, 14)
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x - 60, y + 60, steps=5)
    page.mouse.up()
    settle(page)
    after = spec(page)["data"]["points"][14]
    assert after[0] < before[0]
    assert after[1] < before[1]
    assert page.evaluate(f"{STORE}.fit.value.hasSteps")
    page.keyboard.press("Control+z")
    settle(page)
    assert spec(page)["data"]["points"][14] == before
    page.keyboard.press("Control+z")
    settle(page)
    assert page.locator(".mm-point").count() == 14
    assert spec(page)["data"]["name"] == "moons"
    page.keyboard.press("Control+Shift+z")
    settle(page)
    assert page.locator(".mm-point").count() == 15


def test_keys_go_through_the_steps_and_one_sentence_tells_each(opened):
    page = opened(link(n=20))
    said = page.locator("[data-testid=sentence]")
    assert said.get_attribute("aria-live") == "polite"
    most = int(counter(page).split("/")[1])
    page.keyboard.press("Home")
    assert counter(page) == f"0 / {most}"
    assert "Before the first step" in said.inner_text()
    page.keyboard.press("ArrowRight")
    assert counter(page) == f"1 / {most}"
    assert re.match(r"Points \d+ and \d+ move, because ", said.inner_text())
    page.keyboard.press("End")
    assert "the fit is done" in said.inner_text()
    page.keyboard.press("ArrowLeft")
    assert counter(page) == f"{most - 1} / {most}"
    page.keyboard.press("p")
    page.wait_for_function(f"() => {STORE}.k.value === {most}")
    assert not page.evaluate(f"{STORE}.playing.value")


def test_points_are_reached_by_tab_and_moved_by_arrows(opened):
    page = opened(link(n=10))
    page.locator(".mm-point").first.focus()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.dataset.row") == "1"
    before = page.evaluate(f"{STORE}.own().points[1]")
    page.keyboard.press("ArrowRight")
    settle(page)
    assert page.evaluate(f"{STORE}.own().points[1][0]") > before[0]
    assert page.evaluate("document.activeElement.dataset.row") == "1"
    page.keyboard.press("2" if before[2] == 0 else "1")
    settle(page)
    assert spec(page)["data"]["points"][1][2] == 1 - before[2]
    page.keyboard.press("Delete")
    settle(page)
    assert page.locator(".mm-point").count() == 9


def test_the_weight_of_a_point_counts(opened):
    page = opened(link(n=16))
    page.locator(".mm-point").nth(2).focus()
    page.get_by_role("button", name="Double its weight").click()
    settle(page)
    assert spec(page)["data"]["points"][2][3] == 20
    assert "sample_weight=weight" in page.inner_text("[data-testid=code]")


def test_a_csv_of_one_s_own_is_fitted_or_refused_with_its_line(opened):
    page = opened(link(n=10))
    rows = "".join(f"{k},{k % 3},{'a' if k < 5 else 'b'}\n" for k in range(10))
    table = {"name": "my.csv", "mimeType": "text/csv"}
    page.set_input_files("input[type=file]", {**table, "buffer": f"u,v,kind\n{rows}".encode()})
    page.wait_for_function(f"() => {STORE}.spec().data.name === 'points'")
    settle(page)
    assert page.locator(".mm-point").count() == 10
    page.set_input_files("input[type=file]", {**table, "buffer": b"u,v,kind\n1,2,a\n1,no,b\n"})
    page.wait_for_selector(".mm-error")
    assert "your.csv:3:2: not a number: 'no'" in page.inner_text(".mm-error")


def test_solvers_are_compared_on_one_clock(opened):
    page = opened(link(n=20))
    card = page.locator("[data-screen=compare]")
    card.get_by_role("button", name="Platt's SMO").click()
    card.get_by_role("button", name="Run them").click()
    card.locator(".mm-legend li").nth(2).wait_for()
    told = card.locator(".mm-legend").inner_text()
    assert re.findall(r"(\d+) steps", told)
    assert "Platt's SMO" in told
    card.locator("select").select_option("values")
    assert card.locator(".mm-line").count() == 3


def test_a_click_into_the_curves_goes_there(opened):
    page = opened(link(n=30))
    chart = page.locator("[data-screen=curves] svg.mm-pick").first
    box = chart.bounding_box()
    chart.click(position={"x": box["width"] / 2, "y": box["height"] / 2})
    most = int(counter(page).split("/")[1])
    assert 0 < page.evaluate(f"{STORE}.k.value") < most


def test_a_point_that_is_chosen_says_where_it_stands_and_what_it_pays(opened):
    page = opened(link(n=24, noise=0.3, C=0.3))
    margins = reply_to({"ask": "fit", **spec(page)})
    sign = np.where(margins.arrays["label"] == 1, 1.0, -1.0)
    value = sign * margins.arrays["decision"].ravel()
    for row in (int(np.argmin(value)), int(np.argmax(value))):
        page.evaluate(f"row => {{ {STORE}.selected.value = row }}", row)
        told = page.inner_text(".mm-told").replace("−", "-")
        assert f"Point {row + 1}: y f(x) = {value[row]:.3f}" in told
        paid = 1 - value[row]
        assert (f"pays {paid:.3f}" if paid > 0 else "pays nothing") in told


def test_of_several_classes_every_point_of_a_machine_stands_on_the_bent_line(opened):
    page = opened(link(data="three", n=30, noise=0.6))
    f, full, signs = page.evaluate(
        f"() => {{ const store = {STORE}, fit = store.fit.value, k = fit.nSteps;"
        " const m = store.machine.value; return [[...fit.decisionAt(k, m)],"
        " [...fit.fullness(k, m)], [...fit.signs(m)]]; }"
    )
    f, full, signs = np.array(f), np.array(full), np.array(signs)
    assert np.all(full[signs == 0] == 0)
    own = signs != 0
    margin, full = (signs * f)[own], full[own]
    assert np.all(margin[full == 0] > 1 - 1e-2)
    assert np.all(margin[full >= 1 - 1e-9] < 1 + 1e-2)
    np.testing.assert_allclose(margin[(full > 0) & (full < 1 - 1e-9)], 1.0, atol=1e-2)


# For everyone.


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_axe_finds_nothing_wrong(opened, theme, size):
    axe = pytest.importorskip(
        "axe_playwright_python.sync_playwright", reason="axe is not installed"
    )
    page = opened(link(n=16, step=3, view="kkt"), viewport=size, color_scheme=theme)
    found = axe.Axe().run(page).response["violations"]
    assert [(one["id"], [node["html"][:120] for node in one["nodes"]]) for one in found] == []


def test_on_a_phone_nothing_is_cut_off_and_all_can_be_hit_with_a_finger(opened):
    page = opened(link(n=16), viewport=PHONE, has_touch=True, is_mobile=True)
    tabs = page.locator(".mm-tabs button")
    assert tabs.count() == 8
    for k in range(8):
        tabs.nth(k).click()
        settle(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
        small = page.evaluate(
            "[...document.querySelectorAll('button, select, .mm-file, input:not([type=file],"
            " [type=number]), summary, tbody tr')].map(one => [one.outerHTML,"
            " one.getBoundingClientRect()]).filter(([, box]) => box.width > 0 &&"
            " (box.width < 44 || box.height < 44)).map(([html]) => html.slice(0, 90))"
        )
        assert small == []
    tabs.first.click()
    box = page.locator(".mm-over").bounding_box()
    page.touchscreen.tap(box["x"] + box["width"] - 12, box["y"] + 12)
    settle(page)
    assert page.locator(".mm-point").count() == 17


def test_the_dark_is_dark_and_can_be_chosen(opened):
    page = opened(link(n=10), color_scheme="dark")
    ground = "getComputedStyle(document.querySelector('.mm-play')).backgroundColor"
    dark = page.evaluate(ground)
    assert dark == "rgb(15, 17, 21)"
    page.get_by_role("button", name="Light or dark").click()
    assert page.evaluate(ground) != dark
    assert "theme=light" in page.url


def test_nothing_moves_by_itself_for_those_who_do_not_want_it(opened):
    lasting = "getComputedStyle(document.querySelector('.mm-play button')).transitionDuration"
    assert opened(link(n=8), reduced_motion="no-preference").evaluate(lasting) != "0s"
    assert opened(link(n=8), reduced_motion="reduce").evaluate(lasting) == "0s"


def test_memory_is_steady_over_a_thousand_steps(opened):
    page = opened(link(n=60, noise=0.3, C=100))
    assert page.evaluate(f"{STORE}.fit.value.nSteps") > 60
    session = page.context.new_cdp_session(page)

    def used():
        session.send("HeapProfiler.collectGarbage")
        metrics = {
            one["name"]: one["value"] for one in session.send("Performance.getMetrics")["metrics"]
        }
        return metrics["JSHeapUsedSize"], metrics["Nodes"]

    def walk(steps):
        page.evaluate(
            "async steps => { const store = " + STORE + "; for (let k = 0; k < steps; k++) {"
            " store.goTo(k % 50);"
            " if (k % 10 === 0) await new Promise(done => requestAnimationFrame(done)); } }",
            steps,
        )

    session.send("Performance.enable")
    walk(50)
    heap, nodes = used()
    walk(1000)
    later, nodes_later = used()
    assert nodes_later <= nodes + 50
    assert later <= heap + 2_000_000


# Lessons.


def test_a_lesson_on_a_phone_shows_the_plane_and_only_the_screens_it_needs(opened):
    page = opened(link(n=8), viewport=PHONE, has_touch=True, is_mobile=True)
    page.locator(".mm-lesson-pick select").select_option("3")
    settle(page)
    assert page.locator(".mm-tabs button").all_inner_texts() == ["Plane", "Points", "Code"]
    for shown in (".mm-plane", "[data-screen=points]", "[data-screen=settings]"):
        assert page.locator(shown).is_visible(), shown
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


@pytest.mark.parametrize("number", range(1, 11))
def test_every_lesson_opens_with_its_idea_and_something_to_try(opened, number):
    page = opened(link(n=8))
    page.locator(".mm-lesson-pick select").select_option(str(number))
    settle(page)
    card = page.locator(".mm-lesson")
    assert card.locator("li").count() >= 2
    assert len(card.locator("p").nth(1).inner_text()) > 150
    assert page.evaluate(f"{STORE}.error.value") == ""
    assert page.evaluate(f"{STORE}.fit.value.header.converged")
    assert json.dumps(page.evaluate(f"{STORE}.state.value.hide")) != "[]"
    again = opened(page.evaluate("location.hash"))
    assert again.locator(".mm-lesson h2").inner_text() == card.locator("h2").inner_text()
    assert spec(again) == spec(page)
