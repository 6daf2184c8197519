"""Who recommends a dress? Five dimensions of a review's words, and all of them.

The text reports 82.03 % on training and 81.54 % on test rows, which predicting "yes" for everybody
gives as well. This experiment repeats it, shows that in numbers, and shows that words tell more.
"""

import numpy as np
from sklearn.dummy import DummyClassifier
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline

from maxmargin.datasets.reviews import ORIGIN, load_reviews
from maxmargin.estimators.linear_svm import LinearSVC
from maxmargin.estimators.svc import SVC
from maxmargin.experiments.machines import (
    GAMMA,
    C,
    comparison,
    random_pair_machine,
    scores,
    whole_seed,
)
from maxmargin.experiments.pages import Page
from maxmargin.experiments.reviews_page import fill
from maxmargin.experiments.words import (
    REDUCTIONS,
    accuracy_over_c,
    heaviest,
    reduced,
    words_and_pairs,
)

REPORTED = {"train_accuracy": 0.8203, "test_accuracy": 0.8154}
IN_THE_TEXT = ("pca", "topics")
SAMPLE_SHARE, TEST_SHARE = 0.1, 0.33  # The text uses these, too.
ROUNDS = 1000
PRICES = (0.1, 0.3, 1.0, 3.0)
N_FOLDS = 3
QUICK_ROWS, QUICK_ROUNDS = 600, 50


def run(folder, data=None, random_state=0, *, C=C, gamma=GAMMA, prices=PRICES, quick=False):
    """Predict `Recommended IND` of the Women's E-Commerce Clothing Reviews.

    Parameters
    ----------
    folder : str or Path
        The folder for `report.md`, `results.json` and the pictures.
    data : str or Path
        The file of reviews, .csv or .csv.gz, for `maxmargin.datasets.load_reviews`.
    random_state : int, Generator, RandomState or None, default=0
    C, gamma : float, default=0.6 and 2
        The parameters of the machines on five dimensions.
    prices : sequence of float
        The values of C among which cross-validation chooses for the machine on words.
    quick : bool, default=False
        At most 600 reviews and 50 iterations, for a first look; the figures are then rough.

    Returns
    -------
    results : dict
        The content of `results.json`: "sample" is the text's experiment on a tenth of the reviews,
        "whole" is the same on all of them, and "words" is a linear SVM on the words themselves.
    """
    if data is None:
        raise ValueError(f"reviews: data must be the path of the file of reviews. {ORIGIN}")
    seed, reviews = whole_seed(random_state), load_reviews(data)
    with_text = rows = np.flatnonzero(reviews.review != "")  # the others have no words
    if quick and len(rows) > QUICK_ROWS:
        rows, _ = _parted(rows, reviews.target, QUICK_ROWS, seed)
    sample = rows if quick else _parted(rows, reviews.target, SAMPLE_SHARE, seed)[0]
    page = Page(folder, "Who recommends a dress?")
    max_rounds = QUICK_ROUNDS if quick else ROUNDS
    results = {
        "experiment": "reviews",
        "parameters": {"C": C, "gamma": gamma, "tol": SVC().tol, "random_state": seed},
        "reported": REPORTED,
        "drawn": "for a first look" if quick else "a tenth of all as in the text",
        "reviews": len(reviews),
        "with_text": len(with_text),
    }
    results["sample"], slow = _on_dimensions(reviews, sample, C, gamma, seed, max_rounds)
    results["whole"], _ = _on_dimensions(reviews, rows, C, gamma, seed)
    results["words"] = _on_words(reviews, rows, prices, seed)
    fill(page, results, slow)
    return page.finish(results)


# Fitting.


def _parted(rows, y, share, seed):
    """Two parts with the same share of each class, the first of the given share or size."""
    return train_test_split(rows, train_size=share, stratify=y[rows], random_state=seed)


def _on_dimensions(reviews, rows, C, gamma, seed, max_rounds=None):
    """The text's experiment: the scores by kind of reduction, and the slow machines if asked."""
    train, test = _parted(rows, reviews.target, 1 - TEST_SHARE, seed)
    y_train, y_test = reviews.target[train], reviews.target[test]
    nothing = np.zeros((len(train), 1)), np.zeros((len(test), 1)), y_train, y_test
    baseline = DummyClassifier().fit(nothing[0], y_train)
    found = {"train_rows": len(train), "test_rows": len(test)}
    found["majority"], slow = scores(baseline, *nothing), {}
    for kind in REDUCTIONS:
        Z_train, Z_test = reduced(kind, reviews.review[train], reviews.review[test], y_train, seed)
        fast = SVC(C=C, gamma=gamma).fit(Z_train, y_train)
        found[kind] = {"dimensions": Z_train.shape[1], "support_vectors": fast.n_support_.sum()}
        found[kind] |= scores(fast, Z_train, Z_test, y_train, y_test)
        if max_rounds is not None and kind in IN_THE_TEXT:
            slow[kind] = random_pair_machine(Z_train, y_train, C, gamma, seed, max_rounds)
            found[kind]["random_pairs"] = comparison(fast, slow[kind], Z_test)
    return found, slow


def _on_words(reviews, rows, prices, seed):
    """A linear SVM on the TF-IDF of title and text; C is chosen on the training rows."""
    train, test = _parted(rows, reviews.target, 1 - TEST_SHARE, seed)
    texts, y = reviews.text, reviews.target
    accuracies = accuracy_over_c(texts[train], y[train], prices, N_FOLDS, seed)
    C = prices[int(np.argmax(accuracies))]
    parts = texts[train], texts[test], y[train], y[test]
    found = {"C": C, "cross_validation": {"C": prices, "accuracy": accuracies}}
    for name, class_weight in (("plain", None), ("balanced", "balanced")):
        machine = LinearSVC(C=C, class_weight=class_weight)
        model = make_pipeline(words_and_pairs(), machine).fit(texts[train], y[train])
        found[name] = scores(model, *parts)
        if class_weight is None:
            found |= {"features": machine.n_features_in_, "heaviest": heaviest(model)}
    return found
