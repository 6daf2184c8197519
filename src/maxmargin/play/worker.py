"""The process in which fits are made; it reads requests from standard input and writes replies.

A request is its length in four bytes and a JSON text. A reply is one byte, `A` for an answer and
`E` for an error in plain words, a length in four bytes, and the bytes. The first reply, `R`, says
that the library is loaded. Invariant: a request takes no more than `SECONDS` of processor time and
`MEMORY` bytes; where it would, the operating system ends the process, and the server starts anew.
"""

import os
import signal
import sys

SECONDS = 2.0
MEMORY = 4 << 30  # This includes what loading the library reserves, with its threads.
LENGTH_BYTES = 4


def main():
    requests = sys.stdin.buffer
    replies = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # prints must not come between replies
    from maxmargin.play.session import reply_to

    for request in warm_up():
        reply_to(request)
    limit_memory()
    send(replies, b"R", b"")
    while (length := requests.read(LENGTH_BYTES)) != b"":
        send(replies, *answered(requests.read(int.from_bytes(length, "little")), reply_to))


def warm_up():
    """Small requests that load, and on a new machine compile, every loop that later ones run. If a
    loop were compiled during a request, that would count as its time."""
    from maxmargin.play.limits import KERNELS, MODELS

    grid = {"view": [-2, 2, -2, 2], "nx": 4, "ny": 3}
    few = {"name": "three", "n": 20}
    for solver in ("smo_steps", "smo"):
        for name in MODELS:
            model, data = {"name": name, "nu": 0.2}, {"name": "moons", "n": 20}
            yield {"ask": "fit", "solver": solver, "model": model, "data": data, "grid": grid}
        for kernel in KERNELS:
            model = {"kernel": kernel}
            yield {"ask": "fit", "solver": solver, "model": model, "data": few, "grid": grid}
    for n in (600, 2000):  # the solver takes another way for each of these sizes
        yield {"ask": "fit", "solver": "smo", "data": {"name": "moons", "n": n}, "grid": grid}
    yield {"ask": "at", "data": few, "step": 1}
    yield {"ask": "columns", "data": few, "grid": grid, "rows": [0]}


def answered(data, reply_to):
    """The kind of the reply to a request, and its bytes."""
    from maxmargin.play.wire import packed, read_json

    limit_time(SECONDS)
    try:
        return b"A", packed(reply_to(read_json(data)))
    except (ValueError, RecursionError) as error:
        return b"E", str(error).encode()
    except MemoryError:
        return b"E", b"this takes more memory than the page allows; use fewer points."
    finally:
        limit_time(0.0)


def limit_time(seconds):
    """Start a timer of the process's own time, at whose end the system ends the process."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_PROF, seconds)


def limit_memory():
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return
    most = resource.getrlimit(resource.RLIMIT_DATA)[1]
    wanted = MEMORY if most == resource.RLIM_INFINITY else min(MEMORY, most)
    resource.setrlimit(resource.RLIMIT_DATA, (wanted, most))


def send(replies, kind, data):
    replies.write(kind + len(data).to_bytes(LENGTH_BYTES, "little") + data)
    replies.flush()


if __name__ == "__main__":
    main()
