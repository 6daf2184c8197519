"""Write the golden models: what this version saves, for later versions to read.

Run it once for a release, with that version installed: `python tests/files/golden/make.py 2`. It
adds a folder named after the format (here those models that need format 2) and the version, and
refuses to change one that is there.
"""

import sys
from pathlib import Path

import numpy as np

import maxmargin

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from model_zoo import KINDS, answers, opened_up, rows_for  # noqa: E402


def main(version):
    folder = HERE / f"format{version}-{maxmargin.__version__}"
    folder.mkdir()
    for kind, make in KINDS.items():
        model, name = make(), kind.replace(",", "").replace(" ", "_")
        path = folder / f"{name}.mm"
        maxmargin.save(model, path)
        if opened_up(path)[0]["format_version"] == version:
            write_answers(model, path.with_suffix(".npz"))
        else:
            path.unlink()


def write_answers(model, path):
    rows = rows_for(model)
    said = {f"answer{k}": _plain(answer) for k, answer in enumerate(answers(model, rows))}
    np.savez(path, rows=_plain(rows), **said)


def _plain(answer):
    """Objects as an array of NumPy's own, which needs no pickle."""
    return np.array(answer.tolist())


if __name__ == "__main__":
    main(int(sys.argv[1]))
