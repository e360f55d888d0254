"""JSON schemas drawn at random, of few keywords, and a validator of those keywords."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st


@st.composite
def schemas(draw: st.DrawFn, depth: int = 2) -> dict[str, Any]:
    """Draw a schema whose values are short."""
    kinds = ["integer", "string", "enum", "boolean"]
    kind = draw(st.sampled_from([*kinds, "array", "object"] if depth else kinds))
    if kind == "integer":
        least = draw(st.integers(-50, 50))
        return {"type": kind, "minimum": least, "maximum": least + draw(st.integers(0, 200))}
    if kind == "string":
        return {"type": kind, "maxLength": draw(st.integers(0, 5))}
    if kind == "enum":
        values = st.one_of(st.text('ab"\\é', max_size=3), st.integers(-9, 9), st.none())
        return {"enum": draw(st.lists(values, min_size=1, max_size=3, unique=True))}
    if kind == "array":
        items = draw(schemas(depth=depth - 1))
        return {"type": kind, "items": items, "maxItems": draw(st.integers(0, 3))}
    if kind == "object":
        names = draw(st.lists(st.sampled_from(["a", "b", "é"]), max_size=3, unique=True))
        return {
            "type": kind,
            "properties": {name: draw(schemas(depth=depth - 1)) for name in names},
            "required": [name for name in names if draw(st.booleans())],
            "additionalProperties": False,
        }
    return {"type": kind}


def is_valid(value: Any, schema: dict[str, Any]) -> bool:
    """Say whether a value is one that such a schema describes."""
    if "enum" in schema:
        return any(type(value) is type(each) and value == each for each in schema["enum"])
    kind = schema["type"]
    if kind == "integer":
        return type(value) is int and schema["minimum"] <= value <= schema["maximum"]
    if kind == "string":
        return isinstance(value, str) and len(value) <= schema["maxLength"]
    if kind == "boolean":
        return isinstance(value, bool)
    if kind == "array":
        return (
            isinstance(value, list)
            and len(value) <= schema["maxItems"]
            and all(is_valid(each, schema["items"]) for each in value)
        )
    return (
        isinstance(value, dict)
        and set(schema["required"]) <= set(value) <= set(schema["properties"])
        and all(is_valid(each, schema["properties"][name]) for name, each in value.items())
    )
