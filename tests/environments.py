"""What a person has who installed the library with certain extras, and nothing else."""

import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import distribution
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def installed_with(*extras):
    """The names of the distributions that `pip install ".[extras]"` brings."""
    asked = list(PROJECT["dependencies"])
    for extra in extras:
        asked += PROJECT["optional-dependencies"][extra]
    found, left = set(), needed(asked)
    while left:
        wanted = left.pop()
        if (name := normalised(wanted.name)) not in found:
            found.add(name)
            left += needed(distribution(name).requires or (), wanted.extras)
    return found


def needed(lines, extras=()):
    """The requirements that hold on this machine, and with these extras."""
    return [
        requirement
        for requirement in map(Requirement, lines)
        if requirement.marker is None
        or any(requirement.marker.evaluate({"extra": extra}) for extra in ("", *extras))
    ]


def normalised(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def make_environment(folder, *extras):
    """Fill a folder with links to what is installed of these extras, as `site-packages` has it."""
    for name in installed_with(*extras):
        files = distribution(name).files
        for top in {file.parts[0] for file in files if file.parts[0] not in ("..", "__pycache__")}:
            (folder / top).symlink_to(distribution(name).locate_file(top))


def run_in(folder, *words, **options):
    """Run Python where that folder takes the place of everything that is installed."""
    path = os.pathsep.join([str(folder), str(ROOT / "src")])
    return subprocess.run(
        [sys.executable, "-S", *words],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
        **options,
    )
