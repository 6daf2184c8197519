"""The only place with Numba: its functions take and return arrays and numbers.

Where there is no Numba, the same functions run as plain Python (`numba_setup.py`).

Functions here hold no objects, so that their machine code can be cached on disk, and release the
GIL, so that threads can share the work. None uses Numba's own threads: those abort when two Python
threads enter them and die in a forked child.
"""
