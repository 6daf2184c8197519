"""The figures of the documentation: every lesson is recorded, pictured, and shown by its page."""

import importlib.util
from pathlib import Path

import pytest

from maxmargin.play.limits import RequestError, spec_of
from maxmargin.play.links import asked_by, link_of

DOCS = Path(__file__).parents[2] / "docs"
if not DOCS.exists():
    pytest.skip("installed without its documents", allow_module_level=True)
found = importlib.util.spec_from_file_location("figures", DOCS / "figures.py")
figures = importlib.util.module_from_spec(found)
found.loader.exec_module(figures)
LESSONS = figures.lessons()


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson["page"])
def test_the_page_of_a_lesson_shows_its_picture_and_a_site_can_embed_it(lesson):
    page = DOCS / "theory" / f"{lesson['page']}.md"
    text = page.read_text(encoding="utf-8")
    assert (DOCS / "images" / "lessons" / f"{lesson['page']}.png").exists()
    assert len(figures.PICTURE.findall(text)) == 1
    site = figures.embedded(text)
    assert f'<iframe src="../figures/{lesson["page"]}.html"' in site
    assert lesson["title"] in site
    assert "images/lessons" not in site


def test_the_guide_names_the_lessons_in_their_order():
    guide = (DOCS / "play.md").read_text(encoding="utf-8")
    for number, lesson in enumerate(LESSONS, start=1):
        assert f"{number}. [{lesson['title']}](theory/{lesson['page']}.md)" in guide


def test_the_command_records_a_lesson_that_can_be_stepped(browser, tmp_path):
    lesson = next(one for one in LESSONS if one["state"].get("step") == 1)
    with browser.new_context(viewport=figures.SMALL) as context:
        page = context.new_page()
        page.goto(figures.record(lesson, tmp_path).as_uri())
        page.wait_for_selector(figures.READY)
        counter = page.locator("[data-testid=counter]")
        assert counter.inner_text().startswith("1 / ")
        page.keyboard.press("ArrowRight")
        assert counter.inner_text().startswith("2 / ")
        assert page.locator("[data-screen=step]").is_visible()
        for missing in ("compare", "gram", "settings"):  # of what needs the library, or is hidden
            assert page.locator(f"[data-screen={missing}]").count() == 0
        before = page.locator(".mm-point").first.get_attribute("transform")
        page.locator(".mm-point").first.focus()
        page.keyboard.press("Delete")
        page.keyboard.press("ArrowUp")
        assert page.locator(".mm-point").first.get_attribute("transform") == before


# Links, as Python reads them.


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson["page"])
def test_a_link_that_was_read_is_written_again(lesson):
    asked, shown = asked_by(f"http://127.0.0.1:1/{figures.link_to(lesson)}")
    link = link_of(spec_of(asked), **shown)
    again, shown_again = asked_by(link)
    assert (spec_of(again), shown_again) == (spec_of(asked), shown)
    for name, value in lesson["state"].items():
        if name not in ("view", "hide", "step"):
            assert f"{name}={value}" in link.replace(".0&", "&")


def test_points_of_one_s_own_come_back_from_a_link():
    points = [[0, 65535, 0, 10], [300, 7, 1, 25], [9, 9, 5, 1]]
    own = {"data": {"name": "points", "box": [-1.5, 2.0, 0.0, 1.0], "points": points}}
    asked, _ = asked_by(link_of(spec_of(own)))
    assert spec_of(asked) == spec_of(own)


@pytest.mark.parametrize(
    ("link", "words"),
    [
        ("#data=moons", "one of the page"),
        ("#v=2&data=moons", "one of the page"),
        ("#v=1&data=points&box=0,1,0,1&p=A", "damaged"),
        ("#v=1&data=points&box=0,1&p=", "not empty"),
        ("#v=1&data=moons&n=many", "whole number"),
        ("#v=1&C=nan", "C must be a number"),
        ("#v=1&solver=os.system", "solver must be one of"),
        ("#v=1&path=/etc/passwd", "unknown key 'path'"),
    ],
    ids=range(8),
)
def test_a_link_that_makes_no_sense_is_refused_in_words(link, words):
    with pytest.raises(RequestError, match=words):
        spec_of(asked_by(link)[0])
