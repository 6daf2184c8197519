"""One fit at a time, in a process that is ended when it takes too long, and then started again."""

import subprocess
import sys
from threading import Lock, Timer

from maxmargin.play.limits import RequestError
from maxmargin.play.worker import LENGTH_BYTES

WALL_SECONDS = 20.0  # The worker limits its processor time itself; this ends one that hangs.
STARTING_SECONDS = 600.0  # On a new machine the compiled loops are made first, and then kept.
TOO_LONG = (
    "This fit takes more than two seconds, or more memory than the page allows, and was ended. "
    "Take fewer points, a smaller C, or the solver smo."
)
# With -P the library is not imported from the current folder.
COMMAND = (sys.executable, "-P", "-m", "maxmargin.play.worker")


class Fits:
    """A worker process, which answers one request after the other."""

    def __init__(self, command=COMMAND, seconds=WALL_SECONDS):
        self._command, self._seconds, self._lock = command, seconds, Lock()
        self._process, self._is_ready = None, False
        self._begin()

    def ask(self, data):
        """The bytes of the reply to a JSON request; raise RequestError if there is none."""
        with self._lock:
            self._wait_until_ready()
            try:
                self._write(data)
                kind, reply = self._read(self._seconds)
            except (EOFError, BrokenPipeError):
                self._begin()
                raise RequestError(TOO_LONG) from None
        if kind == b"E":
            raise RequestError(reply.decode())
        return reply

    def end(self):
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            pipe.close()

    def _begin(self):
        if self._process is not None:
            self.end()
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(
            self._command,
            stdin=pipe,
            stdout=pipe,
            bufsize=0,
            start_new_session=True,  # Ctrl-C in the terminal is for the server, which ends this
        )
        self._is_ready = False

    def _wait_until_ready(self):
        if not self._is_ready:
            try:
                self._read(STARTING_SECONDS)
            except EOFError:
                self._begin()
                raise RequestError("The library could not be loaded; see the terminal.") from None
            self._is_ready = True

    def _write(self, data):
        message = memoryview(len(data).to_bytes(LENGTH_BYTES, "little") + data)
        while message:
            message = message[self._process.stdin.write(message) :]

    def _read(self, seconds):
        timer = Timer(seconds, self._process.kill)
        timer.daemon = True
        timer.start()
        try:
            kind, length = self._take(1), self._take(LENGTH_BYTES)
            return kind, self._take(int.from_bytes(length, "little"))
        finally:
            timer.cancel()

    def _take(self, count):
        parts = []
        while count:
            part = self._process.stdout.read(count)
            if not part:
                raise EOFError
            parts.append(part)
            count -= len(part)
        return b"".join(parts)
