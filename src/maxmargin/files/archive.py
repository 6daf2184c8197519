"""The container of a model file: a zip of `.npy` arrays and one JSON text.

Members are stored and never compressed. So a file cannot make its reader allocate more than its own
length, and every size is checked against that before anything is read. No member is ever written to
the disk under a name from the file, and arrays of Python objects do not exist here.
"""

import hashlib
import io
import json
import re
import stat
import tokenize
import zipfile
from math import prod

import numpy as np
from numpy.lib import format as npy

from maxmargin.files.access import MAX_MODEL_BYTES, opened, reasons_named

DOCUMENT = "model.json"
FIRST_BYTES = b"PK\x03\x04"  # Every zip that is not empty begins with these.
# The document of a model takes a few kilobytes; a larger one than this is not ours.
LARGEST_DOCUMENT = 2**20
LARGEST_DIRECTORY = 2**17  # A directory of a model is smaller still.
UTF8_NAMES = 0x800  # A member may have only this flag, as it is neither encrypted nor streamed.
PLAIN_FILES = (0, stat.S_IFREG)  # A writer may leave it at 0.
MEMBER = re.compile(r"[A-Za-z_][A-Za-z0-9_.]{0,99}\.npy")
# NumPy lets these errors through from the tokenizer and ast.literal_eval, which read its headers.
UNPARSED = (SyntaxError, TypeError, MemoryError, OverflowError, RecursionError, tokenize.TokenError)
KINDS = "biufUSV"  # These are numbers, flags, text, bytes, and rows of them.


