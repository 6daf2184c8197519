"""The folder that an experiment writes: pictures, `results.json`, and a page that shows them.

Invariant: a file appears under its name only when it is whole, and the page, which links to all the
others, comes last.
"""

import json
from pathlib import Path

from maxmargin.displays.drawing import matplotlib_for, panels_for
from maxmargin.files.access import plain, replacing

OWNER = "experiments"
RESULTS, REPORT = "results.json", "report.md"
DOTS_PER_INCH = 110


class Page:
    """A page that grows from top to bottom; `finish` writes it.

    Parameters
    ----------
    folder : str or Path
        It is made if it does not exist. Files of other names in it are left alone.
    title : str
    """

    def __init__(self, folder, title):
        matplotlib_for(OWNER)  # if it is missing, fail now and not after minutes of work
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.pictures = []
        self._parts = [f"# {title}"]

    def say(self, text, **figures):
        """Add headings, paragraphs or lists in Markdown, with figures in the place of {names}."""
        self._parts.append(text.strip().format(**figures))

    def tabulate(self, header, rows):
        """Add a table, whose first column is words, and whose others are numbers."""
        marks = ["---", *["---:"] * (len(header) - 1)]
        lines = [" | ".join(map(str, row)) for row in (header, marks, *rows)]
        self._parts.append("\n".join(f"| {line} |" for line in lines))

    def show(self, figure, name, words):
        """Save a figure, close it, and let the page show it."""
        try:
            with replacing(self.folder / name) as file:
                figure.savefig(file, format="png", dpi=DOTS_PER_INCH)
        finally:
            matplotlib_for(OWNER).pyplot.close(figure)
        self.pictures.append(name)
        self._parts.append(f"![{words}]({name})")

    def finish(self, results):
        """Write the results and the page; return the results as they are in the file."""
        results = plain({**results, "pictures": self.pictures})
        text = json.dumps(results, indent=2, allow_nan=False)
        for name, content in ((RESULTS, text), (REPORT, "\n\n".join(self._parts))):
            with replacing(self.folder / name) as file:
                file.write(f"{content}\n".encode())
        return results


def panels(rows, columns, size):
    """The axes of a new figure, in reading order."""
    return panels_for(None, (rows, columns), OWNER, size)


def percent(share):
    return f"{100 * share:.2f} %"
