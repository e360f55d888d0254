"""A model that generates: the library's front door."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import fields, replace
from typing import cast

from model_zoo.loading.tokenizer import Message
from paged.engine.frontend import Frontend
from paged.engine.generation import Generation, Switch
from paged.engine.llm_config import LLMConfig
from paged.engine.loaded_model import LoadedModel, load_model
from paged.engine.model_engine import make_engine
from paged.engine.outputs import RequestOutput, SequenceOutput
from paged.engine.progress import Progress
from paged.engine.request_maker import Prompt, RequestMaker
from paged.engine.request_stream import RequestStream, sampling_of
from paged.errors import ConfigError, RequestFailed
from paged.sampling_params import SamplingParams
from paged.scheduler.request import Request

Params = SamplingParams | Sequence[SamplingParams]
Chat = Sequence[Message]


class LLM:
    """Loads a model and generates with it, many prompts at once.

    `LLM("smollm2-135m", max_num_seqs=32).generate("Once upon a time")`. Options are the
    fields of `LLMConfig`. Not for several threads at once.

    Raises: ConfigError, ModelFileError, BackendUnavailable, KernelSourceError; each before
        anything runs.
    """

    def __init__(self, model: str | LLMConfig = "smollm2-135m", **options: object) -> None:
        config = _config(model, options)
        self._start(config, load_model(config))

    @classmethod
    def of(cls, loaded: LoadedModel, config: LLMConfig) -> LLM:
        """Make one of a model that is in memory already, to compare options of an engine.

        What the configuration says of the model itself has been decided at its loading.
        """
        llm = cls.__new__(cls)
        llm._start(config, loaded)
        return llm

    def _start(self, config: LLMConfig, loaded: LoadedModel) -> None:
        self.config = config
        self.tokenizer = loaded.tokenizer
        self.engine = make_engine(config, loaded, on_failure=_tell_requests)
        self._switch = Switch(Frontend(self.engine, loaded.tokenizer))
        self._maker = RequestMaker(
            loaded.tokenizer,
            vocab_size=loaded.config.vocab_size,
            max_model_len=loaded.config.max_model_len,
            seed=config.seed,
            grammars=loaded.grammars,
        )

    def generate(
        self,
        prompts: Prompt | Sequence[Prompt],
        params: Params | None = None,
        *,
        priority: int = 0,
        show_progress: bool = False,
    ) -> list[RequestOutput]:
        """Generate from prompts, texts or token ids, and return one output for each.

        params: for all prompts, or one for each. priority: lower runs first, under the
        policy priority. show_progress: a bar on standard error.
        Raises: RequestRefused, before anything runs; RequestFailed at the end, where a step
            failed and took some of the requests with it.
        """
        each = _prompts(prompts)
        requests = self._requests(each, params, priority=priority)
        texts = [prompt if isinstance(prompt, str) else None for prompt in each]
        return self._finish(requests, texts, show_progress=show_progress)

    def chat(
        self,
        messages: Chat | Sequence[Chat],
        params: Params | None = None,
        *,
        priority: int = 0,
        show_progress: bool = False,
    ) -> list[RequestOutput]:
        """Answer one conversation or several, by the model's chat template.

        Raises: as `generate`; ModelFileError without a template.
        """
        texts = [self._chat_text(chat) for chat in _chats(messages)]
        requests = self._requests(texts, params, priority=priority, is_chat=True)
        return self._finish(requests, [*texts], show_progress=show_progress)

    def stream(
        self,
        prompts: Prompt | Sequence[Prompt],
        params: Params | None = None,
        *,
        priority: int = 0,
    ) -> Generation:
        """Generate from prompts and yield what each step adds, with the prompt's index.

        Close the result to give its requests up at once; if it is dropped, the next step or
        call does. A step that failed is told in `error`.
        Raises: RequestRefused.
        """
        return self._switch.start(self._requests(_prompts(prompts), params, priority=priority))

    def stream_chat(
        self, messages: Chat | Sequence[Chat], params: Params | None = None, *, priority: int = 0
    ) -> Generation:
        """Answer conversations and yield what each step adds; as `stream`."""
        texts = [self._chat_text(chat) for chat in _chats(messages)]
        requests = self._requests(texts, params, priority=priority, is_chat=True)
        return self._switch.start(requests)

    def _chat_text(self, chat: Chat) -> str:
        return self.tokenizer.apply_chat_template(chat)

    def _requests(
        self,
        prompts: Sequence[Prompt],
        params: Params | None,
        *,
        priority: int,
        is_chat: bool = False,
    ) -> list[Request]:
        """Make all requests or none."""
        given = params or SamplingParams()
        each = [given] * len(prompts) if isinstance(given, SamplingParams) else list(given)
        if len(each) != len(prompts):
            raise ConfigError(
                f"expected sampling parameters for {len(prompts)} prompts, got {len(each)}"
            )
        now_s = self.engine.now_s
        return [
            self._maker.make(
                prompt, one, arrival_s=now_s, priority=priority, add_special_tokens=not is_chat
            )
            for prompt, one in zip(prompts, each, strict=True)
        ]

    def _finish(
        self, requests: list[Request], texts: list[str | None], *, show_progress: bool
    ) -> list[RequestOutput]:
        sequences = [
            [SequenceOutput(index=index) for index in range(sampling_of(request).n)]
            for request in requests
        ]
        progress = Progress(sum(map(len, sequences))) if show_progress else None
        with self._switch.start(requests) as generation, progress or nullcontext():
            for index, delta in generation:
                sequences[index][delta.sequence_index].add(delta)
                if progress is not None:
                    progress.update(delta)
        outputs = [
            _output(*each) for each in zip(generation.streams, texts, sequences, strict=True)
        ]
        _check_errors(outputs)
        return outputs


def _config(model: str | LLMConfig, options: dict[str, object]) -> LLMConfig:
    known = {field.name for field in fields(LLMConfig)} - {"model"}
    unknown = sorted(set(options) - known)
    if unknown:
        raise ConfigError(
            f"unknown option {unknown[0]!r:.60}; expected some of {', '.join(sorted(known))}"
        )
    base = LLMConfig(model=model) if isinstance(model, str) else model
    return replace(base, **options)  # pyright: ignore[reportArgumentType]


def _tell_requests(_error: Exception) -> None:
    """Do nothing more: every request of the failed step carries the error."""


def _prompts(prompts: Prompt | Sequence[Prompt]) -> list[Prompt]:
    """Return a list of prompts, for one or for several."""
    if isinstance(prompts, str):
        return [prompts]
    items = list(prompts)
    if items and not isinstance(items[0], str | Sequence) and not hasattr(items[0], "__len__"):
        return [cast("list[int]", items)]
    return cast("list[Prompt]", items)


def _chats(messages: Chat | Sequence[Chat]) -> list[Chat]:
    """Return a list of conversations, for one or for several."""
    items = list(messages)
    if items and isinstance(items[0], Mapping):
        return [cast("Chat", items)]
    return cast("list[Chat]", items)


def _output(
    stream: RequestStream, text: str | None, sequences: list[SequenceOutput]
) -> RequestOutput:
    request = stream.request
    return RequestOutput(
        request_id=request.request_id,
        prompt=text,
        prompt_tokens=request.prompt_tokens.tolist(),
        outputs=sequences,
        prompt_logprobs=stream.prompt_logprobs,
        num_cached_tokens=stream.num_cached_tokens or 0,
    )


def _check_errors(outputs: list[RequestOutput]) -> None:
    failed = [output for output in outputs if any(each.error for each in output.outputs)]
    if failed:
        error = next(each.error for each in failed[0].outputs if each.error)
        raise RequestFailed(
            f"{len(failed)} of {len(outputs)} requests failed: {type(error).__name__}: {error}",
            outputs,
        ) from error
