"""Models and data in files: safe model files, LIBSVM's text, svmlight and CSV tables, ONNX.

Invariant: reading a file runs nothing that the file contains, and needs no more memory than its
length allows; whatever is wrong with it is a `FileError` that says where.
"""

from maxmargin.errors import FileError
from maxmargin.files.libsvm_reader import load_libsvm
from maxmargin.files.libsvm_writer import save_libsvm
from maxmargin.files.models import load, save
from maxmargin.files.onnx_graph import to_onnx
from maxmargin.files.tables import Data, read_data

__all__ = [
    "Data",
    "FileError",
    "load",
    "load_libsvm",
    "read_data",
    "save",
    "save_libsvm",
    "to_onnx",
]
