"""Bodies of requests turned into requests that the engine can run."""

from __future__ import annotations

import asyncio
import itertools
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from model_zoo.loading.tokenizer import Tokenizer
from paged.engine.loaded_model import LoadedModel
from paged.engine.request_maker import RequestMaker
from paged.sampling_params import SamplingParams
from paged.scheduler.request import Request
from paged.server.protocol.chat import ChatRequest
from paged.server.protocol.completion import CompletionRequest
from paged.server.protocol.error import ApiError
from paged.server.protocol.field_notes import MAX_ID_CHARACTERS
from paged.server.protocol.messages import messages_of
from paged.server.protocol.prompt import Prompt, prompts_of
from paged.server.protocol.sampling import SamplingFields

# A longer text is tokenized in a thread of its own, so that other clients need not wait.
_LONG_TEXT_CHARACTERS = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """What a body asks for.

    answer_id: the id of the answer, as clients see it.
    texts: those of the prompts.
    """

    answer_id: str
    requests: list[Request]
    texts: list[str]


class Intake:
    """Checks, tokenizes and numbers requests. max_sequences: of one body."""

    def __init__(self, model: LoadedModel, *, seed: int, max_sequences: int) -> None:
        self.tokenizer: Tokenizer = model.tokenizer
        self._max_sequences = max_sequences
        self._max_model_len = model.config.max_model_len
        self._run = uuid.uuid4().hex[:12]
        self._numbers = itertools.count()
        self._maker = RequestMaker(
            model.tokenizer,
            vocab_size=model.config.vocab_size,
            max_model_len=model.config.max_model_len,
            seed=seed,
            grammars=model.grammars,
        )
        self._grammars = model.grammars
        self._template_turn = asyncio.Lock()

    async def completion(self, body: CompletionRequest, *, arrival_s: float) -> Taken:
        """Take prompts. Raises: ApiError, ConfigError, RequestRefused."""
        prompts = prompts_of(body.prompt)
        params = await self._params(body)
        self._check_count(len(prompts), params)
        skips = params.skip_special_tokens
        has_special = body.add_special_tokens is not False
        ids = [await self._ids(prompt, has_special=has_special) for prompt in prompts]
        taken = self._taken("cmpl", body, ids, params, arrival_s=arrival_s)
        taken.texts.extend(
            prompt if isinstance(prompt, str) else self.tokenizer.decode(prompt, skips)
            for prompt in (prompts if body.echo else [])
        )
        return taken

    async def chat(self, body: ChatRequest, *, arrival_s: float) -> Taken:
        """Take a conversation. Raises: as `completion`; ModelFileError without a template."""
        params = await self._params(body)
        self._check_count(1, params)
        text = await self.chat_text(body)
        ids = await self._ids(text, has_special=bool(body.add_special_tokens))
        return self._taken("chatcmpl", body, [ids], params, arrival_s=arrival_s)

    async def chat_text(self, body: ChatRequest) -> str:
        """Return the prompt for a conversation. Raises: as `chat`."""
        messages = messages_of(body.messages)
        goes_on = bool(body.continue_final_message)
        render = partial(
            self.tokenizer.apply_chat_template,
            messages,
            add_generation_prompt=not goes_on and body.add_generation_prompt is not False,
            **(body.chat_template_kwargs or {}),
        )
        # A template is a program of the model's, and may take a second. One at a time: they
        # take turns with the interpreter, and others wait for threads, too.
        async with self._template_turn:
            text = await asyncio.to_thread(render)
        if not goes_on:
            return text
        last = str(messages[-1]["content"]).strip()
        place = text.rfind(last)
        if not last or place < 0:
            raise ApiError(
                "continue_final_message: the last message is empty, or the template changes it",
                param="continue_final_message",
            )
        return text[: place + len(last)]

    async def _params(self, body: CompletionRequest | ChatRequest) -> SamplingParams:
        """Return how to draw, with a grammar that is compiled: that may take a second."""
        params = body.params()
        if params.grammar is not None:
            await asyncio.to_thread(self._grammars.matcher, params.grammar)
        return params

    def _check_count(self, num_prompts: int, params: SamplingParams) -> None:
        num_sequences = num_prompts * params.num_sequences
        if num_sequences > self._max_sequences:
            raise ApiError(
                f"n: expected prompts times n to be at most {self._max_sequences},"
                f" got {num_sequences}",
                param="n",
            )

    async def _ids(self, prompt: Prompt, *, has_special: bool) -> list[int]:
        if not isinstance(prompt, str):
            return prompt
        if len(prompt) < _LONG_TEXT_CHARACTERS:
            return self.tokenizer.encode(prompt, add_special_tokens=has_special)
        return await asyncio.to_thread(
            self.tokenizer.encode, prompt, add_special_tokens=has_special
        )

    def _taken(
        self,
        prefix: str,
        body: SamplingFields,
        ids: Sequence[list[int]],
        params: SamplingParams,
        *,
        arrival_s: float,
    ) -> Taken:
        answer_id = f"{prefix}-{_checked_id(body.request_id) or self._new_id()}"
        requests = [
            self._maker.make(
                self._truncated(each, body.truncate_prompt_tokens),
                params,
                arrival_s=arrival_s,
                # A client may use its ids again; the engine's are used once.
                request_id=f"{answer_id}.{next(self._numbers)}",
                priority=body.priority or 0,
            )
            for each in ids
        ]
        return Taken(answer_id=answer_id, requests=requests, texts=[])

    def _new_id(self) -> str:
        """Return an id that no other answer has, of this run or of another."""
        return f"{self._run}{next(self._numbers):08x}"

    def _truncated(self, ids: list[int], most: int | None) -> list[int]:
        """Return the last tokens of a prompt; -1 keeps what leaves room for one more."""
        if most is None:
            return ids
        if most != -1 and not 1 <= most < self._max_model_len:
            raise ApiError(
                f"truncate_prompt_tokens: expected -1 or 1 to {self._max_model_len - 1},"
                f" got {most}",
                param="truncate_prompt_tokens",
            )
        return ids[-(most if most > 0 else self._max_model_len - 1) :]


def _checked_id(request_id: str | None) -> str | None:
    if request_id is not None and not 1 <= len(request_id) <= MAX_ID_CHARACTERS:
        raise ApiError(
            f"request_id: expected 1 to {MAX_ID_CHARACTERS} characters", param="request_id"
        )
    return request_id
