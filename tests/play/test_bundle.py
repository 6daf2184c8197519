"""The bundle of the page: small, without a word to other hosts, and the build of its source."""

import gzip
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from maxmargin.play.server import FILES, STATIC

SOURCE = Path(__file__).parents[2] / "play"
MOST_BYTES = 60_000


def test_the_page_is_at_most_sixty_kilobytes_packed():
    packed = sum(len(gzip.compress(path.read_bytes(), 9)) for path in STATIC.iterdir())
    assert packed <= MOST_BYTES


def test_every_file_of_the_page_is_served_and_no_other_is_there():
    assert {path.name for path in STATIC.iterdir()} == {name for name, _ in FILES.values()}


def test_the_page_names_no_other_host():
    for path in STATIC.iterdir():
        found = set(re.findall(r"https?://[\w.]+", path.read_text(encoding="utf-8")))
        assert found <= {"http://www.w3.org"}, path.name  # the name of SVG, which nobody asks


@pytest.mark.skipif(not SOURCE.exists(), reason="installed without its sources")
def test_the_bundle_is_the_build_of_its_source(tmp_path):
    if shutil.which("npx") is None:
        pytest.skip("there is no node to build the page with")
    if not (SOURCE / "node_modules").exists():
        assert "CI" not in os.environ, (
            "CI installs the page's packages: npm install --no-save --prefix play"
        )
        pytest.skip("the page's packages are not installed: npm install --no-save --prefix play")
    built = tmp_path / "built"
    words = ["npx", "vite", "build", "--outDir", str(built), "--emptyOutDir"]
    subprocess.run(words, cwd=SOURCE, check=True, capture_output=True, timeout=300)
    assert {path.name for path in built.iterdir()} == {path.name for path in STATIC.iterdir()}
    for path in built.iterdir():
        assert path.read_bytes() == (STATIC / path.name).read_bytes(), (
            f"{path.name} is not what `npm run build` in play/ makes; run it and commit the result"
        )
