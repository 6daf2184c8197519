"""Models along their penalty: the weights of the lasso along alpha, and an SVM along C.

    python examples/plot_path.py [folder]

The more freedom, the smaller (by and large) the error on the data learned from; the error on other
data is least somewhere in between.
"""

import numpy as np
from pictures import folder_asked_for, write
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split

from maxmargin import SVC, Lasso
from maxmargin.datasets import make_moons
from maxmargin.displays import PathDisplay


def main(folder):
    data = load_diabetes()
    X, X_test, y, y_test = train_test_split(data.data, data.target, train_size=80, random_state=0)
    path = Lasso().path(X, y, n_alphas=60)
    errors_on = {"training": (X, y), "test": (X_test, y_test)}
    display = PathDisplay.from_path(path, errors_on=errors_on, feature_names=data.feature_names)
    write(display.figure_, folder / "path.png")

    X, y = make_moons(150)
    test = {"test": make_moons(1000, random_state=1)}
    values = np.logspace(-2, 5, 30)
    display = PathDisplay.from_estimator(
        SVC(gamma=2.0), X, y, param_name="C", param_range=values, errors_on=test
    )
    write(display.figure_, folder / "path_of_c.png")


if __name__ == "__main__":
    main(folder_asked_for())
