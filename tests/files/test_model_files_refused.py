"""Crafted model files: each is refused with its reason, within a second and little memory."""

import re
import stat
import zipfile

import numpy as np
import pytest
from limits import refused
from model_zoo import IGNORED, fitted, model_of, opened_up, seal
from numpy.lib import format as npy

from maxmargin.files import FileError, archive, load, save

pytestmark = [pytest.mark.filterwarnings(one) for one in IGNORED]


# Content that is sealed with right checksums but makes no sense. Each edit changes the document
# (its attributes and parameters) and the arrays of a good file.


def array(name, value):
    def edit(document, arrays):
        arrays[name] = value(arrays[name]) if callable(value) else value

    return edit


def attribute(name, value):
    def edit(document, arrays):
        document["attributes"][name] = value

    return edit


def parameter(name, value):
    def edit(document, arrays):
        document["parameters"][name] = value

    return edit


def top(name, value):
    def edit(document, arrays):
        document[name] = value

    return edit


def without(group, name):
    def edit(document, arrays):
        del document[group][name]

    return edit


def step(k, edit):
    """Edit the description of a step of a pipeline."""
    return lambda document, arrays: edit(
        document["parameters"]["steps"][k]["tuple"][1]["estimator"], arrays
    )


def steps(change):
    def edit(document, arrays):
        document["parameters"]["steps"] = change(document["parameters"]["steps"])

    return edit


def pair(*values):
    return {"tuple": list(values)}


def named(name):
    return steps(lambda pairs: [pair(name, pairs[0]["tuple"][1]), *pairs[1:]])


def without_array(name):
    def edit(document, arrays):
        del arrays[document["attributes"][name]["array"]]
        document["attributes"][name] = None

    return edit


def kernel(name, **parameters):
    return {"kernel": {"name": name, "parameters": parameters}}


def entry(place, value):
    def change(values):
        values = values.copy()
        values[place] = value
        return values

    return change


def nested(depth):
    value = {"name": "Linear", "parameters": {}}
    for _ in range(depth):
        value = {"name": "Normalised", "parameters": {"kernel": value}}
    return {"kernel": value}


