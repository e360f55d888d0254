"""List the experiments: `python -m experiments`."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path


def experiments() -> Iterator[tuple[str, str]]:
    """Name every runnable module of this folder, with its first line."""
    for path in sorted(Path(__file__).parent.glob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        defined = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
        text = ast.get_docstring(tree)
        if "main" in defined and path.stem != "__main__" and text is not None:
            yield path.stem, text.splitlines()[0]


def main() -> int:
    """Print one line for each experiment."""
    for name, text in experiments():
        print(f"python -m experiments.{name:<16}{text}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
