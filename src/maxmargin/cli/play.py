"""The verb `play`: the page, served to this machine's own browser."""

from typing import Annotated

import typer

from maxmargin.cli.messages import say, write

WITHOUT_SERVER = "the page needs starlette and uvicorn: pip install 'maxmargin[play]'."
OPEN_TO_OTHERS = (
    "warning: --host {} lets other machines reach this page, and the token in the link is all that "
    "keeps them out. The link is not encrypted."
)


def play(
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes any that is free.")] = 0,
    browser: Annotated[
        bool, typer.Option(metavar="", help="Whether to open the page in the browser.")
    ] = True,
    host: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Another address than this machine's own.")
    ] = "",
):
    """Step through SMO in a browser, on the real library.

    It prints one line with the link, which works once, and serves the page until Ctrl-C.
    """
    try:
        from maxmargin.play.server import HOME, serve
    except ModuleNotFoundError as error:
        if error.name not in ("starlette", "uvicorn", "anyio"):
            raise
        raise ImportError(WITHOUT_SERVER) from error
    if host and host != HOME:
        say(OPEN_TO_OTHERS.format(host))
    try:
        serve(port, host or HOME, browser, tell)
    except KeyboardInterrupt:
        say("the page has stopped.")


def tell(url):
    """Print the link at once, also where the output is a pipe."""
    write(url)
    typer.get_text_stream("stdout").flush()
