"""Models saved by every version so far are read, and predict what they did then."""

from pathlib import Path

import numpy as np
import pytest
from model_zoo import answers, opened_up, seal

from maxmargin import load
from maxmargin.files import FileError, models

GOLDEN = sorted(Path(__file__).with_name("golden").glob("*/*.mm"))


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_model_of_an_earlier_version_predicts_as_it_did(path):
    model = load(path)
    with np.load(path.with_suffix(".npz"), allow_pickle=False) as said:
        rows = said["rows"]
        found = answers(model, rows.astype(object) if rows.dtype.kind == "U" else rows)
        assert len(found) == len([name for name in said.files if name.startswith("answer")])
        for k, answer in enumerate(found):
            expected = said[f"answer{k}"]
            if expected.dtype.kind in "US":
                np.testing.assert_array_equal(answer, expected)
            else:
                np.testing.assert_allclose(answer, expected, rtol=1e-12, atol=1e-12)


def test_there_are_golden_models_of_every_format():
    formats = {path.parent.name.split("-")[0] for path in GOLDEN}
    assert formats == {f"format{version}" for version in range(1, models.VERSION + 1)}


def test_a_newer_format_is_refused_naming_both_versions(tmp_path):
    document, arrays = opened_up(GOLDEN[0])
    document["format_version"], document["library_version"] = models.VERSION + 1, "99.0"
    seal(tmp_path / "new.mm", document, arrays)
    with pytest.raises(FileError, match=r"newer version of maxmargin \(99\.0, format 6\); this is"):
        load(tmp_path / "new.mm")
