"""The fit behind the page: a model of the library, the code that makes it, and its machines."""

import warnings
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import combinations

import numpy as np

from maxmargin import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from maxmargin.engines import engine_of
from maxmargin.play.limits import MOST_STEPS, RequestError, Spec
from maxmargin.play.points import points_of
from maxmargin.problems.reductions import c_svc, epsilon_svr, nu_svc, nu_svr, one_class
from maxmargin.solvers.smo_steps import SMOSteps

CLASSES = {"svc": SVC, "nusvc": NuSVC, "svr": SVR, "nusvr": NuSVR, "one_class": OneClassSVM}
CLASSIFIERS, REGRESSORS = ("svc", "nusvc"), ("svr", "nusvr")
OWN_PARAMETERS = {
    "svc": ("C",),
    "nusvc": ("nu",),
    "svr": ("C", "epsilon"),
    "nusvr": ("C", "nu"),
    "one_class": ("nu",),
}
OF_KERNEL = {
    "linear": (),
    "poly": ("degree", "gamma", "coef0"),
    "rbf": ("gamma",),
    "sigmoid": ("gamma", "coef0"),
    "laplacian": ("gamma",),
}
REMEMBERED = 8  # This many fits are kept, so that later requests about them need not wait.


@dataclass(frozen=True)
class Machine:
    """One dual problem of a fit: the training row of each variable, and the sign of its label.

    `classes` are the positions of the two classes, the one of positive sign first, or None.
    """

    rows: np.ndarray
    signs: np.ndarray
    classes: tuple[int, int] | None = None


