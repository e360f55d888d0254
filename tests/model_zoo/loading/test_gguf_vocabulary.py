"""Vocabularies split and merge texts as transformers has them do for the same file."""

from __future__ import annotations

import functools
import unicodedata
from pathlib import Path
from typing import Any

import pytest
import transformers
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from model_zoo.loading.gguf_file import read_gguf
from model_zoo.loading.gguf_tokenizer import load_gguf_tokenizer
from model_zoo.loading.gguf_vocabulary import SPLITTINGS
from model_zoo.loading.text_tokenizer import TextTokenizer
from model_zoo.loading.token_bytes import SPACE_MARK
from paged.errors import ModelFileError
from tests.helpers.gguf_files import model_keys, small_llama, write_gguf
from tests.helpers.texts import TEXTS

# transformers splits these as their authors do; `smollm` has a test with the real model.
KNOWN_TO_TRANSFORMERS = ("gpt-2", "llama-bpe", "llama3", "qwen2", "deepseek-r1-qwen", "tekken")


@functools.cache
def byte_level_keys() -> dict[str, Any]:
    """Return the keys of a byte-level vocabulary, trained on the texts without any splitting."""
    trained = Tokenizer(models.BPE())
    trained.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=700, initial_alphabet=alphabet, show_progress=False)
    trained.train_from_iterator([text[:30] for text in TEXTS] * 2, trainer)
    vocabulary = trained.get_vocab()
    tokens = sorted(vocabulary, key=lambda token: vocabulary[token])
    return {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.tokens": [*tokens, "<|endoftext|>"],
        "tokenizer.ggml.token_type": [*(1 for _ in tokens), 3],
        "tokenizer.ggml.scores": None,
        "tokenizer.ggml.merges": _merges(trained),
        "tokenizer.ggml.bos_token_id": len(tokens),
        "tokenizer.ggml.eos_token_id": len(tokens),
        "tokenizer.ggml.unknown_token_id": None,
        "tokenizer.ggml.add_bos_token": False,
    }


def _merges(trained: Tokenizer) -> list[str]:
    import json

    pairs = json.loads(trained.to_str())["model"]["merges"]
    return [" ".join(pair) for pair in pairs]


@functools.cache
def sentencepiece_keys() -> dict[str, Any]:
    """Return the keys of a SentencePiece vocabulary: bytes, characters, and pieces by score."""
    pieces = ["he", "ll", "hell", "hello", "o w", "or", "wor", "world", "ld", "  ", "    ", "12"]
    pieces += [" t", "th", " th", " the", "in", " in", "ab", "bc"]
    marked = [piece.replace(" ", SPACE_MARK) for piece in pieces]
    characters = sorted({SPACE_MARK, *"".join(marked), *"ä你"})
    merged = list(dict.fromkeys(piece for piece in marked if len(piece) > 1))
    tokens = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    types = [2, 3, 3, *(6 for _ in range(256)), *(1 for _ in (*characters, *merged))]
    scores = [*(0.0 for _ in tokens), *(-1e3 for _ in characters)]
    # The last pieces have the best scores, so that neither order nor length decides.
    scores += [float(-len(merged) + number) for number in range(len(merged))]
    return {
        "tokenizer.ggml.tokens": [*tokens, *characters, *merged],
        "tokenizer.ggml.token_type": types,
        "tokenizer.ggml.scores": scores,
    }


def both(folder: Path, keys: dict[str, Any]) -> tuple[TextTokenizer, Any]:
    """Return our tokenizer of a file and transformers'."""
    path = write_gguf(folder / "model.gguf", model_keys(small_llama(), "llama") | keys)
    theirs = transformers.AutoTokenizer.from_pretrained(folder, gguf_file=path.name)
    return load_gguf_tokenizer(read_gguf(path)), theirs


@pytest.mark.parametrize("name", KNOWN_TO_TRANSFORMERS)
def test_byte_level_texts_are_split_as_transformers_does(name: str, tmp_path: Path) -> None:
    ours, theirs = both(tmp_path, byte_level_keys() | {"tokenizer.ggml.pre": name})
    for text in TEXTS:
        # transformers forgets that Qwen's authors normalise texts.
        normal = unicodedata.normalize("NFC", text)
        ids = ours.encode(normal)
        assert ids == theirs(normal)["input_ids"], text
        assert ours.decode(ids) == theirs.decode(ids, skip_special_tokens=True), text


