"""Make the figures of the documentation that run on the page: ten lessons, and pictures of them.

`python docs/figures.py` writes a file for every lesson into docs/figures. It holds the page and the
library's replies, so that a built site can embed it, and a reader needs no server to step through.
`python docs/figures.py --pictures` also takes the still pictures that stand in the Markdown, with
Chromium: of the lessons from those files, and of docs/play.md from the page as it runs.
"""

import json
import re
import shutil
import sys
from contextlib import contextmanager
from pathlib import Path

from maxmargin import play

DOCS = Path(__file__).parent
FIGURES, IMAGES = DOCS / "figures", DOCS / "images"
LESSONS = DOCS.parent / "play" / "src" / "lessons.json"
PICTURE = re.compile(r"!\[([^\]]*)\]\(((?:\.\./)*)images/lessons/(\w+)\.png\)")
READY = ".mm-play[data-ready]"
SMALL = {"width": 1000, "height": 590}  # the size of a figure, and of its picture
LARGE, PHONE = {"width": 1280, "height": 800}, {"width": 360, "height": 640}
MOONS = "#v=1&data=moons&n=40&noise=0.2"
OF_THE_GUIDE = {
    "play_step": (f"{MOONS}&step=12&view=step", {"viewport": LARGE}),
    "play_kkt": ("lesson 4", {"viewport": LARGE}),
    "play_phone": (f"{MOONS}&step=12", {"viewport": PHONE, "is_mobile": True, "has_touch": True}),
    "play_dark": ("#v=1&data=three&n=40&noise=0.6", {"viewport": LARGE, "color_scheme": "dark"}),
}


def lessons():
    return json.loads(LESSONS.read_text(encoding="utf-8"))


def link_to(lesson):
    """What is recorded can be stepped, not changed, so beside a plane alone the steps are told."""
    state = dict(lesson["state"])
    state["view"] = "step" if state["view"] == "plane" else state["view"]
    return "#v=1&" + "&".join(f"{name}={value}" for name, value in state.items())


def record(lesson, folder=FIGURES):
    """The figure of a lesson, in a file named after its page of the theory."""
    folder.mkdir(exist_ok=True)
    path = folder / f"{lesson['page']}.html"
    play.record(path, link_to(lesson))
    return path


def embedded(text):
    """The Markdown of a page with its figures in the place of their pictures, for a built site."""
    frame = (
        r'<iframe src="\2figures/\3.html" title="\1" width="100%" '
        f'height="{SMALL["height"]}" style="border: 0" loading="lazy"></iframe>'
    )
    return PICTURE.sub(frame, text)


# Pictures.


@contextmanager
def chromium():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as started:
        path = shutil.which("chromium") or shutil.which("google-chrome")
        browser = started.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@contextmanager
def served():
    """The page as it runs: its address, and the cookie of whoever opened it."""
    from maxmargin.play.fits import Fits
    from maxmargin.play.server import running

    fits = Fits()
    try:
        with running(fits) as pass_:
            home = f"http://{pass_.authority}/"
            yield home, {"name": pass_.cookie_name, "value": pass_.cookie, "url": home}
    finally:
        fits.end()


def picture(browser, url, path, cookies=(), lesson=0, **options):
    with browser.new_context(device_scale_factor=1, **options) as context:
        context.add_cookies(list(cookies))
        page = context.new_page()
        page.goto(url)
        page.wait_for_selector(READY)
        if lesson:
            page.locator(".mm-lesson-pick select").select_option(str(lesson))
        page.wait_for_timeout(1500)  # until the library has said its word on the step
        page.screenshot(path=path)


def take_pictures():
    (IMAGES / "lessons").mkdir(exist_ok=True)
    with chromium() as browser:
        for lesson in lessons():
            url, name = (FIGURES / f"{lesson['page']}.html").as_uri(), f"{lesson['page']}.png"
            picture(browser, url, IMAGES / "lessons" / name, viewport=SMALL)
        with served() as (home, cookie):
            for name, (link, options) in OF_THE_GUIDE.items():
                number = int(link.split()[1]) if link.startswith("lesson") else 0
                url = home if number else home + link
                path = IMAGES / f"{name}.png"
                picture(browser, url, path, cookies=[cookie], lesson=number, **options)


if __name__ == "__main__":
    for lesson in lessons():
        record(lesson)
    if "--pictures" in sys.argv[1:]:
        take_pictures()
