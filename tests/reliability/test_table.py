"""The page on reliability is true: its tests exist, and no promise stands without one."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reliability.md"
ROW = re.compile(r"^\| (\d+) \| (P[012]) \| (.+) \| (.+) \|$", re.MULTILINE)
LAST = 71  # later rows are about a cluster, which does not exist yet


def rows():
    return {
        int(number): (priority, held)
        for number, priority, _, held in ROW.findall(PAGE.read_text(encoding="utf-8"))
    }


def named_in(text):
    return re.findall(r"`([\w/]+\.py)::(\w+)`", text)


def test_every_test_named_on_the_page_exists():
    named = named_in(PAGE.read_text(encoding="utf-8"))
    assert len(named) > 60
    for file, test in named:
        source = (ROOT / "tests" / file).read_text(encoding="utf-8")
        assert re.search(rf"(?m)^def {test}\(", source), f"{file}::{test}"


@pytest.mark.parametrize("number", sorted(set(range(1, LAST + 1)) - {3, 4, 5, 6}))
def test_every_row_has_a_test_or_a_reason(number):
    priority, held = rows()[number]
    if priority != "P2":
        is_sentence = re.search(r"\w+\W+\w+\W+\w+", held)
        assert named_in(held) or is_sentence, held
