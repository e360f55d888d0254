"""Names for the integers and arrays that cross module borders."""

from __future__ import annotations

from typing import NewType

import numpy as np
import numpy.typing as npt

BlockId = NewType("BlockId", int)
"""Index of a physical KV block in the pool."""

Row = NewType("Row", int)
"""Index of a live sequence in the persistent arrays of allocator and scheduler."""

IndexArray = npt.NDArray[np.int64]
"""Rows, block ids, lengths in tokens: anything that indexes an array or is summed.

numpy indexes with int64 several times faster than with int32.
"""

BlockArray = npt.NDArray[np.int32]
"""Physical block ids as they lie in block tables; kernels read them as int32."""

TokenArray = npt.NDArray[np.int32]
"""Token ids."""

BoolArray = npt.NDArray[np.bool_]
