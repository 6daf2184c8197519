"""The folder that an experiment writes: pictures, `results.json`, and a page that shows them.

Invariant: a file appears under its name only when it is whole, and the page, which speaks of all
the others, comes last.
"""

import json
from pathlib import Path

import numpy as np

from maxmargin.displays.drawing import matplotlib_for, panels_for
from maxmargin.files.access import replacing

OWNER = "experiments"
RESULTS, REPORT = "results.json", "report.md"
DOTS_PER_INCH = 110


class Page:
    """A page that grows from top to bottom; `finish` writes it.

    Parameters
    ----------
    folder : str or Path
        Made if it is not there. Files of other names in it are left alone.
    title : str
    """

    def __init__(self, folder, title):
        matplotlib_for(OWNER)  # better missed now than after minutes of work
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.pictures = []
        self._parts = [f"# {title}"]

    def say(self, text, **figures):
        """Headings, paragraphs or lists in Markdown, with figures in the place of {names}."""
        self._parts.append(text.strip().format(**figures))

    def tabulate(self, header, rows):
        """A table; the first column is words, the others are numbers."""
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
        """Write the results and the page; the results come back as they are in the file."""
        results = plain({**results, "pictures": self.pictures})
        text = json.dumps(results, indent=2, allow_nan=False)
        for name, content in ((RESULTS, text), (REPORT, "\n\n".join(self._parts))):
            with replacing(self.folder / name) as file:
                file.write(f"{content}\n".encode())
        return results


def plain(value):
    """The value in the words of JSON: no arrays, no NumPy numbers, None for what is not finite."""
    if isinstance(value, dict):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, (list, tuple, range)):
        return [plain(part) for part in value]
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value


def panels(rows, columns, size):
    """The axes of a new figure, in reading order."""
    return panels_for(None, (rows, columns), OWNER, size)


def percent(share):
    return f"{100 * share:.2f} %"
