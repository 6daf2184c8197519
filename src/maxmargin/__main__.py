"""`python -m maxmargin script.py [arguments]`: run a script with `sklearn.svm` patched."""

import runpy
import sys
from pathlib import Path

from maxmargin.children import patch_with_children

USAGE = "usage: python -m maxmargin script.py [arguments]"


def main(arguments):
    if not arguments or arguments[0] in ("-h", "--help"):
        sys.stderr.write(f"{USAGE}\nRuns the script with maxmargin's classes in sklearn.svm.\n")
        return 0 if arguments else 2
    script = Path(arguments[0])
    if not script.is_file():
        sys.stderr.write(f"python -m maxmargin: no such file: {script}\n")
        return 2
    patch_with_children()
    sys.argv = arguments
    sys.path[0] = str(script.resolve().parent)  # Python itself does the same
    runpy.run_path(str(script), run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
