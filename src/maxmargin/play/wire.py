"""The format of a reply: a JSON header, and behind it the arrays as they lie in memory.

The layout is a length of four bytes, little-endian, the header in UTF-8 filled up with blanks, and
the arrays, each at a multiple of eight bytes, so that a browser can read them without a copy. The
header's key `arrays` says where each array begins behind the header, its type and its shape.
"""

import json
from dataclasses import dataclass, field

import numpy as np

ALIGNED = 8  # The largest number has this many bytes.
LENGTH_BYTES = 4


@dataclass(frozen=True)
class Reply:
    """Words and numbers in `header`, and arrays by their names."""

    header: dict
    arrays: dict = field(default_factory=dict)


def packed(reply):
    """The bytes of a reply."""
    places, parts, end = {}, [], 0
    for name, array in reply.arrays.items():
        data = np.ascontiguousarray(array)
        places[name] = {"at": end, "type": data.dtype.name, "shape": list(data.shape)}
        parts.append(data.tobytes() + b"\0" * (-data.nbytes % ALIGNED))
        end += len(parts[-1])
    text = json.dumps({**reply.header, "arrays": places}, allow_nan=False).encode()
    text += b" " * (-(len(text) + LENGTH_BYTES) % ALIGNED)
    return len(text).to_bytes(LENGTH_BYTES, "little") + text + b"".join(parts)


def unpacked(data):
    """The reply of some bytes."""
    length = int.from_bytes(data[:LENGTH_BYTES], "little")
    behind = LENGTH_BYTES + length
    header = json.loads(data[LENGTH_BYTES:behind])
    arrays = {}
    for name, place in header.pop("arrays").items():
        count = int(np.prod(place["shape"], dtype=np.int64))
        flat = np.frombuffer(data, place["type"], count, behind + place["at"])
        arrays[name] = flat.reshape(place["shape"])
    return Reply(header, arrays)


def read_json(data):
    """The value of a JSON text in which every number is finite."""

    def refused(word):
        raise ValueError(f"{word} is no number.")

    return json.loads(data, parse_constant=refused)
