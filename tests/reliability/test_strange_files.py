"""The command line and files that are pipes, have one endless line, or a name that is no text."""

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(os.name != "posix", reason="files and names of POSIX")

COMMAND = [sys.executable, "-c", "import sys; from maxmargin.cli import main; sys.exit(main())"]
TABLE = "a,b,y\n1,2,0\n3,4,1\n5,6,0\n2,1,1\n"


def maxmargin(folder, *arguments, **options):
    return subprocess.run(
        [*COMMAND, *arguments], cwd=folder, capture_output=True, timeout=120, check=False, **options
    )


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("/dev/stdin", TABLE, b"/dev/stdin: not a regular file."),
        ("line.csv", "a,y\n" + "1" * 10**7 + ",0\n", b"line.csv:2:1: the number '1111"),
        ("line.svm", "1 1:" + "1" * 10**7 + "\n-1 1:2\n", b"line.svm:1:3: the value is too large"),
    ],
    ids=lambda value: value if isinstance(value, str) and len(value) < 12 else "",
)
def test_one_line_and_exit_code_1(name, content, reason, tmp_path):
    if name.endswith(("csv", "svm")):
        (tmp_path / name).write_text(content)
    run = maxmargin(tmp_path, "fit", name, "--model", "m.mm", input=content.encode())
    assert (run.returncode, run.stdout) == (1, b"")
    assert run.stderr.startswith(b"maxmargin: error: " + reason)
    assert run.stderr.count(b"\n") == 1
    assert not (tmp_path / "m.mm").exists()


def test_names_that_are_no_text(tmp_path):
    data, model, gone = b"n\xff.csv", b"m\xff.mm", b"gone\xff.csv"
    with open(os.fsencode(tmp_path) + b"/" + data, "w") as file:
        file.write(TABLE)
    assert maxmargin(tmp_path, "fit", data, "--model", model).returncode == 0
    assert model in os.listdir(os.fsencode(tmp_path))
    run = maxmargin(tmp_path, "predict", model, gone)
    assert (run.returncode, run.stdout) == (1, b"")
    assert run.stderr == b"maxmargin: error: gone\\udcff.csv: No such file or directory.\n"