SEALED = {
    # the document
    "another format": ("binary", top("format", "zip"), "not a model file of maxmargin"),
    "a newer version": ("binary", top("format_version", 6), "written by a newer version"),
    "version true": ("binary", top("format_version", True), "impossible format version"),
    "version 0": ("binary", top("format_version", 0), "impossible format version"),
    "ends that fall": (
        "bytes as objects",
        array("classes_.ends", lambda ends: ends[::-1].copy()),
        "parts of classes_ do not fit",
    ),
    "ends beyond the content": (
        "bytes as objects",
        array("classes_.ends", lambda ends: ends + 2**62),
        "parts of classes_ do not fit",
    ),
    "ends that are no whole numbers": (
        "bytes as objects",
        array("classes_.ends", lambda ends: ends.astype(float)),
        "parts of classes_ do not fit",
    ),
    "bytes that are no text": (
        "bytes as objects",
        lambda document, arrays: (
            attribute("classes_", {"texts": "classes_"})(document, arrays),
            array("classes_.content", lambda content: content | 128)(document, arrays),
        ),
        "can't decode",
    ),
    "bytes out of order": ("bytes", array("classes_", lambda one: one[::-1].copy()), "greater"),
    "an unknown key": ("binary", top("code", "import os"), "must have exactly"),
    "an unknown class": ("binary", top("class", "PCA"), "unknown class 'PCA'"),
    "a scaler alone": ("binary", top("class", "StandardScaler"), "unknown class"),
    "a Pipeline without steps": ("binary", top("class", "Pipeline"), "unknown name"),
    "a module as class": ("binary", top("class", "displays"), "unknown class 'displays'"),
    "a function as class": ("binary", top("class", "patch_sklearn"), "unknown class"),
    "a list as class": ("binary", top("class", ["SVC"]), "unknown class"),
    "another class": ("binary", top("class", "Ridge"), "unknown name"),
    "attributes as a list": ("binary", top("attributes", []), "must be named"),
    "an unknown attribute": ("binary", attribute("predict", 1), "unknown name 'predict'"),
    "an unknown parameter": ("binary", parameter("__class__", 1), "unknown name '__class__'"),
    "a missing attribute": ("binary", without("attributes", "kernel_"), "kernel_ is missing"),
    "a bad parameter": ("binary", parameter("C", -1.0), "C must be a positive number"),
    "a number as text": ("binary", parameter("tol", "0.1"), "tol must be"),
    "a seed that is text": ("binary", parameter("random_state", "x"), "random_state must be"),
    "an unknown tag": ("binary", attribute("fit_status_", {"pickle": "x"}), "unknown kind"),
    "two tags": ("binary", attribute("fit_status_", {"map": [], "tuple": []}), "unknown kind"),
    "a huge number": ("binary", attribute("fit_status_", 10**400), "too large"),
    "a list as solver": (
        "binary",
        parameter("solver", {"solver": [["SMO"], {"map": []}]}),
        "unknown solver",
    ),
    "an unknown solver": ("binary", parameter("solver", {"solver": ["os", {"map": []}]}), "solver"),
    # kernels
    "an unknown kernel": ("binary", attribute("kernel_", kernel("Custom")), "unknown kernel"),
    "a kernel without parameters": ("binary", attribute("kernel_", kernel("RBF")), "parameters of"),
    "a kernel with words": (
        "binary",
        attribute("kernel_", kernel("RBF", gamma="scale", sigma=None)),
        "once there is data",
    ),
    "a kernel of another kind": (
        "binary",
        attribute("kernel_", kernel("Linear")),
        "kernel asks for",
    ),
    "gamma below zero": (
        "binary",
        attribute("kernel_", kernel("RBF", gamma=-1.0, sigma=None)),
        "gamma must be",
    ),
    "a sigma that vanishes": (
        "binary",
        attribute("kernel_", kernel("RBF", gamma=1.0, sigma=1e-200)),
        "sigma must have a finite, positive square",
    ),
    "a number for a kernel": (
        "one vs rest",
        parameter("kernel", kernel("Normalised", kernel=1)),
        "cannot be a int",
    ),
    "deep kernels where none belong": ("waves", parameter("kernel", nested(45)), "kernel must be"),
    "kernels without end": ("one vs rest", parameter("kernel", nested(60)), "unknown kernel"),
    # arrays that do not fit
    "fewer coefficients": ("binary", array("dual_coef_", lambda a: a[:, 1:]), "dual_coef_ has"),
    "fewer support vectors": (
        "binary",
        array("support_vectors_", lambda a: a[1:]),
        "support_vectors_ has|must have",
    ),
    "wider support vectors": (
        "binary",
        array("support_vectors_", lambda a: np.hstack([a, a])),
        "support_vectors_ has",
    ),
    "coefficients for more machines": (
        "binary",
        array("dual_coef_", lambda a: np.vstack([a, a])),
        "dual_coef_ has 2 rows instead of 1",
    ),
    "two biases for one machine": ("binary", array("intercept_", np.zeros(2)), "by intercept_|2 e"),
    "counts that do not add up": ("binary", array("n_support_", entry(0, 1)), "n_support_ sums to"),
    "a negative count": ("binary", array("n_support_", entry(0, -5)), "less than 0"),
    "a row beyond the data": ("binary", array("support_", entry(0, 48)), "beyond the 48 training"),
    "a row twice": ("binary", array("support_", lambda a: np.zeros_like(a)), "a row twice"),
    "a negative row": ("binary", array("support_", entry(0, -1)), "less than 0"),
    "NaN coefficients": ("binary", array("dual_coef_", entry((0, 0), np.nan)), "NaN or infinity"),
    "an infinite bias": ("binary", array("intercept_", entry(0, np.inf)), "NaN or infinity"),
    "float32": ("binary", array("dual_coef_", lambda a: a.astype("f4")), "float64"),
    "complex numbers": ("binary", array("dual_coef_", lambda a: a + 1j), "not plain data"),
    "labels twice": ("binary", array("classes_", np.array(["a", "a"])), "each greater"),
    "labels out of order": ("binary", array("classes_", np.array(["b", "a"])), "each greater"),
    "one label": ("binary", array("classes_", np.array(["a"])), "at least two"),
    "too many labels": ("binary", array("classes_", np.array(list("abcde"))), "by classes_"),
    "an array for another": (
        "binary",
        attribute("dual_coef_", {"array": "intercept_"}),
        "missing or used twice",
    ),
    "a proof of another width": ("binary", array("certificate_", np.zeros((1, 3))), "16 columns"),
    "a proof with half a point": (
        "binary",
        array("certificate_", lambda a: np.full_like(a, 0.5)),
        "must be a count",
    ),
    "an array nobody asks for": ("binary", array("extra", np.zeros(3)), "unknown member extra"),
    "a Gram matrix that is not square": (
        "precomputed",
        attribute("shape_fit_", {"tuple": [90, 48]}),
        "shape",
    ),
    "support vectors of a Gram matrix": (
        "precomputed",
        array("support_vectors_", np.zeros((3, 48))),
        "support_vectors_",
    ),
    # sparse parts
    "an index beyond": (
        "several classes, sparse",
        array("support_vectors_.indices", entry(0, 2**30)),
        "between 0 and",
    ),
    "a negative index": (
        "several classes, sparse",
        array("support_vectors_.indices", entry(0, -1)),
        "between 0 and",
    ),
    "an index twice": (
        "several classes, sparse",
        array("support_vectors_.indices", entry(1, 0)),
        "rise within every row",
    ),
    "an index pointer that falls": (
        "several classes, sparse",
        array("support_vectors_.indptr", entry(1, 40)),
        "must rise",
    ),
    "fewer values than indices": (
        "several classes, sparse",
        array("support_vectors_.data", lambda a: a[1:]),
        "do not fit",
    ),
    "a sparse shape": (
        "several classes, sparse",
        attribute("support_vectors_", {"csr_matrix": ["support_vectors_", [-1, 3]]}),
        "impossible shape",
    ),
    "a sparse width": (
        "several classes, sparse",
        attribute("support_vectors_", {"csr_matrix": ["support_vectors_", [48, 10**15]]}),
        "support_vectors_|must rise",
    ),
    # other estimators
    "features that are not there": ("linear", attribute("n_features_in_", 7), "7 features"),
    "weights for fewer classes": (
        "linear",
        array("coef_", lambda a: a[:2]),
        "there are 2 outputs",
    ),
    "a bias for fewer": ("linear", array("intercept_", lambda a: a[:2]), "intercept_"),
    "iterates of another size": (
        "descent",
        array("_iterates.w", lambda a: a[:, 1:]),
        "do not fit",
    ),
    "a perceptron without points": (
        "perceptron",
        array("support_", lambda a: a[:0]),
        "support_vectors_ has|is empty",
    ),
    "more landmarks than there are": ("landmarks", attribute("rank_", 6), "rank_ is larger"),
    "more waves than there are": ("waves", attribute("_n_features_out", 7), "_n_features_out"),
    "more monomials than there are": (
        "monomials",
        attribute("kernel_", kernel("Polynomial", degree=10**6, gamma=1.0, coef0=1.0)),
        "_n_features_out must be",
    ),
    # pipelines
    "steps that are no list": ("pipeline", steps(lambda pairs: 7), "pairs of a name"),
    "no steps": ("pipeline", steps(lambda pairs: []), "pairs of a name"),
    "steps that are missing": ("pipeline", without("parameters", "steps"), "steps must be pairs"),
    "a cache on the disk": ("pipeline", parameter("memory", "/tmp"), "unknown name 'memory'"),
    "a step without a name": ("pipeline", steps(lambda pairs: [pair("a")]), "pairs of a name"),
    "a number as name": ("pipeline", named(7), "a step cannot be called 7"),
    "a list as name": ("pipeline", named(["a"]), "a step cannot be called"),
    "a name with underscores": ("pipeline", named("a__b"), "a step cannot be called 'a__b'"),
    "the name of a parameter": ("pipeline", named("memory"), "cannot be called 'memory'"),
    "a name twice": ("pipeline", named("svc"), "two steps have the same name"),
    "steps in another order": ("pipeline", steps(lambda pairs: pairs[::-1]), "last step must be"),
    "a machine amid the steps": (
        "pipeline",
        steps(lambda pairs: [pairs[1], pair("last", pairs[1]["tuple"][1])]),
        "missing or used twice",
    ),
    "only a scaler": ("pipeline", steps(lambda pairs: pairs[:1]), "last step must be"),
    "a step that does nothing at the end": (
        "pipeline",
        steps(lambda pairs: [*pairs, pair("idle", "passthrough")]),
        "last step must be",
    ),
    "a word as step": (
        "pipeline",
        steps(lambda pairs: [pair("first", "drop"), *pairs]),
        "the step 'first' is no transformer",
    ),
    "an array as step": (
        "pipeline",
        steps(lambda pairs: [pair("first", {"array": "steps.0.1.mean_"}), *pairs]),
        "missing or used twice",
    ),
    "a kernel as step": (
        "pipeline",
        steps(lambda pairs: [pair("first", kernel("Linear")), *pairs]),
        "the step 'first' is no transformer",
    ),
    "a kernel as last step": (
        "pipeline",
        steps(lambda pairs: [*pairs, pair("end", kernel("Linear"))]),
        "the last step must be",
    ),
    "a step of more than it has": (
        "pipeline",
        step(0, top("code", "import os")),
        "a step must have a class, parameters and attributes",
    ),
    "an unknown step": ("pipeline", step(0, top("class", "PCA")), "unknown class 'PCA'"),
    "a pipeline as step": ("pipeline", step(0, top("class", "Pipeline")), "unknown class"),
    "a step that was forgotten": (
        "pipeline",
        steps(lambda pairs: pairs[1:]),
        "unknown member steps.0.1",
    ),
    "a step of another width": (
        "pipeline of maps",
        steps(lambda pairs: [pairs[0], pairs[1], pairs[3], pairs[2], pairs[4]]),
        "the step 'circlemap' takes 5 features, but gets 3",
    ),
    "a scale of zero": ("pipeline", array("steps.0.1.scale_", np.zeros(3)), "not positive"),
    "a scale below zero": (
        "pipeline, sparse",
        array("steps.0.1.scale_", lambda a: -a),
        "scale_ holds numbers that are not positive",
    ),
    "an infinite mean": ("pipeline", array("steps.0.1.mean_", entry(0, np.inf)), "NaN or infinity"),
    "a mean of whole numbers": (
        "pipeline",
        array("steps.0.1.mean_", lambda a: a.astype(int)),
        "mean_ must be an array of floating-point numbers",
    ),
    "no mean": ("pipeline", step(0, without_array("mean_")), "with_mean is True, but mean_ is"),
    "a scaler of other features": (
        "pipeline",
        array("steps.0.1.var_", np.ones(2)),
        "var_ has shape",
    ),
    "a range that falls": (
        "pipeline of maps",
        step(0, parameter("feature_range", {"tuple": [1, 0]})),
        "feature_range must be a pair of numbers",
    ),
    "an endless range": (
        "pipeline of maps",
        step(0, parameter("feature_range", {"tuple": [0, {"float": "inf"}]})),
        "feature_range must be a pair of numbers",
    ),
    "clipping by a word": ("pipeline of maps", step(0, parameter("clip", "no")), "clip must be"),
    "an unknown parameter of a scaler": (
        "pipeline",
        step(0, parameter("quantile", 0.5)),
        "unknown name 'quantile'",
    ),
    "a classifier without weights of classes": (
        "binary",
        without("attributes", "class_weight_"),
        "class_weight_ is missing|unknown member",
    ),
}


