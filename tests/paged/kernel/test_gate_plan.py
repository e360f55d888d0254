"""What the compile gate builds."""

from __future__ import annotations

from dataclasses import replace

import pytest

from paged.errors import KernelSourceError
from paged.kernel.gate_plan import builds, instances, type_choices
from paged.kernel.nvrtc import ARCHS
from paged.kernel.registry import find_op, ops
from paged.kernel.spec import KernelSpec, Launch, Operand
from paged.kernel.variant import find_variant, load_variant, shipped_variants

SPEC = KernelSpec(
    name="plan",
    source="",
    launches=(Launch(entry="plan", grid=1, block=1),),
    operands=(
        Operand(name="q", shape="n num_heads head_dim", dtype="q_t"),
        Operand(name="kv", shape="n head_dim", dtype="kv_t"),
    ),
    types={"q_t": ("float16", "float32"), "kv_t": ("float16", "float32", "float8_e4m3fn")},
    symbols={"group_size": "num_heads", "tile": "head_dim * 2"},
    constants=("tile", "group_size"),
    requires=("head_dim % 64 == 0", "n > 0"),
)


def test_types_that_occur_together() -> None:
    assert [tuple(c.values()) for c in type_choices(SPEC.types)] == [
        ("float16", "float16"),
        ("float16", "float8_e4m3fn"),
        ("float32", "float32"),
        ("float32", "float8_e4m3fn"),
    ]
    assert [c["t"] for c in type_choices({"t": ("float8_e4m3fn", "float16")})] == [
        "float8_e4m3fn",
        "float16",
    ]


def test_sizes_that_the_kernel_takes_and_their_symbols() -> None:
    sizes = {tuple(i.sizes.items()) for i in instances(SPEC)}
    assert sizes == {
        (("head_dim", d), ("group_size", g), ("tile", 2 * d))
        for d in (64, 128, 256)
        for g in (1, 4, 8)
    }


def test_main_sizes_for_all_architectures_and_others_for_two() -> None:
    planned = [(b.instance.sizes["head_dim"], b.instance.sizes["group_size"], b.arch)
               for b in builds(SPEC, is_full=False) if b.instance.types["q_t"] == "float16"
               and b.instance.types["kv_t"] == "float16"]  # fmt: skip
    assert {arch for d, g, arch in planned if (d, g) == (128, 4)} == set(ARCHS)
    assert {arch for d, g, arch in planned if (d, g) == (64, 4)} == {"sm_80", "sm_90"}
    assert (64, 8, "sm_80") not in planned
    assert len(planned) == len(set(planned)) == 6 + 2 * 2 + 2 * 2
    assert len(list(builds(SPEC, is_full=True))) == 4 * 9 * 6


def test_unknown_constants_are_refused() -> None:
    spec = KernelSpec(
        name="plan",
        source="",
        launches=SPEC.launches,
        operands=SPEC.operands,
        types=SPEC.types,
        constants=("n",),
    )
    with pytest.raises(KernelSourceError, match="constant 'n' is compiled for every value"):
        list(instances(spec))


def test_every_size_that_a_model_fixes_may_be_a_constant() -> None:
    spec = find_variant(find_op("attention"), "v0").spec
    fixed = ("head_dim", "group_size", "block_size", "num_q_heads", "num_kv_heads", "num_layers")
    planned = list(builds(replace(spec, constants=fixed), is_full=False))
    sizes = [build.instance.sizes for build in planned if build.arch == "sm_86"]
    assert {tuple(s.values()) for s in sizes} == {(128, 4, 16, 32, 8, 32)}
    assert {b.instance.sizes["block_size"] for b in planned} == {16, 32, 64, 128, 256}
    for size in set(spec.sizes) - set(fixed):
        with pytest.raises(KernelSourceError, match=f"constant {size!r} is compiled"):
            list(instances(replace(spec, constants=(size,))))


@pytest.mark.parametrize("name", list(ops()))
def test_every_shipped_kernel_has_builds(name: str) -> None:
    op = find_op(name)
    for path in shipped_variants(op).values():
        planned = list(builds(load_variant(op, path).spec, is_full=False))
        assert {b.arch for b in planned} == set(ARCHS)


def test_sources_of_instances() -> None:
    spec = find_variant(find_op("attention"), "v0").spec
    first = next(instances(spec))
    assert ("HEAD_DIM", "64") in first.source(spec).defines
