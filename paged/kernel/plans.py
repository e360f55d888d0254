"""The plans of a kernel's calls, found by what decides them.

Shapes, strides, dtypes and devices decide nearly all of a call, and so do the integers that a
shape, a symbol, a constant or a grid names. The other numbers are *late*, such as a layer: each
call checks them.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
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
        self._fixed_names = named - {*self._late_names}
        self._plans = Recent[Hashable, Plan](MAX_PLANS)

    def ready(self, operands: Tensors, numbers: Numbers) -> ReadyCall | None:
        """Return a call like an earlier one, ready to launch; None leaves it to `bind`.

        Allocates the outputs and workspaces.
        """
        found = self._find(operands, numbers)
        return None if found is None else found[0].ready(operands, found[1])

    def add(self, binding: Binding) -> ReadyCall:
        """Return a bound call ready to launch, and keep the plan of calls like it.

        Raises: OperandError where a grid or block is beyond what CUDA allows.
        """
        launches = requests(binding)
        operands = [binding.tensors[operand.name] for operand in self.spec.given]
        key = self._key(operands, binding.scalars)
        if key is not None:
            self._plans.put(key, plan_of(binding, launches, self._late_names))
        return ready_call(binding, launches)

    def check(self, operands: Tensors, numbers: Numbers) -> Binding:
        """Return a call's binding without outputs and workspaces, where a plan has it.

        Raises: OperandError as `bind` does.
        """
        found = self._find(operands, numbers)
        if found is None:
            binding = bind(self.spec, operands, numbers)
            self.add(binding)
            return binding
        plan, values = found
        tensors: dict[str, torch.Tensor | None] = {o.name: None for o in self.spec.operands}
        given = zip(self.spec.given, operands, strict=True)
        return Binding(
            spec=self.spec,
            sizes={**plan.sizes, **self._late_values(values)},
            types=plan.types,
            tensors=tensors | {operand.name: tensor for operand, tensor in given},
            scalars={**plan.scalars, **dict(zip(self._late_names, values, strict=True))},
        )

    def _find(self, operands: Tensors, numbers: Numbers) -> tuple[Plan, list[Number]] | None:
        key = self._key(operands, numbers)
        plan = None if key is None else self._plans.get(key)
        values = plain_values(self._late, numbers)
        if plan is None or values is None or not numbers.keys() <= self._known:
            return None
        return (plan, values) if self._holds(plan, values) else None

    def _key(self, operands: Tensors, numbers: Numbers) -> Hashable | None:
        """Return what decides the plan of a call, None where there can be none."""
        sizes = plain_values(self._early, numbers)
        if sizes is None:
            return None
        keeps_grad = torch.is_grad_enabled()
        try:
            tensors = [
                None
                if t is None
                else (
                    t.dtype,
                    t.shape,
                    t.stride(),
                    t.device,
                    t.is_neg(),
                    keeps_grad and t.requires_grad,
                )
                for t in operands
            ]
        except AttributeError:  # no tensors: `bind` says so
            return None
        return (*tensors, *sizes)

    def _holds(self, plan: Plan, values: list[Number]) -> bool:
        """Return whether the requirements on late numbers are met."""
        if self._late_condition is None:
            return True
        named = {name: plan.sizes[name] for name in self._fixed_names if name in plan.sizes}
        sizes = named | self._late_values(values)
        try:
            return bool(self._late_condition.evaluate(sizes))
        except KernelSourceError:
            return False

    def _late_values(self, values: list[Number]) -> dict[str, int]:
        """Return the late numbers that are sizes by name."""
        return dict(zip(self._late_sizes, cast("list[int]", values), strict=False))


def _condition(spec: KernelSpec, late: Sequence[Scalar]) -> Expression | None:
    """Return all requirements that name late numbers as one, None where there are none."""
    names = {scalar.name for scalar in late}
    texts = [text for text in spec.requires if expression(text).names & names]
    return expression(" and ".join(f"({text})" for text in texts)) if texts else None
