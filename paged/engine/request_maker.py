"""Prompts and sampling parameters turned into requests that an engine can run."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from model_zoo.loading.tokenizer import Tokenizer
from paged.engine.grammar_compiler import GrammarCompiler
from paged.engine.philox import derived_seed
from paged.errors import RequestRefused
from paged.sampling_params import SamplingParams
from paged.scheduler.request import Request
from paged.types import TokenArray

Prompt = str | Sequence[int]
"""A text, or the ids of its tokens."""

_SEED_PERIOD = 2**32


class RequestMaker:
    """Tokenizes and checks prompts, and gives each request an id, an arrival and a seed.

    grammars: those of the loaded model; None compiles again what requests ask for.
    seed: of the engine. A request without a seed of its own draws as its number says, so a
    run repeats exactly.
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        *,
        vocab_size: int,
        max_model_len: int,
        seed: int,
        grammars: GrammarCompiler | None = None,
    ) -> None:
        self._tokenizer = tokenizer
        self._grammars = GrammarCompiler(tokenizer, vocab_size) if grammars is None else grammars
        self._vocab_size = vocab_size
        self._max_model_len = max_model_len
        self._seed = seed
        self._num_made = 0

    def make(
        self,
        prompt: Prompt,
        params: SamplingParams,
        *,
        arrival_s: float,
        request_id: str | None = None,
        priority: int = 0,
        add_special_tokens: bool = True,
    ) -> Request:
        """Make one request. add_special_tokens: for a text; a chat template writes its own.

        Raises: RequestRefused for a prompt that is empty, too long or has unknown ids;
            ConfigError for parameters that name tokens the model does not have, and for a
            grammar that it cannot follow.
        """
        params.check_vocabulary(self._vocab_size, self._tokenizer.eos_ids)
        if params.grammar is not None:
            self._grammars.matcher(params.grammar)
        tokens = self._tokens(prompt, add_special_tokens)
        room_tokens = self._max_model_len - len(tokens)
        if room_tokens < 1:
            raise RequestRefused(
                f"prompt of {len(tokens)} tokens leaves no room for output: max_model_len is"
                f" {self._max_model_len}; shorten the prompt"
            )
        number = self._num_made
        self._num_made += 1
        if params.seed is None:
            params = params.with_seed(derived_seed(self._seed, number % _SEED_PERIOD))
        return Request(
            request_id=str(number) if request_id is None else request_id,
            prompt_tokens=tokens,
            max_new_tokens=params.num_new_tokens(room_tokens),
            arrival_s=arrival_s,
            priority=priority,
            num_sequences=params.num_sequences,
            sampling=params,
        )

    def _tokens(self, prompt: Prompt, add_special_tokens: bool) -> TokenArray:
        ids = prompt
        if isinstance(prompt, str):
            ids = self._tokenizer.encode(prompt, add_special_tokens=add_special_tokens)
        if not len(ids):
            raise RequestRefused("the prompt has no tokens; give at least one")
        try:
            tokens = np.asarray(ids)
        except ValueError as error:
            raise RequestRefused(f"prompt: expected a text or token ids: {error}") from error
        is_known = tokens.dtype.kind in "iu" and tokens.ndim == 1
        if not is_known or tokens.min() < 0 or tokens.max() >= self._vocab_size:
            raise RequestRefused(
                f"prompt: expected a text or token ids from 0 to {self._vocab_size - 1},"
                f" got {ids!r:.80}"
            )
        return tokens.astype(np.int32)
