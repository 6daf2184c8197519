"""The only Numba of the library: arrays and numbers in, arrays and numbers out.

Functions here hold no objects, so that their machine code can be cached on disk, and release the
GIL, so that threads can share the work. None uses Numba's own threads: those abort when two Python
threads enter them and die in a forked child.
"""
