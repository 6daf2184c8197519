"""The columns of a table as ONNX nodes, which fill holes, encode words and join columns.

A graph takes numbers as "X" and words as "words", each in the order of the table. A missing word is
empty.
"""

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import OneHotEncoder

from maxmargin.files.advice import steps_of
from maxmargin.files.columns import is_word, triples_of

MISSING, UNKNOWN = -1, -2  # These numbers stand for a missing word, and for one not in the fit.


def takes_words(step):
    """Whether a step learned from text."""
    first = steps_of(step)[0][1]
    if isinstance(first, SimpleImputer):
        return first.statistics_.dtype == object
    return isinstance(first, OneHotEncoder) and first.categories_[0].dtype.kind in "UO"


def inputs_of(step):
    """The positions of the columns that a graph takes as numbers, and of those that it takes as
    words; columns that are dropped are neither."""
    if not isinstance(step, ColumnTransformer):
        everything = np.arange(step.n_features_in_)
        return (everything[:0], everything) if takes_words(step) else (everything, everything[:0])
    kinds = {False: [], True: []}
    for _, one, places in triples_of(step):
        if one != "drop":
            kinds[not is_word(one) and bool(takes_words(one))].extend(places)
    return tuple(np.unique(np.array(kinds[kind], dtype=np.int64)) for kind in (False, True))


def write_columns(graph, model):
    """Write every step on its own columns, and join the results side by side."""
    numbers, words = inputs_of(model)
    X, texts, found = graph.X, graph.words, []
    for name, step, places in triples_of(model):
        if isinstance(step, str) and step == "drop":
            continue
        is_text = not is_word(step) and takes_words(step)
        graph.X = None if is_text else _chosen(graph, X, numbers, places)
        graph.words = _chosen(graph, texts, words, places) if is_text else None
        for inner, part in [] if is_word(step) else steps_of(step):
            graph.write_step(f"{name}: {inner}", part)
        found.append(graph.X)
    return graph.node("Concat", *found, axis=1) if len(found) > 1 else found[0]


def _chosen(graph, values, positions, places):
    return graph.node("Gather", values, np.searchsorted(positions, places), axis=1)


def write_imputer(graph, imputer):
    """Fill numbers at once; keep what fills words until these are numbers, too."""
    if graph.words is not None:
        graph.fillings = imputer.statistics_
        return None
    is_missing = graph.node("IsNaN", graph.X)
    return graph.node("Where", is_missing, imputer.statistics_.astype(float)[None, :], graph.X)


def write_encoder(graph, encoder):
    """Write a column of zeros and ones for every category that is not dropped."""
    features, kept = _outputs_of(encoder)
    if graph.words is None:
        values, wanted = graph.X, np.array(kept, dtype=float)
    else:
        vocabulary = sorted(set(kept))
        values, wanted = _numbered(graph, vocabulary), np.searchsorted(vocabulary, kept)
        graph.words = None
    there = graph.node("Equal", graph.node("Gather", values, features, axis=1), wanted[None, :])
    return graph.node("Cast", there, to=graph.kind("float64"))


def _outputs_of(encoder):
    """The feature and the category of every column that an encoder gives."""
    dropped = [None] * encoder.n_features_in_ if encoder.drop_idx_ is None else encoder.drop_idx_
    pairs = [
        (feature, category)
        for feature, categories in enumerate(encoder.categories_)
        for k, category in enumerate(categories.tolist())
        if k != dropped[feature]
    ]
    features, kept = zip(*pairs, strict=True)
    return np.array(features), kept


def _numbered(graph, vocabulary):
    """The words as their positions in the vocabulary, filled where one is missing."""
    fillings, graph.fillings = graph.fillings, None
    keys = vocabulary if fillings is None else ["", *vocabulary]
    values = np.arange(len(vocabulary)).tolist()
    numbers = graph.node(
        "LabelEncoder", graph.words, domain="ai.onnx.ml", keys_strings=keys,
        values_int64s=values if fillings is None else [MISSING, *values], default_int64=UNKNOWN,
    )  # fmt: skip
    if fillings is None:
        return numbers
    places = {word: k for k, word in enumerate(vocabulary)}
    filled = np.array([places.get(word, UNKNOWN) for word in fillings])
    is_missing = graph.node("Equal", numbers, np.int64(MISSING))
    return graph.node("Where", is_missing, filled[None, :], numbers)
