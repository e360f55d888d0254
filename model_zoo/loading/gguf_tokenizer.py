"""A tokenizer from the metadata of a GGUF file, which spells it as llama.cpp needs it."""

from __future__ import annotations

from collections.abc import Mapping

import tokenizers
from tokenizers import AddedToken, processors

from model_zoo.loading.chat_template import ChatTemplate
from model_zoo.loading.gguf_file import GgufFile
from model_zoo.loading.gguf_metadata import PREFIX, GgufMetadata, end_ids
from model_zoo.loading.gguf_vocabulary import byte_level, sentencepiece
from model_zoo.loading.text_tokenizer import TextTokenizer
from model_zoo.loading.tokenizer_faults import try_tokenizer
from paged.errors import ModelFileError

# Source: enum llama_token_type of llama.cpp.
_UNKNOWN, _CONTROL, _USER_DEFINED = 2, 3, 4
# Byte-level vocabularies whose texts start with a token of their own.
_STARTING = ("llama3", "llama-v3", "llama-bpe", "tekken")
_SPECIAL_NAMES = {
    "bos_token": "bos_token_id",
    "eos_token": "eos_token_id",
    "unk_token": "unknown_token_id",
    "pad_token": "padding_token_id",
}


def load_gguf_tokenizer(file: GgufFile, *, chat_template: str | None = None) -> TextTokenizer:
    """Build the tokenizer that a GGUF file describes. Raises ModelFileError.

    chat_template: in place of the file's own.
    """
    metadata = file.metadata
    tokens = metadata.required(f"{PREFIX}.tokens", metadata.texts(f"{PREFIX}.tokens"))
    kind = metadata.required(f"{PREFIX}.model", metadata.text(f"{PREFIX}.model"))
    builders = {"gpt2": byte_level, "llama": sentencepiece}
    if kind not in builders:
        raise ModelFileError(
            f"{file.path}: {PREFIX}.model must be one of {', '.join(builders)}, got {kind!r:.60};"
            " use the model's folder, with its tokenizer.json, instead"
        )
    vocabulary = _numbered(metadata, tokens)
    backend = builders[kind](metadata, vocabulary)
    _add_tokens(backend, metadata, tokens)
    special = {name: _special_id(metadata, key, tokens) for name, key in _SPECIAL_NAMES.items()}
    backend.post_processor = _ends(metadata, tokens, special)
    try_tokenizer(backend, file.path)
    text = chat_template or metadata.text("tokenizer.chat_template")
    named = {name: tokens[token] for name, token in special.items() if token is not None}
    source = str(file.path)
    return TextTokenizer(
        backend,
        source=source,
        bos_id=special["bos_token"],
        eos_ids=end_ids(metadata),
        template=ChatTemplate(text, source=source, special_tokens=named) if text else None,
    )


def _numbered(metadata: GgufMetadata, tokens: list[str]) -> Mapping[str, int]:
    numbered = {token: number for number, token in enumerate(tokens)}
    if len(numbered) != len(tokens):
        twice = next(token for number, token in enumerate(tokens) if numbered[token] != number)
        raise ModelFileError(f"{metadata.path}: the token {twice!r:.80} is there twice")
    return numbered


def _add_tokens(backend: tokenizers.Tokenizer, metadata: GgufMetadata, tokens: list[str]) -> None:
    """Let control tokens, and those of the model's authors, be found whole in a text."""
    types = metadata.integers(f"{PREFIX}.token_type") or []
    if types and len(types) != len(tokens):
        raise ModelFileError(
            f"{metadata.path}: expected one of {PREFIX}.token_type for each of {len(tokens)} "
            f"tokens, got {len(types)}"
        )
    added = [
        AddedToken(token, special=kind != _USER_DEFINED, normalized=False)
        for token, kind in zip(tokens, types, strict=False)
        if kind in (_UNKNOWN, _CONTROL, _USER_DEFINED) and token
    ]
    backend.add_tokens(added)  # pyright: ignore[reportUnknownMemberType]


def _special_id(metadata: GgufMetadata, key: str, tokens: list[str]) -> int | None:
    token_id = metadata.integer(f"{PREFIX}.{key}")
    if token_id is not None and not 0 <= token_id < len(tokens):
        raise ModelFileError(
            f"{metadata.path}: {PREFIX}.{key} must be below the {len(tokens)} tokens, got "
            f"{token_id}"
        )
    return token_id


def _ends(
    metadata: GgufMetadata, tokens: list[str], special: Mapping[str, int | None]
) -> processors.PostProcessor:
    """Return what puts the tokens that start and end a text around it."""
    starts = metadata.flag(f"{PREFIX}.add_bos_token")
    if starts is None:
        # Old files lack the flag. Source: defaults of llama.cpp's vocabularies.
        is_byte_level = metadata.text(f"{PREFIX}.model") == "gpt2"
        starts = not is_byte_level or metadata.text(f"{PREFIX}.pre") in _STARTING
    wanted = {"bos_token": starts, "eos_token": metadata.flag(f"{PREFIX}.add_eos_token") is True}
    used = {name: special[name] for name, is_wanted in wanted.items() if is_wanted}
    ids = {name: token for name, token in used.items() if token is not None}
    before = [tokens[ids["bos_token"]]] if "bos_token" in ids else []
    after = [tokens[ids["eos_token"]]] if "eos_token" in ids else []
    return processors.TemplateProcessing(
        single=[*before, "$A", *after],
        pair=None,
        special_tokens=[(tokens[token], token) for token in ids.values()],
    )
