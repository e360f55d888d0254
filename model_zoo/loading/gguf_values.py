"""The values of a GGUF file's tensors, in float32, whatever they are stored in."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from model_zoo.loading.gguf_file import GgufFile, GgufTensor
from paged.errors import ModelFileError

if TYPE_CHECKING:
    from gguf.constants import GGMLQuantizationType

FloatArray = npt.NDArray[np.float32]
ByteArray = npt.NDArray[np.uint8]

# Values read at a time: temporary arrays of so many stay in the cache of a core.
_CHUNK_VALUES = 1 << 18
_BLOCK_VALUES = 32
_HALF_BYTES = 2


def read_values(file: GgufFile, tensor: GgufTensor) -> FloatArray:
    """Return a whole tensor in its shape. Raises ModelFileError."""
    out = np.empty(tensor.shape, np.float32)
    row = 0
    flat = out.reshape(_num_rows(tensor), _row_values(tensor))
    for rows in read_rows(file, tensor):
        flat[row : row + len(rows)] = rows
        row += len(rows)
    return out


def read_rows(file: GgufFile, tensor: GgufTensor) -> Iterator[FloatArray]:
    """Yield a tensor as some rows at a time, [n, last dimension], in order.

    Raises ModelFileError for a type that the `gguf` package cannot dequantise, and if the file
    has shrunk.
    """
    num_rows, row_values = _num_rows(tensor), _row_values(tensor)
    if num_rows * row_values == 0:
        return
    row_bytes = tensor.num_bytes // num_rows
    step = max(1, _CHUNK_VALUES // row_values)
    with file.path.open("rb") as opened:
        opened.seek(tensor.offset_bytes)
        for start in range(0, num_rows, step):
            wanted = min(step, num_rows - start)
            stored = np.fromfile(opened, np.uint8, wanted * row_bytes)
            if len(stored) != wanted * row_bytes:
                raise ModelFileError(f"{file.path}: the file was cut short while it was read")
            yield _dequantized(file, tensor, stored.reshape(wanted, row_bytes))


def _num_rows(tensor: GgufTensor) -> int:
    return prod(tensor.shape[:-1])


def _row_values(tensor: GgufTensor) -> int:
    return tensor.shape[-1] if tensor.shape else 1


def _dequantized(file: GgufFile, tensor: GgufTensor, stored: ByteArray) -> FloatArray:
    from gguf.constants import GGMLQuantizationType as Kind
    from gguf.quants import dequantize

    kind = Kind(tensor.type_id)
    shape = (len(stored), _row_values(tensor))
    match kind:
        case Kind.Q8_0:
            return _q8_0(stored).reshape(shape)
        case Kind.Q4_0:
            return _q4(stored, num_scales=1).reshape(shape)
        case Kind.Q4_1:
            return _q4(stored, num_scales=2).reshape(shape)
        case Kind.F64:
            return stored.view(np.float64).astype(np.float32)
        case _:
            pass
    try:
        return dequantize(stored, kind).reshape(shape)
    except NotImplementedError as error:
        raise _unknown(file, tensor, kind) from error


def _unknown(file: GgufFile, tensor: GgufTensor, kind: GGMLQuantizationType) -> ModelFileError:
    return ModelFileError(
        f"{file.path}: tensor {tensor.name!r:.80} is stored as {kind.name}, which the installed "
        "`gguf` cannot dequantise; convert the model to another type, such as Q8_0"
    )


# The types of small models, several times faster than `gguf` has them, to the same bits. A block
# of 32 values is its scales, in half precision, then the integers.


def _q8_0(stored: ByteArray) -> FloatArray:
    blocks = stored.reshape(-1, _HALF_BYTES + _BLOCK_VALUES)
    scales, integers = _scales(blocks, 1), blocks[:, _HALF_BYTES:].view(np.int8)
    return np.multiply(integers, scales, dtype=np.float32)


def _q4(stored: ByteArray, *, num_scales: int) -> FloatArray:
    """Values of Q4_0 (one scale; integers from -8) or Q4_1 (a scale and the least value)."""
    header_bytes = num_scales * _HALF_BYTES
    blocks = stored.reshape(-1, header_bytes + _BLOCK_VALUES // 2)
    scales, pairs = _scales(blocks, num_scales), blocks[:, header_bytes:]
    values = np.empty((len(blocks), 2, _BLOCK_VALUES // 2), np.float32)
    values[:, 0] = pairs & 15
    values[:, 1] = pairs >> 4
    if num_scales == 1:
        values -= 8
    values *= scales[:, :1, None]
    if num_scales > 1:
        values += scales[:, 1:, None]
    return values


def _scales(blocks: ByteArray, num_scales: int) -> FloatArray:
    halves = np.ascontiguousarray(blocks[:, : num_scales * _HALF_BYTES]).view(np.float16)
    return halves.astype(np.float32)
