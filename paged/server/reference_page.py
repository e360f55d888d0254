"""The endpoints, as their OpenAPI schema has them, for the page `docs/serve_reference.md`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from fastapi import FastAPI

from paged.kernel.page import table
from paged.server.app import add_routes
from paged.server.protocol.chat import ChatRequest
from paged.server.protocol.completion import CompletionRequest
from paged.server.protocol.sampling import NOTHING

Schema = Mapping[str, Any]
Row = tuple[str, ...]

_REF = "#/components/schemas/"
# Keywords for the least and the most of something, and what it is.
_BOUNDS = (
    ("minimum", "maximum", ""),
    ("minLength", "maxLength", " characters"),
    ("minItems", "maxItems", " items"),
    ("minProperties", "maxProperties", " items"),
)
_KINDS = (CompletionRequest, ChatRequest)


def openapi_schema() -> dict[str, Any]:
    """Return the OpenAPI schema of the server, for which it need not run."""
    app = FastAPI(title="paged")
    add_routes(app)
    return app.openapi()


def endpoint_sections() -> Iterator[str]:
    """Yield the parts of a page in Markdown: endpoints, bodies, and what is refused."""
    document = openapi_schema()
    yield "## Endpoints\n"
    rows = [
        (f"`{method.upper()} {path}`", _body_link(operation), operation["description"])
        for path, item in document["paths"].items()
        for method, operation in item.items()
    ]
    yield table(("endpoint", "body", "what it does"), map(_escaped, rows))
    schemas: dict[str, Schema] = document["components"]["schemas"]
    completion, chat = (_rows(schemas[kind.__name__]) for kind in _KINDS)
    both = [row for row in completion if row in chat]
    yield "### CompletionRequest and ChatRequest\n"
    yield "What both have.\n"
    yield _fields(both)
    for name, schema in schemas.items():
        yield f"### {name}\n"
        yield f"{schema['description']}\n"
        yield _fields([row for row in _rows(schema) if row not in both or name not in _names()])
    yield from _refused()


def _names() -> set[str]:
    return {kind.__name__ for kind in _KINDS}


def _fields(rows: Iterable[Row]) -> str:
    return table(("field", "type", "range", "default", "meaning"), map(_escaped, rows))


def _rows(schema: Schema) -> list[Row]:
    return [_field(schema, name, field) for name, field in schema["properties"].items()]


def _refused() -> Iterator[str]:
    yield "### Known and refused\n"
    yield (
        "A field that nobody knows is passed over. One of these is refused with the status 400, "
        "unless it has a value that is given here, is null, or is empty.\n"
    )
    for kind in _KINDS:
        names = (_accepted(name, values) for name, values in sorted(kind.unsupported.items()))
        yield f"{kind.__name__}: {', '.join(names)}.\n"


def _accepted(name: str, values: Iterable[object]) -> str:
    """Name a field that is refused, with what of it is not."""
    shown = [f"`{json.dumps(value)}`" for value in values if value not in NOTHING]
    return f"`{name}`" + (f" ({' or '.join(shown)})" if shown else "")


def _body_link(operation: Schema) -> str:
    if "requestBody" not in operation:
        return ""
    (content,) = operation["requestBody"]["content"].values()
    return f"`{content['schema']['$ref'].removeprefix(_REF)}`"


def _field(body: Schema, name: str, field: Schema) -> Row:
    default = json.dumps(field.get("default"))
    shown = "required" if name in body.get("required", ()) else f"`{default}`"
    alternatives = [each for each in field.get("anyOf", [field]) if each.get("type") != "null"]
    types = dict.fromkeys(_type(each) for each in alternatives)
    ranges = dict.fromkeys(each for part in alternatives for each in _ranges(part))
    return f"`{name}`", " or ".join(types), ", ".join(ranges), shown, field["description"]


def _type(field: Schema) -> str:
    """Name a type as JSON has it."""
    if "$ref" in field:
        return f"`{field['$ref'].removeprefix(_REF)}`"
    constants = field.get("enum", [field["const"]] if "const" in field else [])
    if constants:
        return " or ".join(f"`{json.dumps(each)}`" for each in constants)
    kind: str = field.get("type", "any")
    return f"list of {_type(field.get('items', {}))}" if kind == "array" else kind


def _ranges(field: Schema) -> Iterator[str]:
    """Yield in words what a field may hold."""
    if "format" in field:
        yield field["format"]
    above = field.get("exclusiveMinimum")
    for least_key, most_key, unit in _BOUNDS:
        least, most = _number(field.get(least_key)), _number(field.get(most_key))
        if above is not None and most is not None:
            least = f"above {_number(above)}"
        if least is not None and most is not None:
            yield f"{least} to {most}{unit}"
        elif least is not None:
            yield f"{least} or more{unit}"
        elif most is not None:
            yield f"at most {most}{unit}"


def _number(value: float | None) -> str | None:
    if value is None:
        return None
    return f"{int(value):,}" if value == int(value) else f"{value:g}"


def _escaped(row: Row) -> list[str]:
    return [cell.replace("|", r"\|").replace("\n", " ") for cell in row]
