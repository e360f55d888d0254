"""The `__device__` and `__constant__` variables of one program, kept between its launches."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from paged.errors import OperandError
from paged.kernel.backends.loaded_library import Bytes, LoadedLibrary
from paged.kernel.elf import mangled


class Variables:
    """Values of a library's variables. Two programs of one library have their own.

    Only what differs from the values the library comes with goes to another process: the rest
    may be addresses, which differ there.
    """

    def __init__(self, library: LoadedLibrary) -> None:
        self._library = library
        self._values: Bytes = library.first_values.copy()

    @property
    def is_empty(self) -> bool:
        """Whether the library has none."""
        return not self._library.places

    def write(self, name: str, value: npt.NDArray[np.generic]) -> None:
        """Set a variable. Raises OperandError as `read` does."""
        at = self._place(name, value.nbytes)
        self._values[at : at + value.nbytes] = np.frombuffer(value.tobytes(), np.uint8)

    def read(
        self, name: str, dtype: npt.DTypeLike, shape: tuple[int, ...]
    ) -> npt.NDArray[np.generic]:
        """Return a copy of a variable.

        Raises OperandError where there is none of this name, or its size in bytes differs.
        """
        value = np.empty(shape, dtype)
        at = self._place(name, value.nbytes)
        data = self._values[at : at + value.nbytes].tobytes()
        return np.frombuffer(data, value.dtype).reshape(shape).copy()

    def pack(self) -> bytes:
        """Return all values, then a byte each that tells which differ from the library's own."""
        changed = self._values != self._library.first_values
        return self._values.tobytes() + changed.tobytes()

    def unpack(self, data: bytes) -> None:
        """Take values over from what another process has packed."""
        values, changed = np.frombuffer(data, np.uint8).reshape(2, -1)
        self._values = np.where(changed != 0, values, self._library.first_values)

    def install(self) -> None:
        """Give the library in this process these values."""
        self._library.write_values(self._values)

    def collect(self) -> None:
        """Take the values of the library in this process."""
        self._values = self._library.read_values().copy()

    def _place(self, name: str, num_bytes: int) -> int:
        places = self._library.places
        if mangled(name) not in places:
            known = ", ".join(sorted(places)) or "none"
            raise OperandError(
                f"expected a __device__ or __constant__ variable, got {name!r}; the source's "
                f"variables are: {known}"
            )
        at, has_bytes = places[mangled(name)]
        if has_bytes != num_bytes:
            raise OperandError(f"variable {name!r} has {has_bytes} bytes, got {num_bytes}")
        return at
