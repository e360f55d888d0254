"""Raw CUDA kernels as torch operators: specified once, run on a GPU or in an interpreter."""

from paged.kernel.backends.interpret import InterpretConfig
from paged.kernel.call import kernel_call
from paged.kernel.choice import use_kernel
from paged.kernel.operator import kernel_op, op_call
from paged.kernel.spec import KernelSpec, Launch, Operand, Scalar
from paged.kernel.work import Cost

__all__ = [
    "Cost",
    "InterpretConfig",
    "KernelSpec",
    "Launch",
    "Operand",
    "Scalar",
    "kernel_call",
    "kernel_op",
    "op_call",
    "use_kernel",
]
