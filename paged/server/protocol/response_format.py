"""The fields by which clients say what an output must look like, OpenAI's and vLLM's."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from paged.grammar import Grammar, GrammarKind
from paged.server.protocol.error import ApiError
from paged.server.protocol.field_notes import describe

Schema = dict[str, Any]
# They change what vLLM's own backends do, and here say what happens anyway where they are off.
_OPTIONS = ("disable_fallback", "disable_any_whitespace", "disable_additional_properties")


class JsonSchemaFormat(BaseModel):
    """A schema as OpenAI's clients send it; `strict` is always so."""

    model_config = ConfigDict(strict=True, extra="allow", json_schema_extra=describe)

    name: str | None = None
    json_schema: Schema | None = Field(default=None, alias="schema")


class ResponseFormat(BaseModel):
    """What the answer must be. llama.cpp's clients put a schema beside `json_object`."""

    model_config = ConfigDict(strict=True, extra="allow", json_schema_extra=describe)

    type: Literal["text", "json_object", "json_schema"]
    json_schema: JsonSchemaFormat | None = None
    object_schema: Schema | None = Field(default=None, alias="schema")

    def grammar(self) -> Grammar | None:
        """Return what is asked for. Raises: ConfigError, ApiError."""
        if self.type == "text":
            return None
        if self.type == "json_object":
            return Grammar.json_schema(self.object_schema or {"type": "object"})
        if self.json_schema is None or self.json_schema.json_schema is None:
            raise ApiError(
                "response_format: json_schema needs a schema, in json_schema.schema",
                param="response_format",
            )
        return Grammar.json_schema(self.json_schema.json_schema)


class StructuredOutputs(BaseModel):
    """One of these; the field of vLLM from 0.10 on."""

    model_config = ConfigDict(strict=True, extra="allow", json_schema_extra=describe)

    json_value: str | Schema | None = Field(default=None, alias="json")
    regex: str | None = None
    choice: list[str] | None = None
    grammar: str | None = None
    json_object: bool | None = None

    def grammars(self) -> list[Grammar]:
        """Return all that is asked for. Raises: ConfigError, ApiError."""
        for name, value in (self.model_extra or {}).items():
            if value is not None and not (name in _OPTIONS and value is False):
                raise ApiError(
                    f"structured_outputs: {name:.60} is not supported; leave it out",
                    param="structured_outputs",
                )
        found = _grammars(
            json=self.json_value, regex=self.regex, choice=self.choice, lark=self.grammar
        )
        return [*found, Grammar.json_object()] if self.json_object else found


class GrammarFields(BaseModel):
    """All fields that can say what an output must look like, of which a request has one."""

    model_config = ConfigDict(strict=True, extra="allow", json_schema_extra=describe)

    guided_json: str | Schema | None = None
    guided_regex: str | None = None
    guided_choice: list[str] | None = None
    guided_grammar: str | None = None
    structured_outputs: StructuredOutputs | None = None
    response_format: ResponseFormat | None = None

    @property
    def grammar_field(self) -> str | None:
        """Name of the first of the fields that is given."""
        return next((name for name in _FIELDS if getattr(self, name) is not None), None)

    @property
    def grammar_names(self) -> dict[str, str]:
        """What errors of a grammar are to be called, by what the engine calls them."""
        field = self.grammar_field or "response_format"
        return {f"grammar.{kind.value}": field for kind in GrammarKind} | {"grammar": field}

    def grammar(self) -> Grammar | None:
        """Return what the output must look like; None where nothing says so.

        Raises: ConfigError for one that is malformed; ApiError for several.
        """
        found = _grammars(
            json=self.guided_json,
            regex=self.guided_regex,
            choice=self.guided_choice,
            lark=self.guided_grammar,
        )
        if self.structured_outputs is not None:
            found.extend(self.structured_outputs.grammars())
        if self.response_format is not None:
            asked = self.response_format.grammar()
            found.extend([] if asked is None else [asked])
        if len(found) > 1:
            raise ApiError(
                f"{self.grammar_field}: expected one grammar in a request, got {len(found)}",
                param=self.grammar_field,
            )
        return found[0] if found else None


_FIELDS = tuple(GrammarFields.model_fields)


def _grammars(
    *, json: str | Schema | None, regex: str | None, choice: list[str] | None, lark: str | None
) -> list[Grammar]:
    """Return the grammars of what is given. Raises: ConfigError."""
    found = [
        None if json is None else Grammar.json_schema(json),
        None if regex is None else Grammar.regex(regex),
        None if choice is None else Grammar.choice(choice),
        None if lark is None else Grammar.lark(lark),
    ]
    return [each for each in found if each is not None]
