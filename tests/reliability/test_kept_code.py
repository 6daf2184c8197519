"""Compiled code on a disk that is full, damaged, read-only or gone: one warning, and fits go on."""

import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import numba
import pytest

import maxmargin
from maxmargin.compiled import jit, kept_code

FIT = """
    import numpy as np
    from maxmargin import Perceptron
    from maxmargin.compiled import descent, jit
    jit.ANNOUNCE_AFTER_SECONDS = 1000.0  # on a busy machine, too, this is about the disk alone
    {after_import}
    X = np.random.default_rng(0).standard_normal((30, 2))
    print(Perceptron(max_updates=50).fit(X, X[:, 0] > 0).predict(X[:1]))
"""
NOT_KEPT, UNREADABLE = "cannot keep compiled code in", "cannot read the compiled code in"


def fit(folder, after_import="", within=()):
    """What a fit in its own process says, which must predict as ever."""
    code = textwrap.dedent(FIT).format(after_import=textwrap.dedent(after_import))
    run = subprocess.run(
        [*within, sys.executable, "-W", "error", "-c", code], capture_output=True, text=True,
        env={**os.environ, "NUMBA_CACHE_DIR": str(folder)}, timeout=120, check=False,
    )  # fmt: skip
    assert (run.returncode, run.stdout) == (0, "[ True]\n"), run.stderr
    return run.stderr


def test_of_several_processes_that_compile_one_says_so(tmp_path):
    at_once = "jit.ANNOUNCE_AFTER_SECONDS = 0.0"

    def said_without_code():
        for path in files(tmp_path):
            path.unlink()
        return fit(tmp_path, at_once).count("maxmargin is compiling its inner loops")

    assert said_without_code() == 1
    (note,) = tmp_path.rglob(kept_code.NOTE)
    assert said_without_code() == 0
    begun = note.stat().st_mtime - 2 * kept_code.NOTE_LASTS
    os.utime(note, (begun, begun))
    assert said_without_code() == 1, "another day, another fit"


COMPILED = """
    import numba.core.event as event
    import numpy as np
    import maxmargin.compiled.numba_setup
    from maxmargin import Perceptron

    class Listener(event.Listener):
        def on_start(self, one):
            print(one.data["dispatcher"].py_func.__name__)

        def on_end(self, one):
            pass

    event.register("numba:compile", Listener())
    X = np.random.default_rng(0).standard_normal((30, 2))
    Perceptron(max_updates=50).fit(X, X[:, 0] > 0)
"""


def test_code_is_compiled_again_when_the_source_of_what_it_calls_has_changed(tmp_path):
    package = tmp_path / "maxmargin"
    shutil.copytree(Path(maxmargin.__file__).parent, package, ignore=lambda *_: ["__pycache__"])
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "NUMBA_CACHE_DIR": str(tmp_path)}

    def compiled():
        ran = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(COMPILED)], env=environment, cwd=tmp_path,
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        return ran.stdout.split()

    assert "perceptron_pass" in compiled()
    assert compiled() == []
    with open(package / "compiled" / "vectors.py", "a") as source:
        source.write("# dot and add are compiled into the pass\n")
    assert "perceptron_pass" in compiled()


def files(folder):
    return {path: path.read_bytes() for path in sorted(folder.rglob("*.nb?"))}


def wrong_machine_code(content):
    start = content.index(b"\x7fELF") + 64 if b"\x7fELF" in content else len(content) // 2
    return content[:start] + bytes(byte ^ 0x55 for byte in content[start:])


DAMAGES = {
    "wrong machine code": wrong_machine_code,
    "empty": lambda content: b"",
    "one byte left": lambda content: content[:1],
    "cut in the middle": lambda content: content[: len(content) // 2],
    "cut before the end": lambda content: content[:-1],
    "zeros": lambda content: bytes(len(content)),
    "text": lambda content: b"not what it was\n" * 10,
}


@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
def test_a_process_compiles_damaged_code_again_and_replaces_it(suffix, tmp_path):
    assert fit(tmp_path) == ""
    whole = files(tmp_path)
    damaged = [path for path in whole if path.suffix == f".{suffix}"]
    assert len(damaged) > 2
    for path, damage in zip(damaged, DAMAGES.values(), strict=False):
        path.write_bytes(damage(whole[path]))
    said = fit(tmp_path)
    assert said.count("\n") == said.count(UNREADABLE) == 1
    mended = files(tmp_path)
    assert mended.keys() == whole.keys()
    assert fit(tmp_path) == ""
    assert files(tmp_path) == mended


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
def test_a_damaged_file_is_replaced_by_a_good_one(suffix, damage, tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(kept_code, "_said", set())
    assert compiled_anew()
    assert not compiled_anew()
    (path,) = tmp_path.rglob(f"*.{suffix}")
    path.write_bytes(DAMAGES[damage](path.read_bytes()))
    assert compiled_anew()
    assert [UNREADABLE in one.getMessage() for one in caplog.records] == [True]
    assert not compiled_anew()


def compiled_anew():
    """Whether a function, as another process would make it, finds no code of its own on disk."""
    function = jit.compiled(jit.unsigned.py_func)
    assert function(7) == 7
    return function.stats.cache_hits[function.signatures[0]] == 0


LIMIT = """
    import resource
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
"""


@pytest.mark.skipif(os.name != "posix", reason="limits the length of files")
def test_code_that_finds_no_room_is_used_and_not_kept(tmp_path):
    said = fit(tmp_path, LIMIT)
    assert said.count("\n") == said.count(NOT_KEPT) == 1
    assert str(tmp_path) in said
    assert not list(tmp_path.rglob("*.nbc"))
    assert fit(tmp_path) == ""
    assert list(tmp_path.rglob("*.nbc"))


def on_a_disk_of(size, folder):
    """How to run a command with a disk of that size, its own alone, mounted there."""
    folder.mkdir()
    mount = f'mount -t tmpfs -o size={size} none "{folder}" && exec "$@"'
    within = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", mount, "sh"]
    try:
        subprocess.run([*within, "true"], capture_output=True, check=True, timeout=20)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("may not mount a disk")
    return within


def test_a_full_disk_ends_no_fit(tmp_path):
    disk = tmp_path / "disk"
    said = fit(disk, within=on_a_disk_of("16k", disk))
    assert said.count("\n") == said.count(NOT_KEPT) == said.count("No space left on device") == 1


def test_a_disk_that_becomes_read_only_ends_no_fit(tmp_path):
    disk = tmp_path / "disk"
    remount = f"""
    import subprocess
    subprocess.run(["mount", "-o", "remount,ro", {str(disk)!r}], check=True)
    """
    said = fit(disk, remount, within=on_a_disk_of("1m", disk))
    assert said.count("\n") == said.count(NOT_KEPT) == said.count("Read-only file system") == 1


@pytest.mark.parametrize("in_its_place", ["nothing", "a file"])
def test_a_folder_that_vanishes_after_the_import_ends_no_fit(tmp_path, in_its_place):
    folder = tmp_path / "gone"
    vanish = f"""
    import pathlib, shutil
    shutil.rmtree({str(folder)!r})
    if {in_its_place == "a file"}:
        pathlib.Path({str(folder)!r}).touch()
    """
    said = fit(folder, vanish)
    assert said.count(NOT_KEPT) == said.count("\n") == (in_its_place == "a file")
    assert bool(files(folder)) == (in_its_place == "nothing")
