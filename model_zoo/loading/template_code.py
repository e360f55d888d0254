"""A parsed chat template, changed so that it pays for what it does as it runs.

Jinja's environment is told of calls, look-ups and operators; what it is not told of passes a filter
here. Each turn of a loop and each call of a macro pays for the nodes of its body.
"""

from __future__ import annotations

from typing import TypeVar, cast

from jinja2 import nodes
from jinja2.environment import Environment
from jinja2.exceptions import SecurityError
from jinja2.visitor import NodeTransformer

from model_zoo.loading.template_budget import STEP

# No names that a template can write.
PAY = "%pay"
WEIGH = "%weigh"
TEXT = "%text"
MADE = "%made"
NEEDLE = "%needle"
HAYSTACK = "%haystack"

_FREE_CHARACTERS = 64
_MEMBERSHIP = ("in", "notin")
_BODIES = (nodes.For, nodes.Macro, nodes.CallBlock, nodes.Block)

NodeT = TypeVar("NodeT", bound=nodes.Node)
BodyT = TypeVar("BodyT", nodes.For, nodes.Macro, nodes.CallBlock, nodes.Block)


def metered(tree: nodes.Template, environment: Environment) -> nodes.Template:
    """Return the template with its payments. Mutates: tree.

    Raises: SecurityError for what makes more than was paid: autoescape, and * before arguments.
    """
    if next(tree.find_all(nodes.EvalContextModifier), None) is not None:
        raise SecurityError("it switches autoescape, which no prompt needs")
    for call in tree.find_all((nodes.Call, nodes.Filter, nodes.Test)):
        if call.dyn_args is not None or call.dyn_kwargs is not None:
            raise SecurityError("it spreads a list over arguments with *, which is not paid")
    changed = cast("nodes.Template", _Meter().visit(tree))
    return cast("nodes.Template", changed.set_environment(environment))


class _Meter(NodeTransformer):
    def visit_Concat(self, node: nodes.Concat) -> nodes.Concat:
        node = self._inner(node)
        node.nodes = [_passed(each, TEXT) for each in node.nodes]
        return node

    def visit_Compare(self, node: nodes.Compare) -> nodes.Compare:
        node = self._inner(node)
        operators = [each.op for each in node.ops]
        node.expr = _passed(node.expr, _weight(None, operators[0]))
        for operand, following in zip(node.ops, [*operators[1:], None], strict=True):
            operand.expr = _passed(operand.expr, _weight(operand.op, following))
        return node

    def visit_Dict(self, node: nodes.Dict) -> nodes.Dict:
        node = self._inner(node)
        for pair in node.items:
            pair.key = _passed(pair.key, WEIGH)
        return node

    def visit_Getitem(self, node: nodes.Getitem) -> nodes.Expr:
        node = self._inner(node)
        return _passed(node, MADE) if isinstance(node.arg, nodes.Slice) else node

    def visit_For(self, node: nodes.For) -> nodes.For:
        if node.test is None:
            return self._paid(node)
        node = self._inner(node)
        # It runs for the items that it leaves out, too.
        test = cast("nodes.Expr", node.test)
        payment = _payment(node, _num_nodes(*node.body, test))
        node.test = nodes.And(payment, test, lineno=node.lineno)
        return node

    def visit_Macro(self, node: nodes.Macro) -> nodes.Macro:
        return self._paid(node)

    def visit_CallBlock(self, node: nodes.CallBlock) -> nodes.CallBlock:
        return self._paid(node)

    def visit_Block(self, node: nodes.Block) -> nodes.Block:
        return self._paid(node)

    def _paid(self, node: BodyT) -> BodyT:
        self.generic_visit(node)
        defaults = node.defaults if isinstance(node, nodes.Macro | nodes.CallBlock) else []
        payment = _payment(node, _num_nodes(*node.body, *defaults))
        node.body.insert(0, nodes.ExprStmt(payment, lineno=node.lineno))
        return node

    def _inner(self, node: NodeT) -> NodeT:
        self.generic_visit(node)
        return node


def _passed(value: nodes.Expr, name: str) -> nodes.Expr:
    """Return an expression that passes a value through a filter; small constants go free."""
    if isinstance(value, nodes.Const) and not _is_long(value.value):
        return value
    return nodes.Filter(value, name, [], [], None, None, lineno=value.lineno)


def _is_long(constant: object) -> bool:
    return isinstance(constant, str) and len(constant) > _FREE_CHARACTERS


def _weight(before: str | None, after: str | None) -> str:
    """Return the filter of an operand between two operators."""
    if after in _MEMBERSHIP:
        return NEEDLE
    return HAYSTACK if before in _MEMBERSHIP else WEIGH


def _payment(node: nodes.Node, num_nodes: int) -> nodes.Filter:
    units = nodes.Const(STEP * (1 + num_nodes), lineno=node.lineno)
    return nodes.Filter(units, PAY, [], [], None, None, lineno=node.lineno)


def _num_nodes(*several: nodes.Node) -> int:
    """Count nodes that run once each; bodies in them pay for themselves."""
    total = len(several)
    for node in several:
        skipped = ("body", "test") if isinstance(node, _BODIES) else None
        total += _num_nodes(*node.iter_child_nodes(exclude=skipped))
    return total
