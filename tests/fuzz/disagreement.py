"""What the fuzzer looks for."""


class Disagreement(AssertionError):
    """A property that a case does not have: `what` names it, `details` has the numbers."""

    def __init__(self, what, details):
        super().__init__(f"{what}: {details}")
        self.what = what


def require(holds, what, details):
    if not holds:
        raise Disagreement(what, details)


def require_close(found, expected, error, what):
    """|found - expected| <= error, entry by entry."""
    excess = abs(found - expected) - error
    worst = float(excess.max()) if hasattr(excess, "max") else float(excess)
    if not worst <= 0:
        raise Disagreement(what, f"found {found}, expected {expected}, allowed {error}")
