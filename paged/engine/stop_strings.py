"""Strings that end a text, found while it streams.

All are looked for at once, one transition for each character, however many there are and
however they overlap. The match is the one that ends first; of several that end together
it is the longest.

Source: the automaton of Aho and Corasick, "Efficient string matching", CACM 18 (1975).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(slots=True, eq=False)
class _Node:
    """A prefix of some stop strings: the longest that the text so far ends with.

    depth: its length in characters. fallback: the longest shorter one that it ends with.
    match: the longest stop string that it ends with.
    """

    depth: int
    children: dict[str, _Node] = field(default_factory=dict[str, "_Node"])
    fallback: _Node | None = None
    match: str | None = None

    def next(self, character: str) -> _Node:
        """Return the node after one more character. Amortized O(1) over a text."""
        node = self
        while character not in node.children:
            if node.fallback is None:
                return node
            node = node.fallback
        return node.children[character]


class StopStrings:
    """What any number of texts are searched for. Built once for a request, never changed."""

    def __init__(self, stops: Sequence[str]) -> None:
        self.root = _Node(0)
        for stop in stops:
            node = self.root
            for character in stop:
                node = node.children.setdefault(character, _Node(node.depth + 1))
            node.match = stop
        self._link()

    def _link(self) -> None:
        """Set fallbacks and inherited matches, nearer nodes first."""
        queue = deque(self.root.children.values())
        for node in queue:
            node.fallback = self.root
        while queue:
            node = queue.popleft()
            for character, child in node.children.items():
                # careful: only the root has no fallback, and it is not in the queue.
                fallback = node.fallback or self.root
                child.fallback = fallback.next(character)
                child.match = child.match or child.fallback.match
                queue.append(child)


class StopStream:
    """One text on its way through the search.

    Holds back only what may turn out to be the start of a stop string.
    matched: the stop string that ended the text, None while it goes on.
    """

    def __init__(self, stops: StopStrings, *, include_match: bool = False) -> None:
        self.matched: str | None = None
        self._root = stops.root
        self._node = stops.root
        self._held = ""
        self._include_match = include_match

    def push(self, text: str) -> str:
        """Take more text and return what is certain to belong to the output.

        Nothing comes out after a match, whatever is pushed. O(characters).
        """
        if self.matched is not None:
            return ""
        node = self._node
        for place, character in enumerate(text):
            node = node.next(character)
            if node.match is not None:
                return self._end(self._held + text[: place + 1], node.match)
        self._node = node
        text = self._held + text
        num_certain = len(text) - node.depth
        self._held = text[num_certain:]
        return text[:num_certain]

    def _end(self, text: str, match: str) -> str:
        self.matched = match
        self._held = ""
        return text if self._include_match else text[: len(text) - len(match)]

    def release(self) -> str:
        """Return what was held back: no stop string begins there, the search starts anew."""
        text, self._held = self._held, ""
        self._node = self._root
        return text
