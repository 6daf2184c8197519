"""The documentation is true: its code runs, its links lead somewhere, its pictures are its own."""

import re
from pathlib import Path

import pytest
from theory_pages import reading_order

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs").rglob("*.md"))
THEORY = sorted((ROOT / "docs" / "theory").glob("*.md"))
GUIDES = [ROOT / "docs" / f"{name}.md" for name in ("coming_from", "faq", "play", "scale")]
CODE = re.compile(r"```python\n(.*?)```", re.DOTALL)
LINK = re.compile(r"!?\[([^\]]*)\]\(([^)#\s]+)(?:#[^)]*)?\)")


def name_of(page):
    return str(page.relative_to(ROOT))


def local_links(page):
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    return [(words, target) for words, target in LINK.findall(text) if "://" not in target]


@pytest.mark.parametrize("page", [*PAGES, ROOT / "README.md"], ids=name_of)
def test_links_lead_to_files(page):
    for _, target in local_links(page):
        assert (page.parent / target).exists(), f"{page.name}: {target}"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_names_linked_to_a_source_file_are_defined_there(page):
    """A link such as [`certify`](../src/maxmargin/problems/certificate.py) names what is in it."""
    for words, target in local_links(page):
        if target.endswith(".py") and words.startswith("`"):
            source = (page.parent / target).read_text(encoding="utf-8")
            name = words.strip("`").split(".")[-1].split("(")[0]
            defined = rf"(?m)^\s*(def|class) {name}\b|^{name}\b.*=|^\s+{name}:"
            assert re.search(defined, source), f"{page.name}: {name} in {target}"


def is_drawn(target):
    """Whether a page's own code draws the picture; those of lessons are taken in a browser."""
    return target.endswith(".png") and "images/lessons/" not in target


@pytest.mark.parametrize("page", THEORY, ids=name_of)
def test_code_runs_and_draws_the_page_s_picture(page, tmp_path, monkeypatch):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    monkeypatch.chdir(tmp_path)
    text = page.read_text(encoding="utf-8")
    namespace = {}
    try:
        for block in CODE.findall(text):
            exec(compile(block, page.name, "exec"), namespace)
    finally:
        pyplot.close("all")
    shown = {Path(target).name for _, target in local_links(page) if is_drawn(target)}
    drawn = {path.name for path in tmp_path.glob("*.png")}
    assert shown == drawn != set(), f"{page.name} shows {shown} and draws {drawn}"


def test_f_has_its_bias_everywhere():
    """The letter f means the decision value, bias included; without the bias it is Kc."""
    notation = (ROOT / "docs" / "notation.md").read_text(encoding="utf-8")
    meaning = {line.split("|")[1].strip(): line for line in notation.splitlines() if "|" in line}
    assert "f(x) = sum_i c_i k(x_i, x) + b" in meaning["f"]
    assert "f without the bias" in meaning["Kc"]
    assert "errors f(x_i) - y_i" in meaning["E"]
    sources = sorted((ROOT / "src").rglob("*.py"))
    for file in [*PAGES, *sources]:
        assert not re.search(r"\bf(\(x\))? = Kc(?! \+)", file.read_text(encoding="utf-8")), file


@pytest.mark.parametrize("page", GUIDES, ids=name_of)
def test_code_of_the_guides_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = CODE.findall(page.read_text(encoding="utf-8"))
    assert len(blocks) > 3
    namespace = {}
    for block in blocks:
        exec(compile(block, page.name, "exec"), namespace)


def test_the_pages_promised_are_there():
    assert {page.stem for page in THEORY} == {"README", *reading_order()}


def test_every_test_named_in_the_coverage_table_exists():
    text = (ROOT / "docs" / "coverage.md").read_text(encoding="utf-8")
    named = re.findall(r"`([\w/]+\.py)::(\w+)`", text)
    assert len(named) > 60
    for file, test in named:
        source = (ROOT / "tests" / file).read_text(encoding="utf-8")
        assert re.search(rf"(?m)^def {test}\(", source), f"{file}::{test}"
