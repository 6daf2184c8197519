"""The page, on which one steps through SMO in a browser or a notebook, with the real library.

`maxmargin play` serves it on this machine, `record` writes it to one file with all its replies, and
`widget` shows it in a notebook. All three call `session.reply_to`.
"""

from pathlib import Path

__all__ = ["record", "widget"]

STATIC = Path(__file__).parent / "static"


def __getattr__(name):
    from importlib import import_module

    homes = {"record": "recorded", "widget": "notebook"}
    if name not in homes:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{homes[name]}"), name)
