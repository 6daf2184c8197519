"""Where the pictures of the examples go, and what is said of them."""

import sys
from pathlib import Path


def folder_asked_for():
    """The folder named on the command line, made where there is none yet, or the current one."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def write(figure, path):
    figure.savefig(path, dpi=100)
    say_written(path)


def say_written(path):
    print("written:", path)
