"""Operations with a host kernel, `paged_host_<name>` in `kernels_cu/host/`.

The kernel gets the operation's struct (`host_records.h`), the element types of its type variables
in the spec's order, and the number of threads.
"""

from __future__ import annotations

import ctypes
from ctypes import c_int
from dataclasses import replace
from functools import lru_cache

from paged.errors import OperandError
from paged.kernel.backends.host import Host
from paged.kernel.backends.host_program import HostCall, kernel_function
from paged.kernel.backends.host_records import ELEMENT_CODES
from paged.kernel.binding import Outputs, returned
from paged.kernel.call import ready_call_of
from paged.kernel.memory import check_writable
from paged.kernel.op import Op
from paged.kernel.plan import Build, ReadyCall
from paged.kernel.plans import Given
from paged.kernel.spec import KernelSpec, Launch

HOST_OPS = (
    "attention",
    "write_kv",
    "rope_write_kv",
    "copy_blocks",
    "swap_blocks",
    "gather_kv",
)
"""Names of the operations that have one."""


def run_host_op(op: Op, given: Given, host: Host) -> Outputs:
    """Serve a call of an operation with its host kernel.

    Mutates: inout operands.
    Raises: OperandError before anything runs.
    """
    call = ready_call_of(_spec(op), given)
    check_writable(op.signature, given.operands)
    _run(call, op, host)
    return returned(call.outputs)


def _run(call: ReadyCall, op: Op, host: Host) -> None:
    function = _function(host, op.name)
    for launch in call.launches:
        if launch.device is not None and launch.device.type != "cpu":
            raise OperandError(
                f"{op.name}: the host backend runs on CPU tensors, got {launch.device}"
            )
        record = launch.arguments[0]
        HostCall(host, function, record.ctypes.data, _type_codes(call.build), record).run()


@lru_cache(maxsize=64)
def _spec(op: Op) -> KernelSpec:
    """Return the operation as a spec with one launch, which is the call of the function."""
    return replace(op.signature, launches=(Launch(entry=op.name, grid=1, block=1),))


_function = lru_cache(maxsize=256)(kernel_function)


@lru_cache(maxsize=256)
def _type_codes(build: Build) -> ctypes.Array[c_int]:
    codes = [ELEMENT_CODES[name] for _, name in build[0]]
    return (c_int * len(codes))(*codes)
