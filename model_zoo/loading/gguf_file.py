"""The header of a GGUF file: metadata, and where each tensor lies.

Source: ggml's GGUF specification. The `gguf` package has a reader too; it makes several
arrays for each string of a vocabulary (4 s for 49,152 tokens) and believes every count.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path

from model_zoo.loading.gguf_cursor import GgufCursor, GgufValue
from model_zoo.loading.gguf_metadata import GgufMetadata
from paged.errors import ModelFileError

MAGIC = b"GGUF"
VERSIONS = (2, 3)
MAX_DIMENSIONS = 4
_ALIGNMENT_KEY = "general.alignment"
_DEFAULT_ALIGNMENT = 32
# The shortest key: its length, no characters, a type, one byte.
_LEAST_KEY_BYTES = 13
# The shortest entry: a length, no characters, no dimensions, a type, an offset.
_LEAST_ENTRY_BYTES = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class GgufTensor:
    """Where one tensor lies, and how it is stored.

    shape: outermost dimension first, as in torch.
    type_id: ggml's number of the storage type.
    offset_bytes: from the start of the file.
    """

    name: str
    shape: tuple[int, ...]
    type_id: int
    offset_bytes: int
    num_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GgufFile:
    """A parsed header; the tensors are still on the disk."""

    path: Path
    metadata: GgufMetadata
    tensors: Mapping[str, GgufTensor]


def read_gguf(path: Path) -> GgufFile:
    """Read the header of a GGUF file and check that all of its tensors lie within the file.

    Raises ModelFileError, which says what is wrong with the file.
    """
    try:
        with path.open("rb") as file:
            if file.read(len(MAGIC)) != MAGIC:
                raise ModelFileError(
                    f"{path}: expected a GGUF file, whose first bytes are {MAGIC!r}; "
                    "name a .gguf file or a folder with config.json"
                )
            with (
                mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped,
                memoryview(mapped) as data,
            ):
                return _read(path, data)
    except OSError as error:
        raise ModelFileError(f"{path}: cannot read the file: {error.strerror}") from error


def _read(path: Path, data: memoryview) -> GgufFile:
    cursor = GgufCursor(path, data)
    cursor.position = len(MAGIC)
    version = cursor.number("I")
    if version not in VERSIONS:
        raise ModelFileError(
            f"{path}: expected GGUF version 2 or 3, little-endian, got version {version:#x}; "
            "convert the model again with a current convert_hf_to_gguf.py"
        )
    num_tensors = cursor.count("Q", least_bytes=_LEAST_ENTRY_BYTES, what="tensors")
    num_keys = cursor.count("Q", least_bytes=_LEAST_KEY_BYTES, what="keys")
    metadata = GgufMetadata(path, _keys(cursor, num_keys))
    entries = [_entry(cursor) for _ in range(num_tensors)]
    start = _data_start(metadata, cursor.position)
    return GgufFile(path=path, metadata=metadata, tensors=_place(path, entries, start, len(data)))


def _keys(cursor: GgufCursor, num_keys: int) -> dict[str, GgufValue]:
    values: dict[str, GgufValue] = {}
    for _ in range(num_keys):
        key = cursor.text()
        if key in values:
            raise ModelFileError(f"{cursor.path}: the key {key!r:.80} is there twice")
        values[key] = cursor.value(int(cursor.number("I")))
    return values


def _entry(cursor: GgufCursor) -> GgufTensor:
    name = cursor.text()
    num_dimensions = int(cursor.number("I"))
    if num_dimensions > MAX_DIMENSIONS:
        raise ModelFileError(
            f"{cursor.path}: tensor {name!r:.80}: expected at most {MAX_DIMENSIONS} dimensions, "
            f"got {num_dimensions}: the file is damaged; fetch it again"
        )
    sizes = [int(cursor.number("Q")) for _ in range(num_dimensions)]
    type_id = int(cursor.number("I"))
    offset_bytes = int(cursor.number("Q"))
    shape = tuple(reversed(sizes))
    num_bytes = _num_bytes(cursor.path, name, shape, type_id)
    return GgufTensor(
        name=name, shape=shape, type_id=type_id, offset_bytes=offset_bytes, num_bytes=num_bytes
    )


def _num_bytes(path: Path, name: str, shape: tuple[int, ...], type_id: int) -> int:
    from gguf.constants import GGML_QUANT_SIZES

    sizes = {int(kind): size for kind, size in GGML_QUANT_SIZES.items()}
    if type_id not in sizes:
        raise ModelFileError(
            f"{path}: tensor {name!r:.80} has the storage type {type_id}, which the installed "
            "`gguf` does not know; upgrade `gguf`, or convert the model to another type"
        )
    values_per_block, bytes_per_block = sizes[type_id]
    row = shape[-1] if shape else 1
    if row % values_per_block:
        raise ModelFileError(
            f"{path}: tensor {name!r:.80}: rows of storage type {type_id} hold a multiple of "
            f"{values_per_block} values, got {row}: the file is damaged; fetch it again"
        )
    return prod(shape) // values_per_block * bytes_per_block


def _data_start(metadata: GgufMetadata, position: int) -> int:
    alignment = metadata.integer(_ALIGNMENT_KEY)
    if alignment is None:
        alignment = _DEFAULT_ALIGNMENT
    if alignment <= 0 or alignment & (alignment - 1):
        raise ModelFileError(
            f"{metadata.path}: {_ALIGNMENT_KEY} must be a power of two, got {alignment}"
        )
    return -(-position // alignment) * alignment


def _place(
    path: Path, entries: Iterable[GgufTensor], start: int, file_bytes: int
) -> dict[str, GgufTensor]:
    placed: dict[str, GgufTensor] = {}
    for entry in entries:
        if entry.name in placed:
            raise ModelFileError(f"{path}: the tensor {entry.name!r:.80} is there twice")
        offset_bytes = start + entry.offset_bytes
        end = offset_bytes + entry.num_bytes
        if end > file_bytes:
            raise ModelFileError(
                f"{path}: tensor {entry.name!r:.80} ends at byte {end}, the file at {file_bytes}: "
                "it is cut short or damaged; fetch it again"
            )
        placed[entry.name] = replace(entry, offset_bytes=offset_bytes)
    _check_apart(path, placed.values())
    return placed


def _check_apart(path: Path, tensors: Iterable[GgufTensor]) -> None:
    end, last = 0, ""
    for tensor in sorted(tensors, key=lambda tensor: tensor.offset_bytes):
        if tensor.offset_bytes < end:
            raise ModelFileError(
                f"{path}: the tensors {last!r:.80} and {tensor.name!r:.80} overlap: "
                "the file is damaged; fetch it again"
            )
        end, last = tensor.offset_bytes + tensor.num_bytes, tensor.name