def test_the_texts_tell_the_ways_of_splitting_apart(tmp_path: Path) -> None:
    ways: dict[tuple[tuple[int, ...], ...], str] = {}
    for name, splitting in SPLITTINGS.items():
        ours, _ = both(tmp_path, byte_level_keys() | {"tokenizer.ggml.pre": name})
        ids = tuple(tuple(ours.encode(text)) for text in TEXTS)
        assert SPLITTINGS[ways.setdefault(ids, name)] == splitting, name
    assert len(ways) == len(set(SPLITTINGS.values()))


@pytest.mark.parametrize("text", TEXTS)
def test_sentencepiece_texts_are_merged_as_transformers_does(text: str, tmp_path: Path) -> None:
    ours, theirs = both(tmp_path, sentencepiece_keys())
    for case in (text.lstrip(" "), "hello world abc 12", "the hell in the world"):
        # transformers begins a text that begins with a special token without a space
        if case and not case.startswith("<"):
            assert ours.encode(case)[1:] == theirs(case, add_special_tokens=False)["input_ids"]
        ids = ours.encode(case)
        assert ours.decode(ids) == theirs.decode(ids, skip_special_tokens=True)


def test_sentencepiece_starts_a_text_with_one_more_space(tmp_path: Path) -> None:
    ours, _ = both(tmp_path, sentencepiece_keys())
    ids = ours.encode("  the", add_special_tokens=False)
    assert b"".join(map(ours.id_to_bytes, ids)) == b"   the"
    assert ours.decode(ids) == "  the"
    bare, _ = both(tmp_path, sentencepiece_keys() | {"tokenizer.ggml.add_space_prefix": False})
    assert bare.decode(bare.encode("  the")) == "  the"
    assert b"".join(map(bare.id_to_bytes, bare.encode("  the")[1:])) == b"  the"


def test_qwen_normalises_texts(tmp_path: Path) -> None:
    ours, _ = both(tmp_path, byte_level_keys() | {"tokenizer.ggml.pre": "qwen2"})
    assert ours.decode(ours.encode("e\u0301")) == "\u00e9"


@pytest.mark.parametrize(("name", "expected"), [("llama-bpe", ["qx"]), ("gpt-2", ["q", "x"])])
def test_llama3_takes_a_whole_token_without_merges(
    name: str, expected: list[str], tmp_path: Path
) -> None:
    keys = byte_level_keys() | {"tokenizer.ggml.pre": name}
    keys["tokenizer.ggml.tokens"] = [*keys["tokenizer.ggml.tokens"], "qx"]
    keys["tokenizer.ggml.token_type"] = [*keys["tokenizer.ggml.token_type"], 1]
    ours, _ = both(tmp_path, keys)
    assert [ours.id_to_bytes(token).decode() for token in ours.encode("qx")] == expected


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"tokenizer.ggml.pre": "poro-chat"}, "got 'poro-chat'; use the model's folder"),
        ({"tokenizer.ggml.merges": ["ab"]}, "two tokens and a space between them, got 'ab'"),
        ({"tokenizer.ggml.merges": ["a b c"]}, "got 'a b c'"),
        ({"tokenizer.ggml.merges": [" a"]}, "got ' a'"),
        (
            {"tokenizer.ggml.merges": ["zq qz"]},
            "expected merges of tokens of the vocabulary, got .*out of vocab",
        ),
        ({"tokenizer.ggml.merges": ["q" * 999 + " q"]}, "expected merges of tokens of the vocab"),
        ({"tokenizer.ggml.merges": [1]}, "must be a list of strings"),
    ],
)
def test_rules_that_make_no_tokenizer_are_one_error(
    changes: dict[str, Any], message: str, tmp_path: Path
) -> None:
    path = write_gguf(tmp_path / "model.gguf", byte_level_keys() | changes)
    with pytest.raises(ModelFileError, match=message):
        load_gguf_tokenizer(read_gguf(path))
