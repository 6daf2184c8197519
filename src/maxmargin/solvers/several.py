"""Several problems of one fit, one after the other or side by side, within one budget."""

import threading
from concurrent.futures import Future
from dataclasses import replace

from maxmargin.engines.threads import result_of, workers


def in_turn(solve, n, budget):
    """Call solve(k, its share of the budget) for every problem k, and return the solutions.

    After Ctrl-C in one of them the later ones have no solution, and there is nothing to keep.
    """
    solutions = []
    for k in range(n):
        solutions.append(solve(k, budget.share(k, n)))
        if solutions[-1].stopped == "interrupted" and k < n - 1:
            raise KeyboardInterrupt
    return solutions


def side_by_side(solve, n, budget):
    """The same on threads, for problems whose progress is not reported.

    The main thread only waits, because it alone sees Ctrl-C, and then ends all of them.
    """
    solutions, was_interrupted, answer = [None] * n, False, Future()
    with workers() as pool:
        if pool.n_threads == 1:
            return in_turn(solve, n, budget)
        n_rounds = -(-n // pool.n_threads)

        def work(k):
            solutions[k] = solve(k, budget.share(k // pool.n_threads, n_rounds))

        def solve_all():
            if not answer.set_running_or_notify_cancel():
                return
            try:
                answer.set_result(pool.map(work, range(n)))
            except BaseException as error:
                answer.set_exception(error)

        try:
            threading.Thread(target=solve_all, name="maxmargin", daemon=True).start()
            result_of(answer)
        except KeyboardInterrupt:
            was_interrupted = True
            budget.end_now()
            if not answer.cancel():  # it has begun, and ends soon
                result_of(answer)
    if was_interrupted:
        if any(one is None or (one.stopped, one.n_iter) == ("interrupted", 0) for one in solutions):
            raise KeyboardInterrupt
        solutions[-1] = replace(solutions[-1], stopped="interrupted")
    return solutions
