"""Vocabulary and rules of splitting of a GGUF file, as a model of the `tokenizers` library."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import tokenizers
from tokenizers import Regex, decoders, models, normalizers, pre_tokenizers

from model_zoo.loading.gguf_metadata import PREFIX, GgufMetadata
from model_zoo.loading.token_bytes import SPACE_MARK
from model_zoo.loading.tokenizer_faults import tokenizer_faults
from paged.errors import ModelFileError

_MERGES = f"{PREFIX}.merges"
_SCORES = f"{PREFIX}.scores"
_PRE = f"{PREFIX}.pre"
_WORDS = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|%s"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_CASED_WORDS = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
    r"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Splitting:
    """How a byte-level tokenizer cuts a text before it merges bytes.

    pattern: None splits as GPT-2 does. digits: each is cut off first.
    ignore_merges: a piece that is a token is taken whole, even if no merges lead to it.
    """

    pattern: str | None = None
    digits: bool = False
    is_nfc: bool = False
    ignore_merges: bool = False


_GPT2 = Splitting()
_DIGITS = Splitting(digits=True)
_LLAMA3 = Splitting(pattern=_WORDS % r"\p{N}{1,3}", ignore_merges=True)
_QWEN2 = Splitting(pattern=_WORDS % r"\p{N}", is_nfc=True)
_TEKKEN = Splitting(pattern=_CASED_WORDS, ignore_merges=True)

# Names: llama.cpp's. Rules: the tokenizer.json that each of these models is published with.
SPLITTINGS: Mapping[str, Splitting] = {
    **dict.fromkeys(("default", "gpt-2"), _GPT2),
    **dict.fromkeys(("smollm", "starcoder", "refact", "command-r"), _DIGITS),
    **dict.fromkeys(("llama3", "llama-v3", "llama-bpe", "falcon3"), _LLAMA3),
    **dict.fromkeys(("qwen2", "deepseek-r1-qwen"), _QWEN2),
    "tekken": _TEKKEN,
}


def byte_level(metadata: GgufMetadata, vocabulary: Mapping[str, int]) -> tokenizers.Tokenizer:
    """Build a byte-level BPE tokenizer. Raises ModelFileError."""
    name = metadata.text(_PRE) or "default"
    splitting = SPLITTINGS.get(name)
    if splitting is None:
        raise ModelFileError(
            f"{metadata.path}: {_PRE} must be one of {', '.join(SPLITTINGS)}, got {name!r:.60}; "
            "use the model's folder, with its tokenizer.json, instead"
        )
    listed = metadata.required(_MERGES, metadata.texts(_MERGES))
    merges = [_pair(metadata, merge) for merge in listed]
    backend = _bpe(metadata, vocabulary, merges, ignore_merges=splitting.ignore_merges)
    if splitting.is_nfc:
        backend.normalizer = normalizers.NFC()
    cuts: list[pre_tokenizers.PreTokenizer] = []
    if splitting.digits:
        cuts.append(pre_tokenizers.Digits(individual_digits=True))
    if splitting.pattern is not None:
        cuts.append(pre_tokenizers.Split(Regex(splitting.pattern), behavior="isolated"))
    use_gpt2 = splitting.pattern is None
    cuts.append(pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=use_gpt2))
    backend.pre_tokenizer = pre_tokenizers.Sequence(cuts)
    backend.decoder = decoders.ByteLevel()
    return backend


def sentencepiece(metadata: GgufMetadata, vocabulary: Mapping[str, int]) -> tokenizers.Tokenizer:
    """Build the BPE tokenizer that does what SentencePiece's does. Raises ModelFileError."""
    scores = metadata.required(_SCORES, metadata.numbers(_SCORES))
    if len(scores) != len(vocabulary):
        raise ModelFileError(
            f"{metadata.path}: expected one of {_SCORES} for each of {len(vocabulary)} tokens, "
            f"got {len(scores)}"
        )
    unknown = metadata.integer(f"{PREFIX}.unknown_token_id")
    names = {token_id: token for token, token_id in vocabulary.items()}
    backend = _bpe(
        metadata,
        vocabulary,
        _merges_of(vocabulary, scores),
        unk_token=None if unknown is None else names.get(unknown),
        fuse_unk=True,
        byte_fallback=True,
    )
    # SentencePiece begins every text, and what follows a special token, with a space.
    has_prefix = metadata.flag(f"{PREFIX}.add_space_prefix") is not False
    mark = normalizers.Replace(" ", SPACE_MARK)
    prefix = [normalizers.Prepend(SPACE_MARK)] if has_prefix else []
    backend.normalizer = normalizers.Sequence([*prefix, mark])
    steps = [decoders.Replace(SPACE_MARK, " "), decoders.ByteFallback(), decoders.Fuse()]
    strip = [decoders.Strip(" ", 1, 0)] if has_prefix else []
    backend.decoder = decoders.Sequence([*steps, *strip])
    return backend


def _bpe(
    metadata: GgufMetadata,
    vocabulary: Mapping[str, int],
    merges: Sequence[tuple[str, str]],
    **options: object,
) -> tokenizers.Tokenizer:
    with tokenizer_faults(metadata.path, "merges of tokens of the vocabulary"):
        model = models.BPE(vocab=dict(vocabulary), merges=list(merges), **options)
    return tokenizers.Tokenizer(model)


def _pair(metadata: GgufMetadata, merge: str) -> tuple[str, str]:
    left, space, right = merge.partition(" ")
    if not (left and space and right) or " " in right:
        raise ModelFileError(
            f"{metadata.path}: each of {_MERGES} must be two tokens and a space between them, "
            f"got {merge!r:.80}"
        )
    return left, right


def _merges_of(vocabulary: Mapping[str, int], scores: Sequence[float]) -> list[tuple[str, str]]:
    """Return the merges that lead to each token, the token of the best score first.

    SentencePiece joins, of all neighbours that make a token, those of the best one.
    """
    ranked = sorted(
        (-scores[token_id], token_id, left, right)
        for token, token_id in vocabulary.items()
        for left, right in _splits(token)
        if left in vocabulary and right in vocabulary
    )
    return [(left, right) for _, _, left, right in ranked]


def _splits(token: str) -> Iterator[tuple[str, str]]:
    for cut in range(1, len(token)):
        yield token[:cut], token[cut:]
