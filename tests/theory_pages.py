"""What the tests of the theory read from its pages: order, sections, formulas, code, exercises."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "theory"
CONTENTS = FOLDER / "README.md"
FENCE = re.compile(r"```.*?```", re.DOTALL)
CODE = re.compile(r"```python\n(.*?)```", re.DOTALL)
DISPLAYED = re.compile(r"\$\$(.*?)\$\$", re.DOTALL)
INLINE = re.compile(r"(?<![\\$])\$(?!\$)([^$\n]+(?:\n[^$\n]+)*)\$(?!\$)")
TAG = re.compile(r"\\tag\{(\w+)\}")

# What the five texts derive, in reading order; the pages after them are on what no text derives.
COURSE = (
    "perceptron", "losses_and_descent", "margins", "lagrangian", "duality_and_kkt", "soft_margin",
    "coordinate_ascent", "smo_step_by_step", "smo_solvers", "feature_maps", "kernels_and_mercer",
    "random_features", "regression_and_regularisation", "bias_and_variance",
)  # fmt: skip


def states(*tags):
    """Says which formulas of the pages a test evaluates, by their tags."""

    def mark(test):
        test.states = tags
        return test

    return mark


def text_of(page):
    return page.read_text(encoding="utf-8")


def prose_of(page):
    """The page without its code."""
    return FENCE.sub("", text_of(page))


def pages():
    return [FOLDER / f"{name}.md" for name in reading_order()]


def reading_order():
    """The stems of the pages, as the rows of the contents name them."""
    rows = re.findall(r"(?m)^\| \d+ \| \[[^\]]+\]\((\w+)\.md\)", text_of(CONTENTS))
    assert len(rows) == len(set(rows)) > 0
    return rows


def title_of(page):
    return re.search(r"(?m)^# (.+)$", text_of(page)).group(1)


def anchors_of(page):
    """The anchors that GitHub, and the site, give to the headings of a page."""
    headings = re.findall(r"(?m)^#+ (.+)$", prose_of(page))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def tags_of(page):
    return TAG.findall(prose_of(page))


def exercises_of(page):
    """The text of each exercise with its answer."""
    part = text_of(page).split("\n## Exercises\n")
    if len(part) == 1:
        return []
    return re.split(r"(?m)^\*\*Exercise \d+\.\*\*", part[1].split("\n## ")[0])[1:]
