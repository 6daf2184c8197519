"""Algorithms that lower a problem. The name of a solver is the name of its file."""

from importlib import import_module

_CLASSES = {
    "smo": "SMO",
    "smo_simplified": "SMOSimplified",
    "smo_random_pair": "SMORandomPair",
    "smo_platt": "SMOPlatt",
    "smo_pairs": "SMOPairs",
    "smo_steps": "SMOSteps",
    "coordinate_ascent": "CoordinateAscent",
    "dual_descent": "DualDescent",
    "one_vs_rest": "OneVsRestDescent",
    "smoothing": "Smoothing",
    "newton": "Newton",
    "l1_newton": "L1Newton",
    "crammer_singer": "CrammerSinger",
    "interior_point": "InteriorPoint",
    "coordinate_descent": "CoordinateDescent",
    "gradient_descent": "GradientDescent",
    "perceptron": "Perceptron",
    "lsmr": "LSMR",
    "nonnegative": "NonNegative",
    "kernel_system": "ConjugateGradients",
}
TEACHING = ("smo_simplified", "smo_random_pair", "smo_platt", "smo_pairs", "coordinate_ascent")
NAMES = ("smo", "smo_steps", *TEACHING)  # These solve the dual problems of kernel machines.


def solver_named(name):
    """The class of a solver. This loads its compiled loops, which `import maxmargin` does not."""
    return getattr(import_module(f"{__name__}.{name}"), _CLASSES[name])


def __getattr__(name):
    """The solvers of kernel machines by their classes, such as `maxmargin.solvers.SMOPlatt`."""
    for module in NAMES:
        if _CLASSES[module] == name:
            return solver_named(module)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
