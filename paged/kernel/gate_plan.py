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
MAIN_HEAD_DIM = 128
MAIN_ARCHS = ("sm_80", "sm_90")
GROUP_SIZES = (1, 4, 8)
MAIN_GROUP_SIZE = 4


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
        main = {"head_dim": MAIN_HEAD_DIM, "group_size": MAIN_GROUP_SIZE}
        is_main = all(instance.sizes.get(name, size) == size for name, size in main.items())
        num_other = sum(instance.sizes.get(name, size) != size for name, size in main.items())
        if num_other > 1 and not is_full:
            continue
        for arch in ARCHS if is_main or is_full else MAIN_ARCHS:
            yield Build(instance=instance, arch=arch)


def instances(spec: KernelSpec) -> Iterator[Instance]:
    """Return every choice of types, head dimension and group size that the kernel takes."""
    free = {
        name: sizes
        for name, sizes in (("head_dim", HEAD_DIMS), ("group_size", GROUP_SIZES))
        if name in _constants_depend_on(spec)
    }
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
    sizes = dict(given)
    for name, text in spec.symbols.items():
        if name not in sizes and expression(text).names <= sizes.keys():
            sizes[name] = expression(text).evaluate(sizes)
    for text in spec.requires:
        if expression(text).names <= sizes.keys() and not expression(text).evaluate(sizes):
            return None
    missing = sorted(set(spec.constants) - sizes.keys())
    if missing:
        raise KernelSourceError(
            f"kernel {spec.name!r}: the gate knows no values for constant {missing[0]!r}; make it "
            f"a symbol over head_dim and group_size, or pass it at run time"
        )
    return {name: sizes[name] for name in (*given, *spec.constants)}
