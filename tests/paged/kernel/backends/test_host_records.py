"""The header that operations and host kernels share."""

from __future__ import annotations

import torch

from paged.kernel.backends.host_records import ELEMENT_CODES, records_text
from paged.kernel.registry import ops


def test_every_operation_has_a_struct_and_every_element_type_a_number() -> None:
    text = records_text()
    for op in ops().values():
        assert f"struct {op.signature.struct_name} {{" in text
    for name, code in ELEMENT_CODES.items():
        assert hasattr(torch, name)
        assert f"k_{name} = {code}," in text
