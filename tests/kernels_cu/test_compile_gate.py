"""Every shipped kernel compiles for every GPU we name, within its registers and as it claims.

No GPU is needed. Every type for all architectures at head dimension 128, for sm_80 and sm_90 at
the others; `make gate` builds the full product.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from paged.cli.kernels.compile import compile_one
from paged.kernel.gate_plan import builds, type_choices
from paged.kernel.registry import ops
from paged.kernel.variant import Variant, load_variant, shipped_variants

VARIANTS = [
    load_variant(op, path) for op in ops().values() for path in shipped_variants(op).values()
]


def cases() -> Iterator[tuple[Variant, dict[str, str]]]:
    """Return variants and types: one test each, so that two processes share the work evenly."""
    for variant in VARIANTS:
        for types in type_choices(variant.spec.types):
            yield variant, types


def name_of(value: Variant | dict[str, str]) -> str:
    if isinstance(value, Variant):
        return f"{value.op.name}={value.name}"
    return "-".join(value.values())


@pytest.mark.parametrize(("variant", "types"), list(cases()), ids=name_of)
def test_builds(variant: Variant, types: dict[str, str]) -> None:
    planned = [b for b in builds(variant.spec, is_full=False) if b.instance.types == types]
    assert planned
    for build in planned:
        rows, faults = compile_one(variant, build)
        assert faults == [], f"{build.arch} {build.instance.label}"
        assert len(rows) == len({launch.entry for launch in variant.spec.launches})


@pytest.mark.parametrize("variant", VARIANTS, ids=name_of)
def test_registers_are_bounded(variant: Variant) -> None:
    assert variant.directives.max_registers is not None
    assert variant.directives.max_registers <= 255
