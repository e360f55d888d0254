"""A compiled template that renders within a budget."""

from __future__ import annotations

from collections.abc import Mapping
from threading import Lock

from jinja2 import Template
from jinja2.exceptions import SecurityError

from model_zoo.loading.template_budget import ITEM, Budget
from model_zoo.loading.template_code import metered
from model_zoo.loading.template_environment import TemplateEnvironment

MAX_CHARACTERS = 2**17
"""Of a template: compiling takes a second. Those of published models have up to a third."""


class SandboxedTemplate:
    """A template that can change nothing, reach no attribute of Python, and takes bounded work.

    Raises: TemplateError, SyntaxError, RecursionError, and what wrong constants raise.
    """

    def __init__(self, text: str) -> None:
        if len(text) > MAX_CHARACTERS:
            raise SecurityError(f"it has {len(text)} characters, more than {MAX_CHARACTERS}")
        self._budget = Budget()
        # One rendering at a time: others would share its budget, and double the memory.
        self._lock = Lock()
        sandbox = TemplateEnvironment(self._budget)
        code = sandbox.compile(metered(sandbox.parse(text), sandbox))
        self._template = Template.from_code(sandbox, code, sandbox.make_globals(None))

    @property
    def spent(self) -> int:
        """Units of the budget that the last rendering took."""
        return self._budget.spent

    def render(self, given: Mapping[str, object]) -> str:
        """Return the text of a template for some variables.

        Raises: SecurityError past the budget, and what the template raises.
        """
        pieces: list[str] = []
        with self._lock:
            self._budget.renew()
            for piece in self._template.generate(dict(given)):
                self._budget.spend(ITEM + len(piece))
                pieces.append(piece)
            return "".join(pieces)
