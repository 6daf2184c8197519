"""Every examples/plot_*.py runs and writes the pictures that docs/gallery.md shows."""

import re
import runpy
import sys
from pathlib import Path

import matplotlib
import pytest
from matplotlib import pyplot

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("plot_*.py"))
GALLERY = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.stem)
def test_an_example_writes_the_pictures_of_its_section(example, tmp_path, monkeypatch, capsys):
    """Into a folder that is not there yet; and it says what it wrote."""
    matplotlib.use("Agg")
    folder = tmp_path / "not" / "there yet"
    monkeypatch.setattr(sys, "argv", [example.name, str(folder)])
    monkeypatch.syspath_prepend(example.parent)  # as Python does for a script
    try:
        runpy.run_path(str(example), run_name="__main__")
    finally:
        pyplot.close("all")
    written = {file.name for file in folder.iterdir()}
    said = {f"written: {folder / name}" for name in written}
    assert set(capsys.readouterr().out.splitlines()) == said
    link = f"(../examples/{example.name})"
    section = next(part for part in GALLERY.split("\n## ") if link in part)
    assert written == set(re.findall(r"\]\(images/([\w.]+)\)", section)) != set()
    assert all(file.stat().st_size < 3_000_000 for file in folder.iterdir())


def test_the_gallery_shows_files_that_exist():
    shown = re.findall(r"\]\(images/([\w.]+)\)", GALLERY)
    assert shown
    for name in shown:
        assert (ROOT / "docs" / "images" / name).is_file()
