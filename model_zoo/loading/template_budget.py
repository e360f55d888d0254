"""What the rendering of a chat template may spend: one budget, of characters and of steps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MappingView
from itertools import chain
from typing import cast

from jinja2.exceptions import SecurityError

UNITS = 2**26
"""Units of one rendering. One stands for a character made or read: four bytes, a nanosecond."""
STEP = 16
"""Units of a node of the template: what the interpreter does in tens of nanoseconds."""
CALL = 20 * STEP
ITEM = 2
"""Units of a reference in a list."""
OBJECT = 24
"""Units of an object, as a short text or a number is, or its text."""
VISIT = 4 * STEP
"""Units of an item of a list that Python, not C, looks at."""
MAX_DEPTH = 200
"""Of lists in lists: what walks over them uses the stack."""

# repr writes a character as \U0001f600.
_ESCAPED_CHARACTERS = 10
_NEEDLE_CHARACTERS = 64


class Budget:
    """Counts down what a rendering spends. Raises SecurityError where nothing is left."""

    def __init__(self) -> None:
        self.renew()

    def renew(self) -> None:
        """Begin a rendering."""
        self._left = UNITS

    @property
    def spent(self) -> int:
        """Units since the rendering began."""
        return UNITS - self._left

    def spend(self, units: int) -> bool:
        """Take units off. Returns True, so that a condition can pay before it is asked."""
        self._left -= units
        if self._left < 0:
            raise SecurityError(
                f"it takes more work than making {UNITS} characters; send less, or name another"
                " template with --chat-template"
            )
        return True

    def weigh(
        self, value: object, *, per_character: int = 1, per_item: int = VISIT, per_level: int = 0
    ) -> None:
        """Pay for a walk over all that a value holds, as comparing and hashing it are.

        A list that is in a value many times is walked as often, as they do.
        per_item: no less than VISIT, for the walk here. per_level: by how deep the item lies.
        """
        if isinstance(value, str):
            self.spend(ITEM + per_character * len(value))
            return
        walks: list[Iterator[object]] = [iter((value,))]
        while walks:
            for each in walks[-1]:
                inside = _inside(each)
                size = 0 if inside is not None else per_character * _num_characters(each)
                self.spend(per_item + per_level * len(walks) + size)
                if inside is not None:
                    walks.append(inside)
                    break
            else:
                walks.pop()
            if len(walks) - 1 > MAX_DEPTH:
                raise SecurityError(f"it nests lists more than {MAX_DEPTH} deep")

    def text(self, value: object) -> None:
        """Pay for the text of a value."""
        if isinstance(value, str):
            self.spend(len(value))
        else:
            self.weigh(value, per_character=_ESCAPED_CHARACTERS)

    def search(self, text: str, needle: object) -> None:
        """Pay for a search in a text, which may compare the needle at many places of it."""
        length = len(needle) if isinstance(needle, str) else 0
        self.spend(2 * len(text) + len(text) * length // _NEEDLE_CHARACTERS)

    def needle(self, value: object) -> None:
        """Pay for what is looked for with `in`, as `search` does: only short texts cost more."""
        self.weigh(value, per_character=_NEEDLE_CHARACTERS)


def _inside(value: object) -> Iterator[object] | None:
    """Return what a value holds; None of one that holds nothing, or does not show it."""
    if isinstance(value, Mapping):
        held = cast("Mapping[object, object]", value)
        return chain(held.keys(), held.values())
    if isinstance(value, list | tuple | MappingView):
        return iter(cast("list[object]", value))
    return None


def _num_characters(value: object) -> int:
    if isinstance(value, int):
        return value.bit_length()
    return len(value) if isinstance(value, str | range) else 0
