"""Mutated model files, seeded: ten thousand of ours and of LIBSVM's text, or (`make fuzz-files`)
a hundred thousand.

What counts as right: `FileError`, or a model that passes every check of the format and then
predicts finite numbers (or refuses to, with a ValueError that says what overflowed). A flipped byte
in a zip header that no reader looks at gives the same model; an edited number under a new checksum
gives another valid one. Anything else (another exception, a crash, more than a second, more than
64 MB, watched on every tenth file) fails.
"""

import json
import os
import time
import tracemalloc
from contextlib import contextmanager

import numpy as np
import pytest
from limits import BYTES, SECONDS
from model_zoo import IGNORED, KINDS, answers, fitted, model_of, opened_up, rows_for, seal
from scipy import sparse

from maxmargin.files import FileError, load, load_libsvm, save, save_libsvm

pytestmark = [pytest.mark.filterwarnings(one) for one in IGNORED]

TIMES = int(os.environ.get("MAXMARGIN_MUTATIONS", "1"))
N_BYTES, N_SEALED, N_TEXT = 240 * TIMES, 300 * TIMES, 700 * TIMES  # per model: 25, 25 and 4 models
WIDEST = 1000  # a model of more features is valid, but not asked for predictions
NUMBERS = [np.nan, np.inf, -1.0, 0.0, 0.5, 1.0, 1e9, -1e100, 2.0**31, 2.0**63]
REFUSALS = ("overflow", "infinity", "break_ties", "negative on the diagonal",
            "predict_proba is not available", "Found unknown categories")  # fmt: skip
VALUES = [None, True, -1, 0, 1, 2, 7, 2**31, 10**30, 0.5, 1e300, "", "a", "SVC", "scale", "linear",
          [], [1], {}, {"array": "coef_"}, {"float": "nan"}, {"tuple": []}, {"map": [["a", 1]]},
          {"kernel": {"name": "Linear", "parameters": {}}}]  # fmt: skip


def outcome(read, path, turn):
    """The model of a file or None, if it was refused in time, memory and the right words."""
    began, model, refusal = time.process_time(), None, str(path)
    with little_memory(watched=turn % 10 == 0):
        try:
            model = read(path)
        except FileError as error:
            refusal = str(error)
    assert refusal.startswith(str(path))
    assert time.process_time() - began < SECONDS
    return model


def check_answers(model):
    if model is None or model.n_features_in_ > WIDEST:
        return
    found, refusal = [], "overflow"
    try:
        found = answers(model, rows_for(model))
    except ValueError as error:
        refusal = str(error)
    assert any(word in refusal for word in REFUSALS), refusal
    for values in found:
        assert values.dtype.kind in "USOb" or np.all(np.isfinite(values))


@contextmanager
def little_memory(watched):
    if not watched:
        yield
        return
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < BYTES
    finally:
        tracemalloc.stop()


def damaged(content, rng):
    """A few bytes flipped, cut off, cut out, doubled or put in another place."""
    content = bytearray(content)
    for _ in range(rng.integers(1, 4)):
        start, end = np.sort(rng.integers(0, len(content) + 1, 2))
        how = rng.integers(6)
        if how <= 2 and len(content):
            content[min(start, len(content) - 1)] ^= 1 << rng.integers(8)
        elif how == 3:
            del content[start:]
        elif how == 4:
            del content[start : min(end, start + 64)]
        else:
            content[start:start] = content[start : min(end, start + 64)]
    return bytes(content)


@pytest.mark.parametrize("kind", KINDS)
def test_damaged_bytes(kind, tmp_path):
    path, model = tmp_path / "model.mm", model_of(kind)
    save(model, path)
    whole, expected = path.read_bytes(), answers(model, rows_for(model))
    rng = np.random.default_rng(len(kind))
    for turn in range(N_BYTES):
        path.write_bytes(damaged(whole, rng))
        loaded = outcome(load, path, turn)
        if loaded is not None:  # the checksums leave only the same model
            for one, other in zip(answers(loaded, rows_for(model)), expected, strict=True):
                np.testing.assert_array_equal(one, other)


