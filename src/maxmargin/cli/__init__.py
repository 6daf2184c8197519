"""The command line: `maxmargin fit`, `predict`, `inspect`, ... and LIBSVM's own tools.

A command parses its options, calls the public library and prints. Invariant: results go to standard
output and everything else to standard error; a failure is one line and no traceback; the exit code
is 0, 1 when the work failed, 2 when the command was wrong, 130 after Ctrl-C.
"""

import sys
from importlib import import_module

from maxmargin.cli.messages import (
    INTERRUPTED,
    UsageError,
    exit_code_of,
    say,
    warnings_in_one_line,
    write,
)

LIBSVM_TOOLS = {
    "svm-train": "maxmargin.cli.svm_train",
    "svm-predict": "maxmargin.cli.svm_predict",
    "svm-scale": "maxmargin.cli.svm_scale",
}
WITHOUT_TYPER = "the command line needs typer: pip install 'maxmargin[cli]'"


def main(arguments=None):
    """Run a command and return its exit code."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    with warnings_in_one_line():
        return exit_code_of(lambda: _run(arguments))


def _run_libsvm_tool(name, *arguments):
    tool = import_module(LIBSVM_TOOLS[name])
    if arguments and "--help" not in arguments:
        return tool.main(arguments)
    write(tool.HELP)
    return 0 if arguments else UsageError.exit_code


def _run(arguments):
    if arguments and arguments[0] in LIBSVM_TOOLS:
        return _run_libsvm_tool(*arguments)
    try:
        from maxmargin.cli.app import Abort, app
    except ModuleNotFoundError as error:
        if error.name != "typer":
            raise
        say(WITHOUT_TYPER)
        return 1
    try:
        # In standalone mode typer itself would print errors, in a frame, and exit.
        code = app(arguments or ["--help"], prog_name="maxmargin", standalone_mode=False)
    except Abort:
        raise KeyboardInterrupt from None
    if code == INTERRUPTED:  # newer versions of typer return it instead of raising
        raise KeyboardInterrupt
    return (code or 0) if arguments else 2
