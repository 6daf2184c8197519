"""The page's server as it runs, with its own worker process, on a free port of this machine."""

import os
import shutil
from types import SimpleNamespace

import pytest
from visitors import Visitor  # this folder is on the path

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync",
    "--disable-component-update", "--no-first-run",
)  # fmt: skip
BODY_SECONDS = 0.5  # so that a body that never comes is refused soon


@pytest.fixture(scope="session")
def fits():
    from maxmargin.play.fits import Fits

    fits = Fits()
    fits.ask(b'{"ask": "fit"}')  # on a new machine the library is compiled first
    yield fits
    fits.end()


@pytest.fixture
def served(fits):
    """A server with a token that has not been used; it ends with the test."""
    pytest.importorskip("uvicorn", reason="the page's server is the extra [play]")
    from maxmargin.play.server import running

    with running(fits, BODY_SECONDS) as pass_:
        yield SimpleNamespace(pass_=pass_, port=pass_.port, url=pass_.url)


@pytest.fixture
def visitor(served):
    return Visitor(served)


@pytest.fixture(scope="session")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        assert "CI" not in os.environ, "CI installs a browser: apt-get install chromium"
        pytest.skip("there is no Chromium: apt-get install chromium")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()
