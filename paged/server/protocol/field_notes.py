"""What the fields of requests mean and may hold, as the OpenAPI schema says it.

Values are checked elsewhere: types by pydantic, ranges by `SamplingParams` and by the routes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any

from paged.grammar import MAX_CHOICES, MAX_GRAMMAR_CHARACTERS
from paged.sampling_params import (
    LIMITS,
    MAX_LOGIT_BIASES,
    MAX_LOGPROBS,
    MAX_STOP_CHARACTERS,
    MAX_STOP_STRINGS,
    MAX_STOP_TOKEN_IDS,
    SamplingParams,
)

JsonSchema = dict[str, Any]

DEFAULT_MAX_TOKENS = 16
MAX_ID_CHARACTERS = 128
_TEXT_OF_GRAMMAR = {"string": {"minLength": 1, "maxLength": MAX_GRAMMAR_CHARACTERS}}
_CHOICES = {"array": {"minItems": 1, "maxItems": MAX_CHOICES}}
_COUNT = {"integer": {"minimum": 0, "maximum": MAX_LOGPROBS}}

# Fields that a request must have, by the name of its class: told here, for what is absent gets
# an error of ours.
_REQUIRED = {"CompletionRequest": "prompt", "ChatRequest": "messages"}

# Keywords of JSON Schema for each type of a field.
_RANGES: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    "top_p": {"number": {"exclusiveMinimum": 0.0, "maximum": 1.0}},
    "top_logprobs": _COUNT,
    # JSON's readers keep no such numbers apart from their neighbours.
    "seed": {"integer": {"format": "int64"}},
    "CompletionRequest.max_tokens": {"integer": {"minimum": 0}},
    "stop": {
        "string": {"minLength": 1, "maxLength": MAX_STOP_CHARACTERS},
        "array": {"maxItems": MAX_STOP_STRINGS},
    },
    "stop_token_ids": {"array": {"maxItems": MAX_STOP_TOKEN_IDS}},
    "logit_bias": {"object": {"maxProperties": MAX_LOGIT_BIASES}},
    "request_id": {"string": {"minLength": 1, "maxLength": MAX_ID_CHARACTERS}},
    "truncate_prompt_tokens": {"integer": {"minimum": -1}},
    "length_penalty": {"number": {"minimum": -10.0, "maximum": 10.0}},
    "max_completion_tokens": {"integer": {"minimum": 1}},
    **dict.fromkeys(("guided_json", "guided_regex", "guided_grammar"), _TEXT_OF_GRAMMAR),
    **dict.fromkeys(("json", "regex", "grammar"), _TEXT_OF_GRAMMAR),
    **dict.fromkeys(("guided_choice", "choice"), _CHOICES),
}

_MEANINGS: Mapping[str, str] = {
    "model": "one of the served names; null is the server's own",
    "CompletionRequest.prompt": "a text, several, token ids, or several lists of them",
    "TokenizeRequest.prompt": "a text; either this or messages",
    "messages": "the conversation so far; roles system, developer, user, assistant and tool",
    "n": "choices to draw for each prompt; prompts times n are at most 1024",
    "temperature": "0 takes the most likely token; below 1e-5 is 0",
    "top_p": "draw from the fewest most likely tokens that together have this probability",
    "top_k": "draw from the k most likely tokens; -1, 0 and null from all",
    "min_p": "draw from tokens at least this share as likely as the most likely",
    "presence_penalty": "taken from the logit of each token that the output has",
    "frequency_penalty": "the same, as often as the output has it",
    "repetition_penalty": "logits of the tokens of prompt and output are divided by it, "
    "or multiplied below 0",
    "logit_bias": "added to logits, by token id: from -100 to 100",
    "seed": "an int64; equal seeds give equal text; -1 is none",
    "stop": "texts that end the output, and are no part of it",
    "stop_token_ids": "tokens that end the output, beside the model's own",
    "include_stop_str_in_output": "leave what ended it in the text",
    "ignore_eos": "go on past the model's own end",
    "min_tokens": "nothing ends the output before it has so many",
    "CompletionRequest.max_tokens": "most tokens of a choice, cut to what the context has room "
    "for; 0 only with echo",
    "ChatRequest.max_tokens": "most tokens of a choice, cut to what the context has room for, "
    "which is what null says",
    "max_completion_tokens": "the newer name of max_tokens, which it overrides",
    "skip_special_tokens": "leave special tokens out of the text; null is true",
    "prompt_logprobs": "log-probabilities of the prompt with so many alternatives; not in a stream",
    "add_special_tokens": "let the tokenizer add its own; null is true for a text, false for "
    "messages",
    "truncate_prompt_tokens": "keep the last so many tokens of a prompt; -1 what leaves room for "
    "one more",
    "use_beam_search": "search for the n best and draw nothing; not in a stream",
    "length_penalty": "of a beam search: score / length ** penalty; null is 1",
    "early_stopping": "of a beam search: end when n hypotheses are complete",
    "stream": "answer by server-sent events",
    "stream_options": "what a stream holds beside the text; only with stream",
    "include_usage": "one more event, with no choices and the usage",
    "continuous_usage_stats": "the usage so far in every event",
    "priority": "with --scheduling-policy priority: lower is served first; null is 0",
    "request_id": "part of the answer's id",
    "return_token_ids": "answer with token ids too",
    "return_tokens_as_token_ids": "name tokens of log-probabilities token_id:ID",
    "user": "passed over",
    "echo": "begin each choice with its prompt",
    "CompletionRequest.logprobs": "log-probabilities, with so many alternatives; with echo of the "
    "prompt too",
    "ChatRequest.logprobs": "log-probabilities, with top_logprobs alternatives",
    "top_logprobs": "alternatives at each token, with logprobs: true",
    "best_of": "only the value of n",
    "add_generation_prompt": "let the template begin the answer; null is true",
    "continue_final_message": "go on with the last message instead of answering it",
    "chat_template_kwargs": "further variables of the template",
    "guided_json": "a JSON schema, or its text, that the output must satisfy",
    "guided_regex": "an expression that the whole output must match",
    "guided_choice": "texts of which the output must be one",
    "guided_grammar": "rules in Lark's syntax that derive the output",
    "structured_outputs": "the same in the form of newer vLLM",
    "response_format": "the same in OpenAI's form",
    "json": "a JSON schema, or its text",
    "regex": "an expression, matched as a whole",
    "choice": "texts, one of which",
    "grammar": "rules in Lark's syntax",
    "json_object": "any JSON object",
    "type": "text, json_object or json_schema",
    "json_schema": "the schema, where the type is json_schema",
    "schema": "a JSON schema",
    "name": "passed over",
    "return_token_strs": "answer with the text of each token too",
    "tokens": "token ids, each of the vocabulary",
}


def describe(schema: JsonSchema) -> None:
    """Add meanings, ranges and defaults to the schema of a request. Mutates: schema."""
    for name, field in schema.get("properties", {}).items():
        own = f"{schema['title']}.{name}"
        field["description"] = _MEANINGS[own if own in _MEANINGS else name]
        _add_range(field, _RANGES[own] if own in _RANGES else _ranges_of(name))
        default = _DEFAULTS.get(own, _DEFAULTS.get(name))
        if default is not None:
            field["default"] = default
    required = _REQUIRED.get(schema["title"])
    if required is not None:
        schema["required"] = [required]
        del schema["properties"][required]["default"]


def _ranges_of(name: str) -> Mapping[str, Mapping[str, Any]]:
    if name in _RANGES or name not in LIMITS:
        return _RANGES.get(name, {})
    least, most = LIMITS[name]
    bounds = {"minimum": least, "maximum": most}
    given = {keyword: bound for keyword, bound in bounds.items() if bound is not None}
    return {"integer": given, "number": given}


def _add_range(field: JsonSchema, ranges: Mapping[str, Mapping[str, Any]]) -> None:
    """Add keywords to a field, or to those of its alternatives that have the type."""
    for alternative in field.get("anyOf", [field]):
        alternative.update(ranges.get(alternative.get("type"), {}))


# Of those fields whose null means a value of their own.
_DEFAULTS: Mapping[str, Any] = {
    each.name: each.default
    for each in fields(SamplingParams)
    if each.default is not MISSING and each.default not in (None, ()) and each.name != "max_tokens"
} | {"CompletionRequest.max_tokens": DEFAULT_MAX_TOKENS}
