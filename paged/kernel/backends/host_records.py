"""What host kernels are handed, as a C++ header: structs of operations' specs, and of layers."""

from __future__ import annotations

from functools import lru_cache

from paged.kernel.backends.layer_records import LAYER_RECORDS, PANEL_INPUTS
from paged.kernel.dtypes import ELEMENT_TYPES
from paged.kernel.record import struct_text
from paged.kernel.spec import KernelSpec

RECORDS_HEADER = "host_records.h"

ELEMENT_CODES = {name: code for code, name in enumerate(ELEMENT_TYPES)}
"""The number that stands for an element type in `paged_host::Element`."""


@lru_cache(maxsize=1)
def records_text() -> str:
    """Return the header that host kernels include: element types, a size, and all structs."""
    from paged.kernel.registry import ops

    elements = "".join(f"    k_{name} = {code},\n" for name, code in ELEMENT_CODES.items())
    return "\n".join(
        [
            "#pragma once",
            "#include <stdint.h>",
            "namespace paged_host {",
            f"enum class Element : int32_t {{\n{elements}}};",
            f"constexpr int64_t kPanelInputs = {PANEL_INPUTS};",
            *(record.text() for record in LAYER_RECORDS),
            "}  // namespace paged_host",
            *(_record(op.signature) for op in ops().values()),
        ]
    )


def _record(spec: KernelSpec) -> str:
    """Return a spec's struct, in which operands of any type are addresses and nothing more."""
    macros = [name.upper() for name in spec.types]
    lines = [f"#define {macro} void" for macro in macros]
    lines += [struct_text(spec, {name: "uint8" for name in spec.types})]
    lines += [f"#undef {macro}" for macro in macros]
    return "\n".join(lines)
