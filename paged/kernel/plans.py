"""The plans of a kernel's calls, found by what decides them.

Shapes, strides, dtypes and devices decide nearly all of a call, and so do the integers that a
shape, a symbol, a constant or a grid names. The other numbers are *late*, such as a layer: each
call checks them.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import torch

from paged.errors import KernelSourceError
from paged.kernel.binding import Binding, Number, bind
from paged.kernel.expression import Expression, expression
from paged.kernel.instance import requests
from paged.kernel.number import plain_number, plain_values, shaping_names
from paged.kernel.plan import Plan, ReadyCall, plan_of, ready_call
from paged.kernel.recent import Recent
from paged.kernel.spec import KernelSpec, Scalar

MAX_PLANS = 512

Tensors = Sequence[torch.Tensor | None]
Numbers = Mapping[str, Number | None]


# not frozen: every call makes one
@dataclass(slots=True)
class Given:
    """What a call was given. Its tensors are looked at once, however many specs seek a plan.

    Attributes:
        layout: all of the tensors that may decide a plan; None where one of them is no tensor.

    """

    operands: Tensors
    numbers: Numbers
    layout: tuple[Hashable, ...] | None

    @classmethod
    def of(cls, operands: Tensors, numbers: Numbers) -> Given:
        """Return what a call was given."""
        return cls(operands, numbers, layout_of(operands))


def layout_of(operands: Tensors) -> tuple[Hashable, ...] | None:
    """Return all of the tensors that may decide a plan, None where one of them is no tensor."""
    keeps_grad = torch.is_grad_enabled()
    try:
        return tuple(
            [
                None
                if t is None
                else (
                    type(t),
                    t.dtype,
                    t.shape,
                    t.stride(),
                    t.device,
                    t.is_neg(),
                    keeps_grad and t.requires_grad,
                )
                for t in operands
            ]
        )
    except (AttributeError, RuntimeError):  # no tensors, or none with strides: `bind` says so
        return None


class Plans:
    """The plans of a spec's calls, those used last. Threads may use it at once.

    What a plan cannot serve is left to `bind`, so that it alone refuses: wrong operands, numbers
    out of range, and numbers of unusual types.
    """

    def __init__(self, spec: KernelSpec) -> None:
        self.spec = spec
        shaping = shaping_names(spec)
        given = [s for s in spec.scalars if s.is_given]
        early = [s for s in given if s.is_size and s.name in shaping]
        # sizes first, so that they pair with the first values
        late = sorted((s for s in given if s not in early), key=lambda s: not s.is_size)
        self._known = frozenset(s.name for s in given)
        self._early = tuple(map(plain_number, early))
        self._late = tuple(map(plain_number, late))
        self._late_names = tuple(s.name for s in late)
        self._late_sizes = tuple(s.name for s in late if s.is_size)
        self._late_condition = _condition(spec, late)
        named = self._late_condition.names if self._late_condition else frozenset[str]()
        self._fixed_names = tuple(sorted(named - {*self._late_names}))
        self._named_late = tuple(i for i, name in enumerate(self._late_names) if name in named)
        self._held = Recent[Hashable, bool](MAX_PLANS)
        self._plans = Recent[Hashable, Plan](MAX_PLANS)

    def ready(self, given: Given) -> ReadyCall | None:
        """Return a call like an earlier one, ready to launch; None leaves it to `bind`.

        Allocates the outputs and workspaces.
        """
        found = self._find(given)
        return None if found is None else found[0].ready(given.operands, found[1])

    def add(self, binding: Binding) -> ReadyCall:
        """Return a bound call ready to launch, and keep the plan of calls like it.

        Raises: OperandError where a grid or block is beyond what CUDA allows.
        """
        launches = requests(binding)
        operands = [binding.tensors[operand.name] for operand in self.spec.given]
        key = self._key(layout_of(operands), binding.scalars)
        if key is not None:
            self._plans.put(key, plan_of(binding, launches, self._late_names))
        return ready_call(binding, launches)

    def check(self, given: Given) -> Binding:
        """Return a call's binding without outputs and workspaces, where a plan has it.

        Raises: OperandError as `bind` does.
        """
        found = self._find(given)
        if found is None:
            binding = bind(self.spec, given.operands, given.numbers)
            self.add(binding)
            return binding
        plan, values = found
        tensors: dict[str, torch.Tensor | None] = {o.name: None for o in self.spec.operands}
        named = zip(self.spec.given, given.operands, strict=True)
        return Binding(
            spec=self.spec,
            sizes={**plan.sizes, **self._late_values(values)},
            types=plan.types,
            tensors=tensors | {operand.name: tensor for operand, tensor in named},
            scalars={**plan.scalars, **dict(zip(self._late_names, values, strict=True))},
        )

    def _find(self, given: Given) -> tuple[Plan, list[Number]] | None:
        key = self._key(given.layout, given.numbers)
        plan = None if key is None else self._plans.get(key)
        values = plain_values(self._late, given.numbers)
        if plan is None or values is None or not given.numbers.keys() <= self._known:
            return None
        return (plan, values) if self._holds(plan, values) else None

    def _key(self, layout: tuple[Hashable, ...] | None, numbers: Numbers) -> Hashable | None:
        """Return what decides the plan of a call, None where there can be none."""
        sizes = plain_values(self._early, numbers)
        return None if layout is None or sizes is None else (layout, *sizes)

    def _holds(self, plan: Plan, values: list[Number]) -> bool:
        """Return whether the requirements on late numbers are met."""
        condition = self._late_condition
        if condition is None:
            return True
        sizes = plan.sizes
        fixed = tuple([sizes.get(name) for name in self._fixed_names])
        # layers come round again and again
        key = (fixed, tuple([values[i] for i in self._named_late]))
        held = self._held.get(key)
        if held is None:
            held = _is_met(condition, {**sizes, **self._late_values(values)})
            self._held.put(key, held)
        return held

    def _late_values(self, values: list[Number]) -> dict[str, int]:
        """Return the late numbers that are sizes by name."""
        return dict(zip(self._late_sizes, cast("list[int]", values), strict=False))


def _is_met(condition: Expression, sizes: Mapping[str, int]) -> bool:
    try:
        return bool(condition.evaluate(sizes))
    except KernelSourceError:
        return False


def _condition(spec: KernelSpec, late: Sequence[Scalar]) -> Expression | None:
    """Return all requirements that name late numbers as one, None where there are none."""
    names = {scalar.name for scalar in late}
    texts = [text for text in spec.requires if expression(text).names & names]
    return expression(" and ".join(f"({text})" for text in texts)) if texts else None
