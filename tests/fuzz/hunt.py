"""One process of `make fuzz`: batch after batch of cases, and a file for every finding."""

import faulthandler
import os
import time

from checks import check
from hypothesis import HealthCheck, Phase, given, seed, settings
from strategies import FAMILIES, cases

BATCH = 40
SHRINKING = 60  # seconds to spend on making a finding smaller
HANGING = 300  # seconds after which a case that no signal reaches ends its process


def hunt(first_seed, end, families, folder, queue):
    """Every family in turn until the end; reports (family, cases, finding or None)."""
    seen, turn = set(), 0
    families = families or FAMILIES
    while time.time() < end:
        family = families[turn % len(families)]
        batch = Batch(family, first_seed + turn, seen, folder, end)
        finding = batch.run()
        queue.put((family, batch.count, finding))
        turn += 1


class Batch:
    """Some cases of one family, and the finding they end in, if any.

    A finding whose kind is in `seen` has been reported and is passed over.
    """

    def __init__(self, family, seed, seen, folder, end):
        self.family, self.seed, self.seen, self.folder, self.end = family, seed, seen, folder, end
        self.count, self.last, self.error = 0, None, None

    def run(self):
        @seed(self.seed)
        @settings(
            max_examples=BATCH, deadline=None, database=None, print_blob=False,
            phases=[Phase.generate, Phase.shrink], suppress_health_check=list(HealthCheck),
            report_multiple_bugs=False,
        )  # fmt: skip
        @given(cases(self.family))
        def every_promise_holds(case):
            if time.time() < self.end:
                self.attempt(case)

        try:
            every_promise_holds()
        except Exception as error:
            return self.written(self.error or error)
        return None

    def attempt(self, case):
        self.count += 1
        first = self.last is None
        current = self.folder / f"running_{os.getpid()}.py"  # stays if the process dies
        current.write_text(case.snippet())
        faulthandler.dump_traceback_later(HANGING, exit=True)
        try:
            check(case)
        except Exception as error:
            if self.kind(case, error) not in self.seen:
                self.last, self.error = case, error
                self.end = min(self.end, time.time() + SHRINKING) if first else self.end
                raise
        finally:
            faulthandler.cancel_dump_traceback_later()
            current.unlink()

    def kind(self, case, error):
        """The family, the broken promise and the solver: what a liar does hides no defect."""
        what = getattr(error, "what", f"{type(error).__name__} {error}"[:60])
        solver = case.parameters.get("solver", "") if case else ""
        return self.family, what, solver if isinstance(solver, str) else type(solver).__name__

    def written(self, error):
        """Write the smallest case that was found, and do not report its kind again."""
        kind = self.kind(self.last, error)
        self.seen.add(kind)
        words = "_".join("".join(c if c.isalnum() else " " for c in kind[1]).split())[:60]
        path = self.folder / f"{self.family}_{words}_{self.seed}.py"
        story = "\n".join(f"# {line}" for line in str(error).splitlines()[:40])
        path.write_text((self.last.snippet() if self.last else "") + "\n" + story + "\n")
        return f"{self.family}: {str(error)[:300]} ({path})"