class Fitted:
    """A model of the library with the points it was fitted on."""

    def __init__(self, spec):
        self.name, self.parameters, self.solver = spec.of_model["name"], spec.of_model, spec.solver
        self.points = points_of(spec.of_data)
        check_points(self.points, self.name)
        self.model = CLASSES[self.name](**self.arguments)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            try:
                self.model.fit(*self.training, **self.weighted)
            except ValueError as error:  # these classes may not allow a nu, for example
                raise RequestError(str(error)) from error
        self.warnings = [str(one.message) for one in said]

    # The call of the library.

    @property
    def chosen(self):
        """The parameters that this machine and its kernel have."""
        names = (*OWN_PARAMETERS[self.name], "kernel", *OF_KERNEL[self.parameters["kernel"]], "tol")
        return {name: self.parameters[name] for name in names}

    @property
    def limits(self):
        return {"max_iter": MOST_STEPS, "trace": True} if self.has_steps else {}

    @property
    def arguments(self):
        solver = SMOSteps(order=1) if self.is_first_order else self.solver
        return {**self.chosen, "solver": solver, **self.limits}

    @property
    def arguments_shown(self):
        """The arguments as Python writes them."""
        shown = {name: repr(value) for name, value in self.arguments.items()}
        return {**shown, "solver": "SMOSteps(order=1)"} if self.is_first_order else shown

    @property
    def is_first_order(self):
        return self.solver == "first_order"

    @property
    def has_steps(self):
        return self.solver != "smo"

    @property
    def rows(self):
        """The X of the model; that of a regression has one feature, the first coordinate."""
        return self.points.X[:, :1] if self.name in REGRESSORS else self.points.X

    @property
    def training(self):
        if self.name == "one_class":
            return (self.rows,)
        return self.rows, self.points.X[:, 1] if self.name in REGRESSORS else self.points.y

    @property
    def weighted(self):
        return {"sample_weight": self.points.weight} if self.points.is_weighted else {}

    @property
    def code(self):
        """The Python that makes this model."""
        name, own = CLASSES[self.name].__name__, self.points.code
        imports = [f"from maxmargin import {name}"]
        if own.startswith("from "):
            line, own = own.split("\n\n", 1)
            imports.append(line)
        if self.is_first_order:
            imports.append("from maxmargin.solvers import SMOSteps")
        arguments = "".join(
            f"    {name}={value},\n" for name, value in self.arguments_shown.items()
        )
        features = "X[:, :1], X[:, 1]" if self.name in REGRESSORS else "X, y"
        features = "X" if self.name == "one_class" else features
        weight = ", sample_weight=weight" if self.points.is_weighted else ""
        return (
            "import numpy as np\n\n" + "\n".join(imports) + f"\n\n{own}\n"
            f"model = {name}(\n{arguments})\n"
            f"model.fit({features}{weight})\n"
            "print(model.certificate_)\n"
        )

    # The result.

    @cached_property
    def labels(self):
        """The position of every row's class, from 0."""
        if self.name in CLASSIFIERS:
            return np.searchsorted(self.model.classes_, self.points.y)
        return np.searchsorted(np.unique(self.points.y), self.points.y)

    @cached_property
    def machines(self):
        n = len(self.points.X)
        every = np.arange(n)
        if self.name == "nusvr":
            return [Machine(np.tile(every, 2), np.repeat([1.0, -1.0], n))]
        if self.name not in CLASSIFIERS:
            return [Machine(every, np.ones(n))]
        if len(self.model.classes_) == 2:  # a positive decision is for the second class
            return [Machine(every, np.where(self.labels == 1, 1.0, -1.0), (1, 0))]
        return [self._pair(*pair) for pair in combinations(range(len(self.model.classes_)), 2)]

    def _pair(self, first, second):
        members = [np.flatnonzero(self.labels == k) for k in (first, second)]
        signs = np.repeat([1.0, -1.0], list(map(len, members)))
        return Machine(np.concatenate(members), signs, (first, second))

    @property
    def coef(self):
        """The signed coefficient of every row in every machine, a row per machine."""
        found, how = np.zeros((len(self.machines), len(self.points.X))), self.model
        if len(self.machines) == 1:
            found[0, how.support_] = how.dual_coef_[0]
            return found
        label = self.labels[how.support_]
        for row, machine in zip(found, self.machines, strict=True):
            first, second = machine.classes
            for own, opponent in ((first, second - 1), (second, first)):
                is_own = label == own
                row[how.support_[is_own]] = how.dual_coef_[opponent, is_own]
        return found

    @property
    def bounds(self):
        """The most a coefficient may be; of NuSVC the most it is, for its margin divides it."""
        if self.name == "nusvc":
            return np.full(len(self.points.X), np.abs(self.model.dual_coef_).max())
        return self.points.weight * (1.0 if self.name == "one_class" else self.parameters["C"])

    def decisions(self, rows):
        """The f of some rows, a column per machine."""
        if self.name in REGRESSORS:
            return self.model.predict(rows)[:, None]
        if self.name in CLASSIFIERS:
            self.model.decision_function_shape = "ovo"
        return self.model.decision_function(rows).reshape(len(rows), -1)

    def problem(self, position):
        """The dual problem of a machine, in the units of its trace."""
        machine, parameters = self.machines[position], self.parameters
        rows = machine.rows if self.name != "nusvr" else np.arange(len(self.points.X))
        weight, price = self.points.weight[rows], parameters["C"] * self.points.weight[rows]
        matrix = engine_of("plain").matrix(self.model.kernel_, self.rows[rows])
        height = self.points.X[rows, 1]
        if self.name == "svc":
            return c_svc(matrix, machine.signs, price)
        if self.name == "svr":
            return epsilon_svr(matrix, height, price, parameters["epsilon"])
        if self.name == "nusvr":
            return nu_svr(matrix, height, price, parameters["nu"])
        if self.name == "one_class":
            return one_class(matrix, weight, parameters["nu"])
        problem = nu_svc(matrix, machine.signs, weight, parameters["nu"])
        return problem.scaled(1.0 / float(problem.totals[0]))


@lru_cache(maxsize=REMEMBERED)
def fitted(spec: Spec):
    return Fitted(spec)


def check_points(points, name):
    """Refuse points that a machine cannot be fitted to, before the library is called."""
    if len(points.X) < 2:
        raise RequestError("Put at least two points on the plane.")
    if name in CLASSIFIERS and len(np.unique(points.y)) < 2:
        raise RequestError("A classifier needs points of two classes; add one of another class.")
