"""Work on a CPU that is recorded once and run again by few calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from paged.engine.graph_capture import Work
from paged.engine.scratch_arena import ScratchArena, is_dense
from paged.kernel.backends.host_layers import HostLayers, find_layers
from paged.kernel.backends.host_program import HostProgram, recording
from paged.kernel.choice import current_choices

_ATEN = torch.ops.aten
_NEW = {_ATEN.empty.memory_format, _ATEN.empty_strided.default, _ATEN.empty_like.default}


class HostCapture:
    """Records host kernels, and what torch computes between them.

    All recordings share an arena: nothing that the work allocates may be read once it has run.
    Work that a recording cannot repeat, such as a kernel that is interpreted, runs as it is each
    time.
    """

    computes = True

    def __init__(self) -> None:
        self._arena = ScratchArena()

    def __call__(self, work: Work) -> Callable[[], object]:
        """Run work once, recording it, and return what runs it again.

        Raises: what the work raises.
        """
        layers = find_layers(current_choices().host)
        if layers is None:
            work()
            return work
        with recording() as program, _Recorder(program, self._arena, layers):
            work()
        if program.fault is not None:
            return work
        return partial(_replay, program.runner(), self._arena)


class _Recorder(TorchDispatchMode):
    """Sees all that torch does: gives results memory that stays, and records what computes."""

    def __init__(self, program: HostProgram, arena: ScratchArena, layers: HostLayers) -> None:
        super().__init__()  # pyright: ignore[reportUnknownMemberType]
        self._program = program
        self._arena = arena
        self._layers = layers

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Leave torch._dynamo out, which takes seconds to import: nothing compiles this."""
        return False

    def __torch_dispatch__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        kwargs = kwargs or {}
        if func is _ATEN.copy_.default and _is_plain_copy(*args[:2]):
            self._layers.copy(args[1], args[0])
            return args[0]
        result = func(*args, **kwargs)
        if func in _NEW:
            return self._kept(result)
        if func._schema.is_mutable:
            self._program.add(partial(func, *args, **kwargs))
            return result
        results = _results(result)
        if not all(map(_is_on_cpu, results)):
            self._program.spoil(str(func))
        elif not _share_memory(results, args):
            if torch.Tag.dynamic_output_shape in func.tags or not all(map(is_dense, results)):
                self._program.spoil(str(func))
            kept = [self._with_result(each) for each in results]
            self._program.add(partial(_repeat, func, args, kwargs, kept))
            return kept[0] if isinstance(result, torch.Tensor) else type(result)(kept)
        return result

    def _with_result(self, result: torch.Tensor) -> torch.Tensor:
        kept = self._kept(result)
        return kept if kept is result else kept.copy_(result)

    def _kept(self, tensor: torch.Tensor) -> torch.Tensor:
        return self._arena.like(tensor) if _is_on_cpu(tensor) and is_dense(tensor) else tensor


def _replay(run: Work, _arena: ScratchArena) -> None:
    """Run a program, for which the memory of its results must live."""
    run()


def _repeat(func: Any, args: Any, kwargs: Any, kept: list[torch.Tensor]) -> None:
    for target, source in zip(kept, _results(func(*args, **kwargs)), strict=True):
        target.copy_(source)


def _results(result: Any) -> list[Any]:
    return [*result] if isinstance(result, list | tuple) else [result]  # pyright: ignore[reportUnknownVariableType]


def _is_on_cpu(value: object) -> bool:
    return isinstance(value, torch.Tensor) and value.is_cpu


def _is_plain_copy(target: torch.Tensor, source: torch.Tensor) -> bool:
    return (
        target.dtype is source.dtype
        and target.shape == source.shape
        and all(each.is_cpu and each.is_contiguous() for each in (target, source))
    )


def _share_memory(results: list[Any], args: tuple[Any, ...]) -> bool:
    """Say whether all results are views of operands."""
    owned = {_storage(arg) for arg in args if isinstance(arg, torch.Tensor)}
    return all(_storage(result) in owned for result in results)


def _storage(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage().data_ptr()