@pytest.mark.parametrize("name", SEALED)
def test_content_that_makes_no_sense(name, tmp_path):
    kind, edit, reason = SEALED[name]
    good, bad = tmp_path / "good.mm", tmp_path / "bad.mm"
    save(model_of(kind), good)
    document, arrays = opened_up(good)
    seal(bad, document, arrays)
    load(bad)  # sealing alone changes nothing
    edit(document, arrays)
    seal(bad, document, arrays)
    refused(load, bad, reason)


# Damaged or hostile containers.


def bytes_of(path, members, compression=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path, "w", compression) as target:
        for name, content in members:
            target.writestr(zipfile.ZipInfo(name), content, compression)


def members_of(path):
    with zipfile.ZipFile(path) as source:
        return [(name, source.read(name)) for name in source.namelist()]


def npy_bytes(header):
    return npy.magic(1, 0) + len(header).to_bytes(2, "little") + header


def swapped(members):
    """Two arrays under each other's names."""
    names = dict(members)
    names["intercept_.npy"], names["norms_.npy"] = names["norms_.npy"], names["intercept_.npy"]
    return list(names.items())


def with_content(name, change):
    return lambda members: [(n, change(c) if n == name else c) for n, c in members]


def with_member(name, content=b""):
    return lambda members: [*members, (name, content)]


