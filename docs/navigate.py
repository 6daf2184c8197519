"""Write the last line of every theory page, previous and next, in the order of its contents.

`python docs/navigate.py` does it for all pages that are there; run twice, it changes nothing.
"""

import re
from pathlib import Path

FOLDER = Path(__file__).parent / "theory"
ROW = re.compile(r"(?m)^\| \d+ \| \[([^\]]+)\]\((\w+)\.md\)")
LINE = re.compile(r"\n+---\n\n[^\n]*\[All pages\]\(README\.md\)[^\n]*\n*\Z")


def reading_order():
    """(title, name) of every page, as the contents list them."""
    return ROW.findall((FOLDER / "README.md").read_text(encoding="utf-8"))


def line_of(name):
    """Previous · all pages · next."""
    pages = reading_order()
    here = [page for _, page in pages].index(name)
    parts = ["[All pages](README.md)"]
    if here > 0:
        title, page = pages[here - 1]
        parts.insert(0, f"[← {title}]({page}.md)")
    if here + 1 < len(pages):
        title, page = pages[here + 1]
        parts.append(f"[{title} →]({page}.md)")
    return " · ".join(parts)


def write(page):
    text = LINE.sub("", page.read_text(encoding="utf-8")).rstrip("\n")
    page.write_text(f"{text}\n\n---\n\n{line_of(page.stem)}\n", encoding="utf-8")


if __name__ == "__main__":
    for _, name in reading_order():
        if (FOLDER / f"{name}.md").exists():
            write(FOLDER / f"{name}.md")
