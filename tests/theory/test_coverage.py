"""docs/coverage.md names a page, a function and a test for everything the five texts derive."""

import re

import pytest
from theory_pages import FOLDER, ROOT, anchors_of, tags_of, text_of

TABLES = text_of(ROOT / "docs" / "coverage.md").split("\n## Equation by equation")[1]
ROWS = [
    [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
    for line in re.findall(r"(?m)^\| [A-E][^\n]*\|$", TABLES)
]
# How many displayed equations each text has; text E gives labels to 75 of its own.
EQUATIONS = {"A": 41, "B": 56, "C": 58, "D": 56}
LABELLED = 75
FIGURES = 15  # of text E, by their labels


def test_every_equation_of_every_text_has_a_row():
    items = [item for row in ROWS for item in row[0].split(", ")]
    for text, count in EQUATIONS.items():
        numbers = [int(k) for item in items for k in re.findall(rf"^{text}(\d+)$", item)]
        assert sorted(numbers) == list(range(1, count + 1)), text
    labels = [item for item in items if re.fullmatch(r"E `\w+`", item)]
    assert len(labels) == len(set(labels)) == LABELLED
    figures = [item for item in items if item.startswith("E figure")]
    assert len(figures) == len(set(figures)) == FIGURES


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0].replace("`", ""))
def test_a_row_names_a_section_its_formulas_a_function_and_a_test(row):
    item, what, section, function, tests = row
    assert what
    page, anchor = re.search(r"\]\(theory/(\w+)\.md#([\w-]+)\)", section).groups()
    assert anchor in anchors_of(FOLDER / f"{page}.md")
    tags = re.findall(r"[A-Z]\d+", section.split("#")[-1].partition(")")[2])
    assert bool(tags) == bool(re.match(r"[A-D]\d|E `", item))  # equations have formulas
    assert set(tags) <= set(tags_of(FOLDER / f"{page}.md"))
    assert re.fullmatch(r"\[`[\w.]+`\]\(\.\./src/maxmargin/[\w/]+\.py\)", function)
    for file, name in re.findall(r"`([\w/]+\.py)::(\w+)`", tests):
        assert re.search(rf"(?m)^def {name}\(", text_of(ROOT / "tests" / file))
    assert "::" in tests