HUGE = npy_bytes(b"{'descr': '<f8', 'fortran_order': False, 'shape': (100000000000,), }\n")
OBJECT = npy_bytes(b"{'descr': '|O', 'fortran_order': False, 'shape': (1,), }\n") + b"cos\nsystem\n"
NEGATIVE = npy_bytes(b"{'descr': '<f8', 'fortran_order': False, 'shape': (-1,), }\n")
EMPTY_TEXT = npy_bytes(b"{'descr': '<U0', 'fortran_order': False, 'shape': (100000000000,), }\n")
DEEP = npy_bytes(b"(" * 5000)
JSON = archive.DOCUMENT
CONTAINERS = {
    "a member more": (with_member("more.npy", b"x"), "disagree on which members"),
    "a member less": (lambda members: members[1:], "disagree on which members"),
    "no document": (lambda members: members[:-1], "model.json is missing"),
    "nothing": (lambda members: [], "model.json is missing"),
    "a path upwards": (with_member("../evil.npy"), "unknown member '../evil.npy'"),
    "a path from the root": (with_member("/etc/passwd"), "unknown member '/etc/passwd'"),
    "a path of another system": (with_member("C:\\evil.npy"), "unknown member"),
    "a folder": (with_member("folder/"), "unknown member 'folder/'"),
    "a pickle": (with_member("model.pkl", b"cos\nsystem\n"), "unknown member 'model.pkl'"),
    "another archive": (with_member("inner.zip", b"PK"), "unknown member 'inner.zip'"),
    "a member twice": (lambda members: [members[0], *members], "is there twice"),
    "members swapped": (swapped, "is not of the"),
    "a huge shape": (with_content("intercept_.npy", lambda c: HUGE), "has 0 bytes of data"),
    "an array of objects": (with_content("intercept_.npy", lambda c: OBJECT), "not plain data"),
    "a negative shape": (with_content("intercept_.npy", lambda c: NEGATIVE), "not plain data"),
    "text of no length": (with_content("intercept_.npy", lambda c: EMPTY_TEXT), "not plain data"),
    "a deep header": (with_content("intercept_.npy", lambda c: DEEP), "header"),
    "no array": (with_content("intercept_.npy", lambda c: b"1,2,3"), "bad.mm: "),
    "a changed number": (
        with_content("intercept_.npy", lambda c: c[:-1] + b"\x00"),
        "is not of the sha256",
    ),
    "no JSON": (with_content(JSON, lambda c: b"{"), "bad.mm: "),
    "NaN in JSON": (with_content(JSON, lambda c: c.replace(b": 1.0", b": NaN")), "holds NaN"),
    "1e999 in JSON": (
        with_content(JSON, lambda c: c.replace(b": 1.0", b": 1e999")),
        "too large",
    ),
    "a key twice": (
        with_content(JSON, lambda c: c.replace(b'"C"', b'"kernel"', 1)),
        "has a key twice",
    ),
    "deep JSON": (with_content(JSON, lambda c: b"[" * 100_000), "bad.mm: "),
    "JSON of another kind": (with_content(JSON, lambda c: b"[1]"), "disagree"),
    "JSON in UTF-16": (with_content(JSON, lambda c: c.decode().encode("utf-16")), "utf-8"),
    "long JSON": (with_content(JSON, lambda c: c + b" " * 2**21), "too long"),
}