def edited_arrays(arrays, rng):
    """A number changed, a row or a column too few or too many, a type changed, two swapped."""
    if not arrays:
        return
    name, other = rng.choice(sorted(arrays), 2)
    array, how = arrays[name], rng.integers(7)
    if how <= 2 and array.size and array.dtype.kind in "iufb":
        array = array.copy()
        value = rng.choice(NUMBERS)
        with np.errstate(invalid="ignore"):
            array.flat[rng.integers(array.size)] = np.array(value).astype(array.dtype)
        arrays[name] = array
    elif how == 3 and array.ndim:
        arrays[name] = array[1:]
    elif how == 4 and array.ndim:
        arrays[name] = np.concatenate([array, array[:1]])
    elif how == 5 and array.dtype.kind in "iuf":
        with np.errstate(invalid="ignore"):
            arrays[name] = array.astype(rng.choice(["f4", "f8", "i4", "i8", "U8"]))
    else:
        arrays[name], arrays[other] = arrays[other], arrays[name]


def leaves(value, path=()):
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in items:
        if isinstance(inner, (dict, list)) and inner:
            yield from leaves(inner, (*path, key))
        else:
            yield (*path, key)


def edited_document(document, rng):
    """A value somewhere in the document replaced or taken out."""
    places = [place for place in leaves(document) if place]
    *way, last = places[rng.integers(len(places))]
    holder = document
    for key in way:
        holder = holder[key]
    if rng.integers(4) == 0:
        del holder[last]
    else:
        holder[last] = VALUES[rng.integers(len(VALUES))]


@pytest.mark.parametrize("kind", KINDS)
def test_edited_content_under_new_checksums(kind, tmp_path):
    path = tmp_path / "model.mm"
    save(model_of(kind), path)
    document, arrays = opened_up(path)
    text = json.dumps(document)
    rng = np.random.default_rng(len(kind))
    for turn in range(N_SEALED):
        changed, parts = json.loads(text), dict(arrays)
        if rng.integers(2):
            edited_arrays(parts, rng)
        else:
            edited_document(changed, rng)
        seal(path, changed, parts)
        check_answers(outcome(load, path, turn))


TEXTS = {
    "binary": lambda: fitted("SVC", labels=(-1, 1), n_classes=2),
    "several classes": lambda: fitted("SVC", sparse.csr_matrix, labels=(3, 1, 2), kernel="poly"),
    "precomputed": lambda: model_of("precomputed"),
    "regression": lambda: fitted("NuSVR", kernel="sigmoid", gamma=0.1),
}
WORDS = (
    b"nan inf -1 0 1e400 99999999999999999999 0:1 7:-2 x rbf linear c_svc SV 1: : -0 1e-9".split()
)
WORDS += [b"\x00", b"0x10", b"1_0", b""]


def edited_text(content, rng):
    """A word or a line replaced, taken out, doubled or swapped; or bytes damaged."""
    if rng.integers(4) == 0:
        return damaged(content, rng)
    lines = content.split(b"\n")
    k, other = rng.integers(0, min(len(lines), 16), 2)
    words = lines[k].split(b" ")
    how, place = rng.integers(6), rng.integers(len(words))
    if how <= 2:
        words[place] = WORDS[rng.integers(len(WORDS))]
        lines[k] = b" ".join(words)
    elif how == 3:
        del lines[k]
    elif how == 4:
        lines[k], lines[other] = lines[other], lines[k]
    else:
        lines.insert(k, lines[other])
    return b"\n".join(lines)


@pytest.mark.parametrize("kind", TEXTS)
def test_edited_libsvm_models(kind, tmp_path):
    path = tmp_path / "model.svm"
    save_libsvm(TEXTS[kind](), path)
    whole, rng = path.read_bytes(), np.random.default_rng(len(kind))
    for turn in range(N_TEXT):
        path.write_bytes(edited_text(whole, rng))
        check_answers(outcome(load_libsvm, path, turn))


def test_there_are_ten_thousand():
    assert len(KINDS) * (N_BYTES + N_SEALED) + len(TEXTS) * N_TEXT >= 10_000
