"""Which instances of a kernel the compile gate builds, and for which architectures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product

from paged.errors import KernelSourceError
from paged.kernel.expression import expression
from paged.kernel.instance import instantiate
from paged.kernel.nvrtc import ARCHS
from paged.kernel.source import KernelSource
from paged.kernel.spec import KernelSpec

HEAD_DIMS = (64, 80, 96, 128, 256)
GROUP_SIZES = (1, 4, 8)
BLOCK_SIZES = (16, 32, 64, 128, 256)
FREE_SIZES = {"head_dim": HEAD_DIMS, "group_size": GROUP_SIZES, "block_size": BLOCK_SIZES}
"""Sizes that are compiled for several values, where kernels have them compiled in."""

MAIN_SIZES = {"head_dim": 128, "group_size": 4, "block_size": 16}
MAIN_ARCHS = ("sm_80", "sm_90")
NUM_KV_HEADS = 8
NUM_LAYERS = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Instance:
    """A kernel with its types and constants chosen."""

    types: Mapping[str, str]
    sizes: Mapping[str, int]

    @property
    def label(self) -> str:
        """The choices, for a table."""
        return " ".join([*self.types.values(), *(f"{n}={v}" for n, v in self.sizes.items())])

    def source(self, spec: KernelSpec) -> KernelSource:
        """Return what there is to compile."""
        return instantiate(spec, self.types, self.sizes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Build:
    """An instance and an architecture."""

    instance: Instance
    arch: str


def builds(spec: KernelSpec, *, is_full: bool) -> Iterator[Build]:
    """Return what the gate compiles of a kernel.

    Every type for all architectures at the main sizes, and for the main architectures at the
    others; the full product with is_full.
    """
    for instance in instances(spec):
        num_other = sum(instance.sizes.get(name, size) != size for name, size in MAIN_SIZES.items())
        if num_other > 1 and not is_full:
            continue
        for arch in ARCHS if num_other == 0 or is_full else MAIN_ARCHS:
            yield Build(instance=instance, arch=arch)


def instances(spec: KernelSpec) -> Iterator[Instance]:
    """Return every choice of types and free sizes that the kernel takes."""
    compiled_in = _constants_depend_on(spec)
    free = {name: sizes for name, sizes in FREE_SIZES.items() if name in compiled_in}
    for types in type_choices(spec.types):
        for values in product(*free.values()):
            given = dict(zip(free, values, strict=True))
            sizes = _derived(spec, given)
            if sizes is not None:
                yield Instance(types=types, sizes=sizes)


def type_choices(types: Mapping[str, tuple[str, ...]]) -> Iterator[dict[str, str]]:
    """Return the dtypes that occur together: a cache holds its model's dtype, or fp8."""
    for dtypes in product(*types.values()):
        wide = {d for d in dtypes if not d.startswith("float8")}
        if len(wide) == 1 or len(types) == 1:
            yield dict(zip(types, dtypes, strict=True))


def _constants_depend_on(spec: KernelSpec) -> set[str]:
    names = set(spec.constants)
    # symbols in reverse order, for each may use those before it
    for name, text in reversed(list(spec.symbols.items())):
        if name in names:
            names |= expression(text).names
    return names


def _derived(spec: KernelSpec, given: Mapping[str, int]) -> dict[str, int] | None:
    """Return the constants for given sizes, or None where the kernel refuses the sizes."""
    sizes = {**_fixed_sizes(spec, given), **given}
    for name, text in spec.symbols.items():
        if name not in sizes and expression(text).names <= sizes.keys():
            sizes[name] = expression(text).evaluate(sizes)
    for text in spec.requires:
        if expression(text).names <= sizes.keys() and not expression(text).evaluate(sizes):
            return None
    missing = sorted(set(spec.constants) - sizes.keys())
    if missing:
        raise KernelSourceError(
            f"kernel {spec.name!r}: constant {missing[0]!r} is compiled for every value anew, and "
            f"which those are is unknown; take it at run time, or make it a symbol over "
            f"{', '.join((*FREE_SIZES, *_fixed_sizes(spec, given)))}"
        )
    return {name: sizes[name] for name in (*given, *spec.constants)}


def _fixed_sizes(spec: KernelSpec, given: Mapping[str, int]) -> dict[str, int]:
    """Return sizes that a model fixes, of which one value each is compiled."""
    group_size = given.get("group_size", MAIN_SIZES["group_size"])
    sizes = {
        "num_q_heads": NUM_KV_HEADS * group_size,
        "num_kv_heads": NUM_KV_HEADS,
        "num_layers": NUM_LAYERS,
        "rotary_dim": given.get("head_dim", MAIN_SIZES["head_dim"]),
    }
    return {name: size for name, size in sizes.items() if name in spec.sizes}