@pytest.mark.parametrize("name", CONTAINERS)
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_hostile_containers(name, tmp_path):
    good, bad = tmp_path / "good.mm", tmp_path / "bad.mm"
    save(model_of("binary"), good)
    change, reason = CONTAINERS[name]
    bytes_of(bad, change(members_of(good)))
    refused(load, bad, reason)


def test_compressed_members_are_refused_before_they_are_unpacked(tmp_path):
    path = tmp_path / "bomb.mm"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as bomb:
        bomb.writestr(JSON, b"{}")
        with bomb.open("zeros.npy", "w") as zeros:
            for _ in range(200):
                zeros.write(bytes(10**6))
    assert path.stat().st_size < 200_000  # a thousandth of what it unpacks to
    refused(load, path, "is compressed; model files are not")


def test_a_long_list_of_members_is_refused_before_it_is_read(tmp_path):
    path = tmp_path / "many.mm"
    bytes_of(path, [(f"{k}.npy", b"") for k in range(10**5)])
    refused(load, path, "its list of members is too long")


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFDIR, stat.S_IFIFO, stat.S_IFCHR])
@pytest.mark.parametrize("name", ["intercept_.npy", JSON])
def test_members_that_are_links_or_devices(name, kind, tmp_path):
    good, bad = tmp_path / "good.mm", tmp_path / "bad.mm"
    save(model_of("binary"), good)
    for mode in (stat.S_IFREG | 0o644, kind | 0o777):
        with zipfile.ZipFile(bad, "w") as target:
            for member, content in members_of(good):
                info = zipfile.ZipInfo(member)
                info.external_attr = (mode if member == name else 0o600) << 16
                target.writestr(info, content)
        if stat.S_ISREG(mode):
            load(bad)
        else:
            refused(load, bad, f"member {name} is a link or a device")


