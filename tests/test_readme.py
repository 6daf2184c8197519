"""The README's examples run as they are written, for a person who installed what it says, and its
table names what exists."""

import re

import pytest
from environments import ROOT, make_environment, run_in
from sklearn.datasets import dump_svmlight_file, load_iris

import maxmargin

README = (ROOT / "README.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


def test_examples_run_where_the_library_alone_is_installed(tmp_path):
    make_environment(tmp_path)
    run_all = f"for example in {EXAMPLES!r}: exec(compile(example, 'README.md', 'exec'), {{}})"
    result = run_in(tmp_path, "-W", "error", "-c", run_all)
    assert result.returncode == 0, result.stderr


def test_an_environment_has_what_was_asked_for_and_nothing_else(tmp_path):
    assert all(f'pip install ".[{extra}]"' in README for extra in ("plot", "cli"))
    make_environment(tmp_path, "plot")
    names = ("sklearn", "matplotlib", "pandas", "rich", "typer", "pytest")
    look = f"from importlib.util import find_spec; print(*(find_spec(n) is None for n in {names}))"
    assert run_in(tmp_path, "-c", look).stdout.split() == ["False"] * 2 + ["True"] * 4


def test_pictures_are_drawn_with_the_extra_that_the_readme_names(tmp_path):
    make_environment(tmp_path, "plot")
    script = ROOT / "examples" / "plot_boundary.py"
    result = run_in(tmp_path, str(script), str(tmp_path / "pictures" / "mine"))
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "pictures" / "mine" / "boundary.png").is_file()


def test_a_trace_without_pandas_says_how_to_get_it_or_do_without(tmp_path):
    make_environment(tmp_path)
    code = "from maxmargin.problems.trace import Trace; Trace().to_frame()"
    assert run_in(tmp_path, "-c", code).stderr.splitlines()[-1] == (
        "ImportError: Trace.to_frame: a data frame needs pandas; pip install pandas. Without it, "
        "np.asarray(trace) is the same table."
    )


def test_first_example_prints_what_the_readme_shows(capsys):
    exec(compile(EXAMPLES[0], "README.md", "exec"), {})
    printed = capsys.readouterr().out.splitlines()
    shown = README.split(EXAMPLES[0])[1].split("```")[2]
    assert printed[:4] == shown.strip("\n").splitlines()[:4]


def test_every_public_name_can_be_loaded():
    assert sorted(dir(maxmargin)) == sorted(maxmargin.__all__)
    for name in maxmargin.__all__:
        assert getattr(maxmargin, name) is not None
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        maxmargin.nothing  # noqa: B018


def test_commands_run_as_they_are_written(tmp_path):
    """Every line that begins with `maxmargin`, in its order, on files of its names, with the extra
    that the README names beside them."""
    installed, work = tmp_path / "installed", tmp_path / "work"
    installed.mkdir()
    work.mkdir()
    make_environment(installed, "cli")
    X, y = load_iris(return_X_y=True)
    lines = [[*map(str, row), label] for row, label in zip(X, y, strict=True)]
    for name in ("data.csv", "new.csv"):
        table = [["length", "width", "other length", "other width", "kind"], *lines]
        (work / name).write_text("\n".join(",".join(map(str, row)) for row in table))
    dump_svmlight_file(X, y, str(work / "data.svm"), zero_based=False)
    commands = re.findall(r"(?m)^maxmargin (\S[^#\n]*)", README)
    assert len(commands) >= 4
    for command in commands:
        words = ["-c", "from maxmargin.cli import main; main()", *command.split()]
        result = run_in(installed, *words, cwd=work)
        assert result.returncode == 0, f"{command}: {result.stderr}"
    assert {"model.mm", "model.txt"} <= {path.name for path in work.iterdir()}
