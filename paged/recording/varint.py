"""Integers as bytes, few for small ones: seven bits a byte, the sign in the lowest bit.

Source: "LEB128" and "ZigZag" of Protocol Buffers' encoding.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from paged.errors import RecordingError
from paged.types import IndexArray

_BITS = 7
_MORE = 1 << _BITS
_MAX_BYTES = -(-64 // _BITS)


def encode(values: IndexArray) -> bytes:
    """Return the bytes of int64 values, one after the other. O(bytes), in numpy."""
    folded = ((values << 1) ^ (values >> 63)).view(np.uint64)
    if not len(folded) or int(folded.max()) < _MORE:
        return folded.astype(np.uint8).tobytes()
    num_bytes = np.ones(len(folded), np.int64)
    for k in range(1, _MAX_BYTES):
        num_bytes += folded >= np.uint64(1 << _BITS * k)
    ends = np.cumsum(num_bytes)
    starts = ends - num_bytes
    out = np.empty(int(ends[-1]), np.uint8)
    for k in range(int(num_bytes.max())):
        has = num_bytes > k
        low = (folded[has] >> np.uint64(_BITS * k)) & np.uint64(_MORE - 1)
        out[starts[has] + k] = low + np.uint64(_MORE) * (num_bytes[has] > k + 1)
    return out.tobytes()


def decode(data: bytes, count: int) -> IndexArray:
    """Return the int64 values that `encode` made bytes of.

    Raises: RecordingError unless there are exactly count of them.
    """
    octets = np.frombuffer(data, np.uint8)
    ends = np.flatnonzero(octets < _MORE)
    num_bytes = np.diff(ends, prepend=-1)
    is_whole = len(ends) == count and (ends[-1] + 1 if count else 0) == len(octets)
    if not is_whole or int(num_bytes.max(initial=0)) > _MAX_BYTES:
        raise RecordingError(f"expected {count} integers in {len(octets)} bytes, got {len(ends)}")
    return _unfold(_gather(octets, ends - num_bytes + 1, num_bytes))


def _gather(octets: NDArray[np.uint8], starts: IndexArray, num_bytes: IndexArray) -> IndexArray:
    folded = np.zeros(len(starts), np.uint64)
    for k in range(int(num_bytes.max(initial=0))):
        has = num_bytes > k
        low = octets[starts[has] + k].astype(np.uint64) & np.uint64(_MORE - 1)
        folded[has] |= low << np.uint64(_BITS * k)
    return folded.view(np.int64)


def _unfold(folded: IndexArray) -> IndexArray:
    magnitude = (folded.view(np.uint64) >> np.uint64(1)).view(np.int64)
    return magnitude ^ -(folded & 1)