def write(file, document, arrays):
    """Write a JSON document and named arrays; equal content gives equal bytes."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        members = {f"{name}.npy": _write_array(archive, name, arrays[name]) for name in arrays}
        text = json.dumps({**document, "members": members}, indent=1, allow_nan=False).encode()
        if len(text) > LARGEST_DOCUMENT:
            raise ValueError(f"its description would have {len(text)} bytes, too many.")
        archive.writestr(zipfile.ZipInfo(DOCUMENT), text)


def _write_array(archive, name, array):
    """Write one array and return what the document says about it."""
    array = np.asarray(array)
    array = array.astype(array.dtype.newbyteorder("<"), copy=False)
    info = zipfile.ZipInfo(f"{name}.npy")
    with archive.open(info, "w", force_zip64=array.nbytes > 2**30) as member:
        hashing = _Hashing(member)
        npy.write_array(hashing, array, allow_pickle=False)
    return {**_summary(array), "sha256": hashing.digest.hexdigest()}


def _summary(array):
    return {"dtype": _word(array.dtype), "shape": list(array.shape)}


def _word(dtype):
    return dtype.str if dtype.names is None else str(dtype.descr)


class _Hashing:
    """A file that keeps the checksum of what is written to it."""

    def __init__(self, file):
        self.file, self.digest = file, hashlib.sha256()

    def write(self, chunk):
        self.digest.update(chunk)
        return self.file.write(chunk)


def read(path, max_bytes=MAX_MODEL_BYTES):
    """The document (with its "members") and the checked arrays by name."""
    with reasons_named(path), opened(path, max_bytes) as (file, length):
        bounded = _Bounded(file, LARGEST_DIRECTORY)
        with _opened_zip(bounded, is_zip=_begins_as_zip(file)) as archive:
            bounded.limit = length
            infos = _checked_members(archive, length)
            document = parse_json(_content(archive, infos.pop(DOCUMENT)))
            described = document.get("members") if isinstance(document, dict) else None
            if not isinstance(described, dict) or set(described) != set(infos):
                raise ValueError(f"{DOCUMENT} and the archive disagree on which members there are.")
            arrays = {
                name.removesuffix(".npy"): _read_array(archive, info, described[name])
                for name, info in infos.items()
            }
        return document, arrays


def _begins_as_zip(file):
    start = file.read(len(FIRST_BYTES))
    file.seek(0)
    return start == FIRST_BYTES


def _opened_zip(file, is_zip):
    try:
        return zipfile.ZipFile(file)
    except zipfile.BadZipFile as error:
        if str(error) != "File is not a zip file":
            raise
        damage = "the file was cut off or damaged: its end, the list of its members, is missing."
        raise ValueError(damage if is_zip else "not a model file of maxmargin.") from error


class _Bounded:
    """A file that gives at most `limit` bytes at a time.

    zipfile reads the list of members in one piece, however many the file says there are.
    """

    def __init__(self, file, limit):
        self.file, self.limit = file, limit
        self.seek, self.tell, self.seekable = file.seek, file.tell, file.seekable

    def read(self, size=-1):
        enough = self.limit + 1
        data = self.file.read(enough if size < 0 else min(size, enough))
        if len(data) > self.limit:
            raise ValueError("not a model file: its list of members is too long.")
        return data


def _checked_members(archive, length):
    """The members by name, which must be known plain files, each once, not packed, no longer than
    the file."""
    infos = {}
    for info in archive.infolist():
        name = info.filename
        if name != DOCUMENT and not MEMBER.fullmatch(name):
            raise ValueError(f"unknown member {name[:100]!r}.")
        if name in infos:
            raise ValueError(f"member {name} is there twice.")
        if stat.S_IFMT(info.external_attr >> 16) not in PLAIN_FILES:
            raise ValueError(f"member {name} is a link or a device, not a plain file.")
        if info.compress_type != zipfile.ZIP_STORED or info.compress_size != info.file_size:
            raise ValueError(f"member {name} is compressed; model files are not.")
        if info.flag_bits & ~UTF8_NAMES:
            raise ValueError(f"member {name} is encrypted or streamed.")
        if not 0 <= info.header_offset <= length - info.file_size:
            raise ValueError(f"member {name} lies outside the file.")
        infos[name] = info
    if DOCUMENT not in infos:
        raise ValueError(f"not a model file: {DOCUMENT} is missing.")
    if infos[DOCUMENT].file_size > LARGEST_DOCUMENT:
        raise ValueError(f"{DOCUMENT} is too long.")
    total = sum(info.file_size for info in infos.values())
    if total > length:
        raise ValueError(f"its members claim {total} bytes, but the file has {length}.")
    return infos


def _content(archive, info):
    """The bytes of a member, in memory that an array can be laid over."""
    content = bytearray(info.file_size)
    with archive.open(info) as member:
        if member.readinto(content) != len(content) or member.read(1):
            raise ValueError(f"member {info.filename} is not as long as it says.")
    return content


def _read_array(archive, info, described):
    """The array of a member, which must be what the document says about it."""
    content = _content(archive, info)
    stream = io.BytesIO(content[: 2**14])
    version = npy.read_magic(stream)
    if version not in ((1, 0), (2, 0)):
        raise ValueError(f"member {info.filename} has the unknown .npy version {version}.")
    header = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    try:
        shape, is_fortran, dtype = header(stream)
    except UNPARSED as error:
        raise ValueError(f"member {info.filename} has a broken header.") from error
    is_plain = not dtype.hasobject and dtype.kind in KINDS and dtype.itemsize > 0
    if not is_plain or min(shape, default=0) < 0:
        raise ValueError(f"member {info.filename} holds {dtype} of shape {shape}, not plain data.")
    start = stream.tell()
    if prod(shape) * dtype.itemsize != len(content) - start:
        raise ValueError(
            f"member {info.filename} has {len(content) - start} bytes of data, but its shape "
            f"{shape} of {dtype} takes {prod(shape) * dtype.itemsize}."
        )
    array = np.frombuffer(content, dtype, offset=start) if prod(shape) else np.empty(0, dtype)
    array = array.reshape(shape, order="F" if is_fortran else "C")
    expected = {**_summary(array), "sha256": hashlib.sha256(content).hexdigest()}
    for what, value in expected.items():
        if not isinstance(described, dict) or described.get(what) != value:
            raise ValueError(f"member {info.filename} is not of the {what} in {DOCUMENT}.")
    return array.astype(dtype.newbyteorder("="), copy=False)


def parse_json(text):
    """JSON as the standard has it, with no NaN and no key twice."""
    hooks = {"parse_constant": _refuse_constant, "object_pairs_hook": _object}
    return json.loads(str(text, "utf-8"), **hooks)


def _refuse_constant(word):
    raise ValueError(f"{DOCUMENT} holds {word}, which is not JSON.")


def _object(pairs):
    if len(dict(pairs)) != len(pairs):
        raise ValueError(f"{DOCUMENT} has a key twice.")
    return dict(pairs)
