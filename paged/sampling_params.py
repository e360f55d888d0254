"""How to draw the output of a request, checked when it is made.

Ranges follow OpenAI's API where it has the field and vLLM's where it has not.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal

from paged.field_checks import (
    MAX_INT32,
    MAX_INT64,
    MIN_INT64,
    Limits,
    boolean,
    check_count,
    check_integers,
    expected,
    integer,
    is_a,
    items,
    number,
    set_field,
)
from paged.grammar import Grammar

MAX_SEQUENCES = 128
MAX_LOGPROBS = 20
MAX_STOP_STRINGS = 32
MAX_STOP_CHARACTERS = 256
MAX_STOP_TOKEN_IDS = 128
MAX_LOGIT_BIASES = 1024

# Token ids are int32 in every array.
_MAX_TOKEN_ID = MAX_INT32
# Below it a temperature says greedy: no draw in float32 could tell them apart. As in vLLM.
_LEAST_TEMPERATURE = 1e-5


@dataclass(frozen=True, slots=True, kw_only=True)
class BeamParams:
    """Beam search as transformers defines it.

    width: beams that are kept; the n best of them are returned.
    length_penalty: a hypothesis scores its log-probability / length ** length_penalty.
    early_stopping: True ends when `width` hypotheses are complete, False when none of
        the running beams scores better now, "never" when none ever can.
    """

    width: int
    length_penalty: float = 1.0
    early_stopping: bool | Literal["never"] = False

    def __post_init__(self) -> None:
        set_field(self, "width", integer("beam.width", self.width, 1, MAX_SEQUENCES))
        penalty = number("beam.length_penalty", self.length_penalty, -10.0, 10.0)
        set_field(self, "length_penalty", penalty)
        if not isinstance(self.early_stopping, bool) and self.early_stopping != "never":
            raise expected("beam.early_stopping", 'True, False or "never"', self.early_stopping)


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplingParams:
    """How many sequences to draw from a prompt, from which distribution, and until when.

    n: sequences to draw, each with random numbers of its own.
    temperature: 0 is greedy, and so is all below 1e-5; ties go to the lowest id.
    top_k: draw from the k most likely tokens; None, 0 and -1 draw from all.
    top_p: draw from the fewest most likely tokens that together have this probability.
    min_p: draw from tokens at least this share as likely as the most likely.
    presence_penalty, frequency_penalty: taken from the logit of each token of the output,
        once, or as often as the token occurs.
    repetition_penalty: the logit of each token of prompt and output is divided by it if
        it is above 0 and multiplied by it if it is below; 1 is off.
    logit_bias: added to the logits, by token id.
    logprobs, prompt_logprobs: report each token's log-probability and that many
        alternatives; None reports nothing. They are the model's own, before all of the above.
    seed: any int64; equal seeds give equal draws. None lets the engine choose.
    min_tokens: neither stop ids nor stop strings end a sequence before it is so long.
    max_tokens: output limit of each sequence; None is what the context has room for.
    stop: strings that end a sequence, one or several.
    stop_token_ids: tokens that end a sequence, beside the model's own.
    ignore_eos: the model's own end tokens do not end a sequence.
    include_stop_str_in_output: what ended the sequence stays in the text.
    skip_special_tokens: leave special tokens out of the text.
    grammar: what the output must look like. It ends once nothing can follow, and where it may
        end `ignore_eos` and `min_tokens` let it go on if it can.
    beam: search instead of drawing, and return the n best hypotheses. What changes or
        reports the distribution of a draw, and stop strings, must be left as they are.

    Raises ConfigError, its text starting with the field's name, if one is not as said here.
    """

    n: int = 1
    temperature: float = 1.0
    top_k: int | None = None
    top_p: float = 1.0
    min_p: float = 0.0
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    repetition_penalty: float = 1.0
    logit_bias: Mapping[int, float] = field(default_factory=dict[int, float])
    logprobs: int | None = None
    prompt_logprobs: int | None = None
    seed: int | None = None
    min_tokens: int = 0
    max_tokens: int | None = 16
    stop: str | Collection[str] = ()
    stop_token_ids: Collection[int] = ()
    ignore_eos: bool = False
    include_stop_str_in_output: bool = False
    skip_special_tokens: bool = True
    grammar: Grammar | None = None
    beam: BeamParams | None = None

    def __post_init__(self) -> None:
        check_integers(self, _INTEGERS, optional=_OPTIONAL)
        for name, (least, most) in _NUMBERS.items():
            set_field(self, name, number(name, getattr(self, name), least, most))
        for name in ("ignore_eos", "include_stop_str_in_output", "skip_special_tokens"):
            boolean(name, getattr(self, name))
        if self.top_p == 0.0:
            raise expected("top_p", "above 0, and at most 1", self.top_p)
        if self.top_k is not None and self.top_k <= 0:
            set_field(self, "top_k", None)
        set_field(self, "stop", _stop_strings(self.stop))
        set_field(self, "stop_token_ids", _token_ids(self.stop_token_ids))
        set_field(self, "logit_bias", _biases(self.logit_bias))
        if self.max_tokens is not None and self.min_tokens > self.max_tokens:
            raise expected("min_tokens", f"at most max_tokens = {self.max_tokens}", self.min_tokens)
        _check_grammar(self.grammar)
        if self.beam is not None:
            _check_beam(self, self.beam)

    @property
    def is_greedy(self) -> bool:
        """Say whether the most likely token is always taken."""
        return self.temperature < _LEAST_TEMPERATURE

    @property
    def num_sequences(self) -> int:
        """Sequences that run at once: n, or the beams of a search."""
        return self.n if self.beam is None else self.beam.width

    @property
    def has_penalties(self) -> bool:
        """Say whether tokens seen before change the distribution."""
        penalties = (self.presence_penalty, self.frequency_penalty, self.repetition_penalty)
        return penalties != (0.0, 0.0, 1.0)

    @property
    def stop_strings(self) -> tuple[str, ...]:
        """Strings that end a sequence, each once."""
        return tuple(self.stop)

    def with_seed(self, seed: int) -> SamplingParams:
        """Return the same with a seed, an int64; what was checked is not checked again."""
        params = object.__new__(SamplingParams)
        for name in _NAMES:
            set_field(params, name, getattr(self, name))
        set_field(params, "seed", seed)
        return params

    def num_new_tokens(self, room_tokens: int) -> int:
        """Output limit of each sequence where the context has room for room_tokens."""
        return room_tokens if self.max_tokens is None else min(self.max_tokens, room_tokens)

    def check_vocabulary(self, vocab_size: int, eos_ids: Collection[int] = ()) -> None:
        """Raise ConfigError unless the model's vocabulary allows what is asked for.

        Every token id named here must be one of it, and enough ids must stop nothing.
        eos_ids: the model's own stop ids.
        """
        for name, ids in (("logit_bias", self.logit_bias), ("stop_token_ids", self.stop_token_ids)):
            wrong = [token for token in ids if token >= vocab_size]
            if wrong:
                raise expected(name, f"token ids below {vocab_size}, the vocabulary", wrong[0])
        for name in ("logprobs", "prompt_logprobs"):
            count = getattr(self, name)
            if count is not None and count > vocab_size:
                raise expected(name, f"at most {vocab_size}, the vocabulary", count)
        stops = {*self.stop_token_ids, *(() if self.ignore_eos else eos_ids)}
        num_others = vocab_size - sum(token < vocab_size for token in stops)
        if self.beam is not None and self.beam.width > num_others:
            what = f"at most {num_others}, the tokens that stop nothing"
            raise expected("beam.width", what, self.beam.width)
        if self.min_tokens and not num_others:
            raise expected("stop_token_ids", "a token to draw before min_tokens", "all of them")


_NAMES = tuple(each.name for each in fields(SamplingParams))

# Least and most value of each field that is a number.
_INTEGERS: Limits = {
    "n": (1, MAX_SEQUENCES),
    "top_k": (-1, _MAX_TOKEN_ID),
    "logprobs": (0, MAX_LOGPROBS),
    "prompt_logprobs": (0, MAX_LOGPROBS),
    "seed": (MIN_INT64, MAX_INT64),
    "min_tokens": (0, None),
    "max_tokens": (1, None),
}
_OPTIONAL = {"top_k", "logprobs", "prompt_logprobs", "seed", "max_tokens"}
_NUMBERS = {
    "temperature": (0.0, 2.0),
    "top_p": (0.0, 1.0),
    "min_p": (0.0, 1.0),
    "presence_penalty": (-2.0, 2.0),
    "frequency_penalty": (-2.0, 2.0),
    "repetition_penalty": (0.01, 10.0),
}
LIMITS: Mapping[str, tuple[float | None, float | None]] = {**_INTEGERS, **_NUMBERS}
"""Least and most value of each field that is a number; None is no limit."""

_BESIDE_BEAM = {
    *("n", "beam", "seed", "min_tokens", "max_tokens", "stop_token_ids"),
    *("ignore_eos", "skip_special_tokens", "prompt_logprobs"),
}


def _stop_strings(value: Any) -> tuple[str, ...]:
    """Check stop strings and drop repetitions."""
    what = "a string or a list of strings"
    stops = [value] if isinstance(value, str) else items("stop", value, what, MAX_STOP_STRINGS)
    for stop in stops:
        if not isinstance(stop, str):
            raise expected("stop", what, stop)
        if not 1 <= len(stop) <= MAX_STOP_CHARACTERS:
            raise expected("stop", f"strings of 1 to {MAX_STOP_CHARACTERS} characters", stop)
        if any("\ud800" <= character <= "\udfff" for character in stop):
            raise expected("stop", "text without lone surrogates, which no model writes", stop)
    return tuple(dict.fromkeys(stops))


def _token_ids(value: Any) -> tuple[int, ...]:
    """Check stop ids and drop repetitions."""
    ids = items("stop_token_ids", value, "a list of token ids", MAX_STOP_TOKEN_IDS)
    checked = [integer("stop_token_ids", token, 0, _MAX_TOKEN_ID) for token in ids]
    return tuple(dict.fromkeys(checked))


def _biases(value: Any) -> dict[int, float]:
    if not is_a(value, Mapping):
        raise expected("logit_bias", "a mapping of token ids to numbers", value)
    check_count("logit_bias", value, MAX_LOGIT_BIASES)
    return {
        integer("logit_bias", token, 0, _MAX_TOKEN_ID): number("logit_bias", bias, -100.0, 100.0)
        for token, bias in value.items()
    }


def _check_grammar(value: Any) -> None:
    if value is not None and not isinstance(value, Grammar):
        raise expected("grammar", "a Grammar, such as Grammar.regex makes, or None", value)


def _check_beam(params: SamplingParams, beam: Any) -> None:
    if not isinstance(beam, BeamParams):
        raise expected("beam", "BeamParams or None", beam)
    if params.n > beam.width:
        raise expected("n", f"at most the beam width, {beam.width}", params.n)
    plain = SamplingParams()
    for name in (each.name for each in fields(params)):
        value = getattr(params, name)
        if name not in _BESIDE_BEAM and value != getattr(plain, name):
            raise expected(name, "its default beside beam, which does not draw", value)
