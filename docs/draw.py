"""Draw the pictures of the theory anew: `python docs/draw.py`, or with the names of some pages.

A page's code is run from top to bottom, as a reader would type it, and saves the page's pictures.
"""

import os
import re
import sys
from pathlib import Path

import matplotlib

FOLDER = Path(__file__).parent / "theory"


def draw(page):
    namespace = {}
    for block in re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
        exec(compile(block, page.name, "exec"), namespace)


if __name__ == "__main__":
    matplotlib.use("Agg")
    chosen = [FOLDER / f"{name}.md" for name in sys.argv[1:]] or sorted(FOLDER.glob("*.md"))
    os.chdir(FOLDER / "images")
    for page in chosen:
        draw(page)
