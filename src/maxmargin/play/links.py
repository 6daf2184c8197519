"""The link that holds a state of the page, as the page itself writes it (`play/src/state.ts`)."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from struct import calcsize, iter_unpack, pack
from urllib.parse import parse_qsl

from maxmargin.play.limits import RequestError

VERSION = 1
POINT = ">HHBH"  # A point is two coordinates of 16 bits, a class, and a weight in tenths.
DATA_KEYS = {"name": "data", "n": "n", "noise": "noise", "seed": "seed"}
WORDS = ("name", "kernel")  # All other values are numbers, but for gamma="scale".
SHOWN = ("step", "view", "hide")


def link_of(spec, **shown):
    """The link of checked data, model and solver; `shown` may have the step, the view and so on."""
    data, model = spec.of_data, spec.of_model
    parts = {"v": VERSION}
    if data["name"] == "points":
        parts |= {"data": "points", "box": ",".join(map(repr, data["box"]))}
        parts["p"] = packed_points(data["points"])
    else:
        parts |= {key: data[name] for name, key in DATA_KEYS.items()}
    parts |= {"model" if name == "name" else name: value for name, value in model.items()}
    parts |= {"solver": spec.solver, **shown}
    return "#" + "&".join(f"{name}={value}" for name, value in parts.items())


def packed_points(points):
    data = b"".join(pack(POINT, *place) for place in points)
    return urlsafe_b64encode(data).decode().rstrip("=")


# And back.


def asked_by(link):
    """The data, model and solver that a link asks for, not yet checked, and what it shows."""
    parts = dict(parse_qsl(link.rpartition("#")[2]))
    if parts.pop("v", None) != str(VERSION):
        raise RequestError(f"the link must be one of the page, with v={VERSION} behind its #.")
    shown = {name: parts.pop(name) for name in SHOWN if name in parts}
    asked = {"solver": parts.pop("solver", "smo_steps"), "data": _data_of(parts)}
    parts = {name: text for name, text in parts.items() if name not in ("lesson", "theme")}
    if "model" in parts:
        parts["name"] = parts.pop("model")
    asked["model"] = {name: _value(name, text) for name, text in parts.items()}
    return asked, shown


def _data_of(parts):
    """The parts of a link that name its points, which are taken out of it."""
    name = parts.pop("data", "moons")
    if name == "points":
        box = [_value("box", end) for end in parts.pop("box", "").split(",")]
        return {"name": name, "box": box, "points": unpacked_points(parts.pop("p", ""))}
    found = {key: parts.pop(key) for key in ("n", "noise", "seed") if key in parts}
    return {"name": name, **{key: _value(key, text) for key, text in found.items()}}


def _value(name, text):
    """A whole number, another number, or the word itself, which the limits then look at."""
    for kind in () if name in WORDS else (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def unpacked_points(text):
    try:
        data = urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except ValueError as error:
        raise RequestError("the points of the link are damaged.") from error
    whole = len(data) - len(data) % calcsize(POINT)
    return [list(place) for place in iter_unpack(POINT, data[:whole])]
