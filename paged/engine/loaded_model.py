"""A model in memory: configuration, weights and tokenizer."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import torch

from model_zoo.config import ModelConfig
from model_zoo.loading.chat_template import read_chat_template
from model_zoo.loading.files import resolve
from model_zoo.loading.load_config import load_config
from model_zoo.loading.load_params import load_params
from model_zoo.loading.load_tokenizer import load_tokenizer
from model_zoo.loading.tokenizer import Tokenizer
from model_zoo.params import ModelParams
from paged.engine.allocation import memory_of
from paged.engine.grammar_compiler import GrammarCompiler
from paged.engine.llm_config import LLMConfig
from paged.errors import BackendUnavailable, ConfigError
from paged.field_checks import set_field


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedModel:
    """What an engine needs of a model.

    config: its max_model_len is that of the options.
    kv_dtype: of the KV pool.
    grammars: those of requests, compiled for the tokenizer.
    """

    name: str
    config: ModelConfig
    params: ModelParams
    tokenizer: Tokenizer
    device: torch.device
    kv_dtype: torch.dtype
    grammars: GrammarCompiler = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        set_field(self, "grammars", GrammarCompiler(self.tokenizer, self.config.vocab_size))


def load_model(options: LLMConfig) -> LoadedModel:
    """Find and read a model.

    Raises: ModelFileError; ConfigError for options that the model or the device cannot
        meet; BackendUnavailable without the device.
    """
    device = _find_device(options.device)
    template = None if options.chat_template is None else read_chat_template(options.chat_template)
    files = resolve(options.model)
    config = load_config(files)
    config = replace(config, max_model_len=_max_model_len(options, config))
    dtype = _weight_dtype(options, config, device)
    what = f"the weights of {files.name}, and angles for max_model_len={config.max_model_len}"
    with memory_of(what):
        params = load_params(
            files, config, dtype=dtype, device=device, quantization=options.quantization
        )
    return LoadedModel(
        name=files.name,
        config=config,
        params=params,
        tokenizer=load_tokenizer(files, chat_template=template),
        device=device,
        kv_dtype=_kv_dtype(options, dtype),
    )


def _find_device(name: str | None) -> torch.device:
    if name is None:
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise ConfigError(f"device must be cpu, cuda or cuda:N, got {name!r:.40}") from error
    if device.type not in ("cpu", "cuda"):
        raise ConfigError(f"device must be cpu, cuda or cuda:N, got {name!r:.40}")
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise BackendUnavailable(
            f"device {name}: torch finds {torch.cuda.device_count()} GPUs; choose cpu"
        )
    return device


def _max_model_len(options: LLMConfig, config: ModelConfig) -> int:
    wanted = options.max_model_len
    if wanted is None:
        return config.max_model_len
    if wanted > config.max_model_len:
        raise ConfigError(
            f"max_model_len: the model allows at most {config.max_model_len}, got {wanted}"
        )
    return wanted


def _weight_dtype(options: LLMConfig, config: ModelConfig, device: torch.device) -> torch.dtype:
    if options.dtype != "auto":
        return getattr(torch, options.dtype)
    return torch.bfloat16 if device.type == "cpu" else getattr(torch, config.dtype)


def _kv_dtype(options: LLMConfig, dtype: torch.dtype) -> torch.dtype:
    return dtype if options.kv_cache_dtype == "auto" else getattr(torch, options.kv_cache_dtype)
