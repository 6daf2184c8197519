"""From reviews to numbers: five dimensions of their words, or the words themselves.

Invariant: everything is learnt from the training rows; the test rows are only transformed.
"""

import numpy as np
from sklearn.decomposition import PCA, LatentDirichletAllocation, TruncatedSVD
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline

from maxmargin.estimators.linear_svm import LinearSVC

N_DIMENSIONS = 5
REDUCTIONS = ("pca", "topics", "discriminant")
NAMES = {
    "pca": "PCA",
    "topics": "LDA, latent Dirichlet allocation",
    "discriminant": "LDA, linear discriminant analysis",
}


def reduced(kind, train_texts, test_texts, y_train, seed):
    """The TF-IDF of the texts in few dimensions, for training and for test."""
    words = TfidfVectorizer(stop_words="english", min_df=3)
    W_train, W_test = words.fit_transform(train_texts), words.transform(test_texts)
    reduction = _reduction(kind, W_train.shape, seed)
    return reduction.fit_transform(W_train, y_train), reduction.transform(W_test)


def _reduction(kind, shape, seed):
    if kind == "pca":
        return PCA(N_DIMENSIONS, svd_solver="arpack", random_state=seed)
    if kind == "topics":
        batches = {"learning_method": "online", "batch_size": 512, "max_iter": 5}
        return LatentDirichletAllocation(N_DIMENSIONS, random_state=seed, **batches)
    # On all the words it would overfit the training rows, so it gets the main directions.
    main = TruncatedSVD(min(50, min(shape) - 1), random_state=seed)
    return make_pipeline(main, LinearDiscriminantAnalysis())


def words_and_pairs():
    """TF-IDF of single words and pairs of words, with no word left out, not even "not"."""
    return TfidfVectorizer(ngram_range=(1, 2), min_df=2, sublinear_tf=True)


def accuracy_over_c(texts, y, prices, n_folds, seed):
    """The cross-validated accuracy of a linear SVM on words and pairs, per C."""
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=seed)
    right = np.zeros(len(prices))
    for train, held in folds.split(texts, y):
        vectors = words_and_pairs()
        W, W_held = vectors.fit_transform(texts[train]), vectors.transform(texts[held])
        for k, C in enumerate(prices):
            right[k] += np.sum(LinearSVC(C=C).fit(W, y[train]).predict(W_held) == y[held])
    return right / len(y)


def heaviest(model, n_words=12):
    """The words with the largest weights for the second class, and those against it."""
    vectors, machine = model
    names, weights = vectors.get_feature_names_out(), machine.coef_[0]
    order = np.argsort(weights)
    chosen = {"for": order[::-1][:n_words], "against": order[:n_words]}
    return {
        side: [{"word": names[k], "weight": weights[k]} for k in places]
        for side, places in chosen.items()
    }
