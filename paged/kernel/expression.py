"""Sizes as text: `cdiv(num_tokens, 4)` in a grid, a shape or a requirement.

Text, and not a Python function, so that an error, a documentation page and a kernel file can
all show it.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from types import CodeType
from typing import Any

from paged.errors import KernelSourceError

_ALLOWED = (
    ast.Expression, ast.Name, ast.Load, ast.Constant, ast.Call,
    ast.BinOp, ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod,
    ast.UnaryOp, ast.USub, ast.Not, ast.BoolOp, ast.And, ast.Or,
    ast.Compare, ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE,
)  # fmt: skip


def cdiv(dividend: int, divisor: int) -> int:
    """Divide and round up."""
    return -(-dividend // divisor)


def next_pow2(value: int) -> int:
    """Return the least power of two that is at least value, and 1 for value < 1."""
    # careful: a size that a trace leaves open has no bits, and is pinned here
    return 1 << max(0, int(value) - 1).bit_length()


FUNCTIONS: Mapping[str, Callable[..., int]] = {
    "cdiv": cdiv,
    "max": max,
    "min": min,
    "next_pow2": next_pow2,
}


_GLOBALS: dict[str, Any] = {"__builtins__": {}, **FUNCTIONS}


@dataclass(frozen=True)
class Expression:
    """Integer arithmetic over named sizes.

    Operators `+ - * // %`, comparisons, `and or not`, and the functions above. Values
    have 64 bits: symbols that multiply one another would soon take all time and memory.

    Raises: KernelSourceError where the text is anything else.
    """

    text: str

    def __post_init__(self) -> None:
        tree = self._tree
        functions = {id(n.func) for n in ast.walk(tree) if isinstance(n, ast.Call)}
        for node in ast.walk(tree):
            if not isinstance(node, _ALLOWED) or not self._is_allowed(node, functions):
                part = ast.get_source_segment(self.text, node) or self.text
                raise KernelSourceError(
                    f"expected integers, sizes, + - * // %, comparisons and "
                    f"{', '.join(FUNCTIONS)}() in {self.text!r}, got {part!r}"
                )

    def _is_allowed(self, node: ast.AST, functions: set[int]) -> bool:
        match node:
            case ast.Constant(value=value):
                return type(value) is int
            case ast.Call(func=ast.Name(id=name), keywords=[]):
                return name in FUNCTIONS
            case ast.Call():
                return False
            case ast.Name(id=name):
                return (name in FUNCTIONS) == (id(node) in functions)
            case _:
                return True

    @cached_property
    def _tree(self) -> ast.Expression:
        try:
            return ast.parse(self.text.strip(), mode="eval")
        except SyntaxError as error:
            raise KernelSourceError(f"{self.text!r} is no expression: {error.msg}") from error
        except RecursionError as error:
            raise self._too_deep() from error

    @cached_property
    def _code(self) -> CodeType:
        try:
            return compile(self._tree, "<size>", "eval")
        except RecursionError as error:
            raise self._too_deep() from error

    def _too_deep(self) -> KernelSourceError:
        return KernelSourceError(
            f"'{self.text:.40}...' nests too deeply, or has too many terms; name parts of it by"
            f" lines '// paged: symbol'"
        )

    @cached_property
    def names(self) -> frozenset[str]:
        """Sizes the value depends on."""
        nodes = (n for n in ast.walk(self._tree) if isinstance(n, ast.Name))
        return frozenset(n.id for n in nodes) - FUNCTIONS.keys()

    @property
    def is_name(self) -> bool:
        """Whether the text is one size and nothing else."""
        return isinstance(self._tree.body, ast.Name)

    def evaluate(self, sizes: Mapping[str, int]) -> int:
        """Return the value; comparisons give 0 or 1.

        Sizes that a trace leaves open (`torch.SymInt`) give such a value.

        Raises: KernelSourceError where a size is unknown, a divisor is zero, a function is given
            too few or too many arguments, or the value takes more than 64 bits.
        """
        try:
            # safe: __post_init__ let only arithmetic over names pass
            value = eval(self._code, _GLOBALS, sizes)
        except NameError as error:
            known = ", ".join(sorted(sizes))
            raise KernelSourceError(f"{self.text!r}: {error}; known sizes: {known}") from error
        except ZeroDivisionError as error:
            raise KernelSourceError(f"{self.text!r} divides by zero") from error
        except TypeError as error:
            raise KernelSourceError(f"{self.text!r}: {error}") from error
        # careful: a size that a trace leaves open has no such bound, and is pinned by a comparison
        if isinstance(value, int) and value.bit_length() >= 64:
            raise KernelSourceError(f"'{self.text:.40}' takes more than 64 bits")
        return int(value) if isinstance(value, bool) else value


@lru_cache(maxsize=4096)
def expression(text: str) -> Expression:
    """Return the expression of a text, parsed once: calls of kernels evaluate it again and again.

    Raises: KernelSourceError as `Expression` does.
    """
    return Expression(text)
