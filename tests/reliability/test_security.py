"""What the source must not do: run text, unpickle, start a shell, open a connection."""

import ast
import re
import subprocess
import sys
import textwrap
import tomllib
from pathlib import Path

import pytest

import maxmargin

PACKAGE = Path(maxmargin.__file__).parent
ROOT = PACKAGE.parents[1]
SOURCES = sorted(PACKAGE.rglob("*.py"))

# `python -m maxmargin script.py` runs the user's own script and patches the processes it starts;
# `maxmargin bench --data` runs that of the benchmarks, by a list of arguments. They exist for it.
# `maxmargin play` listens on this machine's own address and fits in a process that it can end.
ALLOWED = {
    ("__main__.py", "runpy"),
    ("children.py", "multiprocessing"),
    ("cli/shows.py", "subprocess"),
    ("play/fits.py", "subprocess"),
    ("play/links.py", "urllib.parse"),  # it takes links apart, and opens none
    ("play/server.py", "socket"),
}
FORBIDDEN_CALLS = {
    "eval", "exec", "compile", "__import__", "os.system", "os.popen", "pickle.load", "pickle.loads",
    "pickle.Unpickler", "joblib.load", "marshal.loads", "marshal.load", "shelve.open", "yaml.load",
    "numpy.fromregex", "tempfile.mktemp",
}  # fmt: skip
FORBIDDEN_MODULES = {
    "pickle", "cPickle", "dill", "cloudpickle", "marshal", "shelve", "yaml", "runpy", "code",
    "socket", "ssl", "http", "urllib", "ftplib", "smtplib", "xmlrpc", "asyncio", "socketserver",
    "requests", "httpx", "aiohttp", "urllib3", "subprocess", "ctypes", "multiprocessing",
}  # fmt: skip
FORBIDDEN_FLAGS = {"allow_pickle", "shell"}


def dotted(node):
    """`numpy.load` of the expression that calls it; names of modules are not followed further."""
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else "?"


def offences(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (a.name for a in node.names if a.name.split(".")[0] in FORBIDDEN_MODULES)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            if node.module.split(".")[0] in FORBIDDEN_MODULES:
                yield node.module
        elif isinstance(node, ast.Call):
            if dotted(node.func) in FORBIDDEN_CALLS:
                yield dotted(node.func)
            for keyword in node.keywords:
                value = getattr(keyword.value, "value", None)
                if value is True and keyword.arg in FORBIDDEN_FLAGS:
                    yield f"{keyword.arg}=True"


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_no_source_runs_text_unpickles_or_opens_a_connection(path):
    found = set(offences(ast.parse(path.read_text(encoding="utf-8"))))
    name = path.relative_to(PACKAGE).as_posix()
    assert {one for one in found if (name, one) not in ALLOWED} == set()


@pytest.mark.parametrize(
    "text",
    ["import pickle", "from urllib.request import urlopen", "eval('1')", "os.system('x')",
     "np.load(f, allow_pickle=True)", "run('x', shell=True)", "def f():\n    import socket"],
)  # fmt: skip
def test_the_search_finds_what_it_looks_for(text):
    assert list(offences(ast.parse(text)))


def test_arrays_are_only_read_where_pickles_are_refused():
    """np.load would unpickle when asked to; model files are read without it (files/archive.py)."""
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                assert dotted(node.func) not in ("np.load", "numpy.load"), path


def test_import_fit_save_and_load_need_no_network(tmp_path):
    code = """
    import socket, sys

    def refused(*arguments, **options):
        raise AssertionError("a connection was opened")

    class Refused(socket.socket):
        __init__ = refused

    socket.socket, socket.create_connection, socket.getaddrinfo = Refused, refused, refused
    import maxmargin
    for name in maxmargin.__all__:
        getattr(maxmargin, name)
    model = maxmargin.SVC().fit([[0.0], [1.0]], [0, 1])
    maxmargin.LinearSVC().fit([[0.0], [1.0]], [0, 1])
    maxmargin.save(model, sys.argv[1])
    print(maxmargin.load(sys.argv[1]).predict([[0.9]]))
    """
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), str(tmp_path / "model.mm")],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert run.stdout == "[1]\n", run.stderr


@pytest.mark.skipif(not (ROOT / "pyproject.toml").exists(), reason="installed without its sources")
def test_every_requirement_has_a_lowest_version():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    groups = [project["dependencies"], *project["optional-dependencies"].values()]
    wanted = [one for group in groups for one in group if not one.startswith("maxmargin[")]
    assert len(wanted) > 10
    for requirement in wanted:
        named = requirement.split(";")[0]  # without the platforms it is for
        assert re.fullmatch(r"[A-Za-z0-9_.-]+>=\d+(\.\d+)*", named), requirement
