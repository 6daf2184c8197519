"""Write the golden models: what this version saves, for later versions to read.

Run it once for a release, with that version installed: `python tests/files/golden/make.py`. It adds
a folder named after the format and the version, and refuses to change one that is there.
"""

import sys
from pathlib import Path

import numpy as np

import maxmargin
from maxmargin.files import models

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from model_zoo import KINDS, answers, rows_for  # noqa: E402


def main():
    folder = HERE / f"format{models.VERSION}-{maxmargin.__version__}"
    folder.mkdir()
    for kind, make in KINDS.items():
        model = make()
        name = kind.replace(",", "").replace(" ", "_")
        maxmargin.save(model, folder / f"{name}.mm")
        rows = rows_for(model)
        said = {f"answer{k}": answer for k, answer in enumerate(answers(model, rows))}
        np.savez(folder / f"{name}.npz", rows=rows, **said)


if __name__ == "__main__":
    main()
