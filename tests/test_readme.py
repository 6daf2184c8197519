"""The README's examples run as they are written, and its table names what exists."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from sklearn.datasets import dump_svmlight_file, load_iris

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


def test_commands_run_as_they_are_written(tmp_path):
    """Every line that begins with `maxmargin`, in its order, on files of its names."""
    X, y = load_iris(return_X_y=True)
    lines = [[*map(str, row), label] for row, label in zip(X, y, strict=True)]
    for name in ("data.csv", "new.csv"):
        table = [["length", "width", "other length", "other width", "kind"], *lines]
        (tmp_path / name).write_text("\n".join(",".join(map(str, row)) for row in table))
    dump_svmlight_file(X, y, str(tmp_path / "data.svm"), zero_based=False)
    commands = re.findall(r"(?m)^maxmargin (\S[^#\n]*)", README.read_text(encoding="utf-8"))
    assert len(commands) >= 4
    for command in commands:
        words = [sys.executable, "-c", "from maxmargin.cli import main; main()", *command.split()]
        result = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert result.returncode == 0, f"{command}: {result.stderr}"
    assert {"model.mm", "model.txt"} <= {path.name for path in tmp_path.iterdir()}
