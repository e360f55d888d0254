"""What host kernels that serve no operation are handed: structs, for Python and for C++."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

PANEL_INPUTS = 256
"""Inputs that a product takes at a time; of int8 weights, those whose x share a scale."""

_NUMBERS = {"int64_t": ctypes.c_int64, "float": ctypes.c_float}


@dataclass(frozen=True, kw_only=True)
class LayerRecord:
    """A struct whose fields are numbers and addresses.

    fields: type in C++ and name of each, in order.
    """

    name: str
    fields: Sequence[tuple[str, str]]

    @cached_property
    def make(self) -> type[Any]:
        """The struct in Python, called with the values in order; None is no address."""
        pairs = [(name, _NUMBERS.get(kind, ctypes.c_void_p)) for kind, name in self.fields]
        return type(self.name, (ctypes.Structure,), {"_fields_": pairs})

    def text(self) -> str:
        """Return the struct in C++."""
        lines = "".join(f"    {kind} {name};\n" for kind, name in self.fields)
        return f"struct {self.name} {{\n{lines}}};\n"


LINEAR = LayerRecord(
    name="LinearRecord",
    fields=(
        ("const void*", "tiles"),
        ("const float*", "scales"),
        ("const float*", "bias"),
        ("int64_t", "out_features"),
        ("int64_t", "in_features"),
        ("const float*", "x"),
        ("float*", "y"),
        ("int64_t", "num_rows"),
        # written, where weights are integers: x as integers, and their scales
        ("int16_t*", "row_integers"),
        ("float*", "row_scales"),
    ),
)

EMBEDDING = LayerRecord(
    name="EmbeddingRecord",
    fields=(
        ("const void*", "tiles"),
        ("const float*", "scales"),
        ("int64_t", "num_rows"),
        ("int64_t", "num_columns"),
        ("const int64_t*", "tokens"),
        ("float*", "y"),
        ("int64_t", "num_tokens"),
        # written: how many tokens are no rows
        ("int64_t", "num_wrong"),
    ),
)

RMS_NORM = LayerRecord(
    name="RmsNormRecord",
    fields=(
        ("const float*", "x"),
        ("const float*", "residual"),
        ("const float*", "weight"),
        ("float*", "total"),
        ("float*", "y"),
        ("int64_t", "num_rows"),
        ("int64_t", "num_columns"),
        ("float", "eps"),
    ),
)

SILU_MUL = LayerRecord(
    name="SiluMulRecord",
    fields=(
        ("const float*", "gate_up"),
        ("float*", "y"),
        ("int64_t", "num_rows"),
        ("int64_t", "num_columns"),
    ),
)

COPY = LayerRecord(
    name="CopyRecord",
    fields=(("const void*", "from"), ("void*", "to"), ("int64_t", "num_bytes")),
)

LAYER_RECORDS = (LINEAR, EMBEDDING, RMS_NORM, SILU_MUL, COPY)
