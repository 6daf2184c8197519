"""The README's examples run as they are written, and its table names what exists."""

import re
from pathlib import Path

import pytest

import maxmargin

README = Path(__file__).parents[1] / "README.md"
EXAMPLES = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize("example", EXAMPLES, ids=range(len(EXAMPLES)))
def test_example_runs(example, capsys):
    exec(compile(example, "README.md", "exec"), {})


def test_first_example_prints_what_the_readme_shows(capsys):
    exec(compile(EXAMPLES[0], "README.md", "exec"), {})
    printed = capsys.readouterr().out.splitlines()
    shown = README.read_text(encoding="utf-8").split(EXAMPLES[0])[1].split("```")[2]
    assert printed[:4] == shown.strip("\n").splitlines()[:4]


def test_every_public_name_can_be_loaded():
    assert sorted(dir(maxmargin)) == sorted(maxmargin.__all__)
    for name in maxmargin.__all__:
        assert getattr(maxmargin, name) is not None
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        maxmargin.nothing  # noqa: B018
