"""The page about the reviews: what its numbers mean, and its pictures."""

import numpy as np

from maxmargin.displays import ConvergenceDisplay
from maxmargin.displays.convergence import LEARNING
from maxmargin.displays.drawing import INK, colour_of, legend_beside, tidy
from maxmargin.experiments.pages import panels, percent
from maxmargin.experiments.words import NAMES, REDUCTIONS

BEGINNING = """
{with_text} of {reviews} Women's E-Commerce Clothing Reviews have a text. From its words we
predict whether the customer recommends the product (`Recommended IND`); the rating, which says
the same in other words, is not used.

## Five dimensions, as in the text

{train_rows} reviews for training and {test_rows} for the test, {drawn}. The TF-IDF of the words
is reduced to five dimensions, and an SVM with the Gaussian kernel, C = {C:g} and gamma =
{gamma:g}, is fitted. Unlike the text we learn the reduction from the training rows only, and give
both parts the same share of each class.
"""
MEANING = """
The text's "LDA to 5 dimensions" is latent Dirichlet allocation: every review becomes a mixture of
five topics. Linear discriminant analysis, which has the same initials, finds at most one
direction for two classes; it is the last row, computed on the 50 main directions of the words.

**What to see.** The figures of PCA, of the topics and of the text are those of a model that says
"recommended" to everybody: the share of the majority. Balanced accuracy, the mean over both
classes of the share that is recognised, gives this away: 50 % is guessing. Neither reduction
looks at the answers, and what varies most among reviews is what they are about, not whether their
author is pleased. The one direction that was chosen with the answers in view does better than
five that were not.

## The curves of random-pair SMO

The text's solver moves N/2 random pairs of multipliers per iteration, until hardly anything moves
or the limit of iterations is reached. How near it comes to the model of the default solver:
"""
CURVES = """
The accuracy reaches the share of the majority within a few iterations and stays: nearly all that
the multipliers do afterwards changes no label.

## All of them

The same with {train_rows} reviews for training and {test_rows} for the test. The text's solver
keeps the whole kernel matrix, which suits a sample; here the default solver works alone. More
reviews cannot help where the five dimensions do not hold the answer.
"""
WORDS = """
## The words themselves

Title and text as the TF-IDF of {features} words and pairs of words, all that occur in two reviews
or more, and a linear SVM (`LinearSVC`). C = {C:g} has the best cross-validated accuracy on the
training rows ({tried}).
"""
END = """
The words that weigh most explain themselves, and pairs of them matter. Ask of any accuracy what
the majority alone would give, and throw nothing away before the machine has seen it.
"""


def fill(page, results, slow):
    """Write the results on the page; `slow` has the machines with a trace."""
    sample, whole, words = results["sample"], results["whole"], results["words"]
    page.say(BEGINNING, **results, **sample, **results["parameters"])
    _tabulate(page, sample, results["reported"])
    page.say(MEANING)
    _show_curves(page, sample, slow)
    page.say(CURVES, **whole)
    _tabulate(page, whole)
    _tabulate_words(page, words)
    page.show(_draw_scores(whole, words), "accuracy.png", "Accuracy and balanced accuracy")
    page.show(_draw_words(words["heaviest"]), "words.png", "The heaviest words and pairs")
    page.say(END)


def _tabulate(page, found, reported=None):
    rows = [("always the majority", "", *_percents(found["majority"]))]
    if reported:
        rows.insert(0, ("reported in the text", 5, *_percents(reported)))
    rows += [(NAMES[kind], found[kind]["dimensions"], *_percents(found[kind]))
             for kind in REDUCTIONS]  # fmt: skip
    page.tabulate(
        ("reduction", "dimensions", "train accuracy", "test accuracy", "balanced accuracy"), rows
    )


def _percents(found):
    names = ("train_accuracy", "test_accuracy", "balanced_accuracy")
    return [percent(found[name]) if name in found else "" for name in names]


def _show_curves(page, sample, slow):
    rows = []
    for kind in slow:
        pairs = sample[kind]["random_pairs"]
        rows.append(
            (NAMES[kind], pairs["iterations"], pairs["pairs_moved"],
             f"{pairs['relative_difference_of_objectives']:.1e}", f"{pairs['kkt_violation']:.2e}",
             "convergence" if pairs["converged"] else "the limit")
        )  # fmt: skip
    header = ("reduction", "iterations", "pairs moved", "objective short by", "KKT violation")
    page.tabulate((*header, "ended by"), rows)
    for kind, machine in slow.items():
        display = ConvergenceDisplay.from_estimator(machine, quantities=LEARNING)
        words = f"Accuracy, loss and movement per iteration, {NAMES[kind]}"
        page.show(display.figure_, f"curves_{kind}.png", words)


def _tabulate_words(page, words):
    tried = zip(*words["cross_validation"].values(), strict=True)
    tried = ", ".join(f"C = {C:g}: {percent(accuracy)}" for C, accuracy in tried)
    page.say(WORDS, features=words["features"], C=words["C"], tried=tried)
    page.tabulate(
        ("linear SVM on words", "train accuracy", "test accuracy", "balanced accuracy"),
        [
            ("all mistakes cost the same", *_percents(words["plain"])),
            ("both classes cost the same", *_percents(words["balanced"])),
        ],
    )


def _draw_scores(whole, words):
    bars = {"majority": whole["majority"]} | {NAMES[kind]: whole[kind] for kind in REDUCTIONS}
    bars |= {"words": words["plain"], "words, classes balanced": words["balanced"]}
    ax = panels(1, 1, (8.5, 3.6))[0]
    places = np.arange(len(bars))
    for shift, name in ((-0.2, "test_accuracy"), (0.2, "balanced_accuracy")):
        lengths = [100 * one[name] for one in bars.values()]
        colour = colour_of(0 if shift < 0 else 1)
        drawn = ax.barh(places + shift, lengths, 0.36, color=colour, label=name.replace("_", " "))
        ax.bar_label(drawn, fmt="%.1f", padding=3, fontsize="small")
    ax.set_yticks(places, bars)
    ax.invert_yaxis()
    ax.set(xlim=(0, 105), xlabel="% of the test rows")
    tidy(ax)
    legend_beside(ax)
    return ax.figure


def _draw_words(heaviest):
    axes = panels(1, 2, (8.5, 4.0))
    for ax, side, title in zip(
        axes, ("against", "for"), ("not recommended", "recommended"), strict=True
    ):
        words = [one["word"] for one in heaviest[side]]
        weights = [one["weight"] for one in heaviest[side]]
        ax.barh(range(len(words)), weights, color=colour_of(0 if side == "against" else 1))
        ax.set_yticks(range(len(words)), words)
        ax.invert_yaxis()
        ax.axvline(0.0, color=INK, linewidth=0.8)
        ax.set_title(title, fontsize="medium")
        ax.set_xlabel("weight")
        tidy(ax)
    return axes[0].figure