def test_members_that_lie_over_each_other(tmp_path):
    """Many entries for the same bytes: together they would need more than the file has."""
    path = tmp_path / "overlap.mm"
    bytes_of(path, [("a.npy", bytes(10**6)), ("b.npy", b""), (JSON, b"{}")])
    content = path.read_bytes()
    start = content.rfind(b"PK\x01\x02", 0, content.rfind(b"b.npy"))
    entry_of_a = content[content.find(b"PK\x01\x02") :][:46]
    copy = bytearray(content)
    copy[start : start + 46] = entry_of_a
    path.write_bytes(copy)
    refused(load, path, "claim|twice|Overlapped|differ")


def test_other_files_and_limits(tmp_path):
    path = tmp_path / "model.mm"
    for content in (b"", b"PK", b"hello", b"\x80\x04\x95", bytes(1000)):
        path.write_bytes(content)
        refused(load, path, "not a model file of maxmargin")
    save(model_of("binary"), path)
    (tmp_path / "cut.mm").write_bytes(path.read_bytes()[:-100])
    refused(load, tmp_path / "cut.mm", "the file was cut off or damaged")
    refused(load, path, "more than max_bytes=1000", max_bytes=1000)
    (tmp_path / "folder").mkdir()
    refused(load, tmp_path / "folder", "not a regular file")


def test_a_pipe_is_refused_instead_of_waited_for(tmp_path):
    import os

    if not hasattr(os, "mkfifo"):
        pytest.skip("no pipes with names here")
    os.mkfifo(tmp_path / "pipe")
    refused(load, tmp_path / "pipe", "not a regular file")


def test_every_truncation_is_refused(tmp_path):
    path = tmp_path / "model.mm"
    for model in (fitted("CircleMap"), fitted("LinearSVR"), model_of("binary")):
        save(model, path)
        whole = path.read_bytes()
        for length in range(len(whole)):
            path.write_bytes(whole[:length])
            with pytest.raises(FileError, match=re.escape(str(path))):
                load(path)


def test_an_encrypted_member_is_refused(tmp_path):
    path = tmp_path / "model.mm"
    save(model_of("binary"), path)
    content = bytearray(path.read_bytes())
    directory = content.find(b"PK\x01\x02")
    content[directory + 8] |= 1
    path.write_bytes(content)
    refused(load, path, "is encrypted or streamed")


def test_there_are_enough_of_them():
    assert len(SEALED) + len(CONTAINERS) >= 45
