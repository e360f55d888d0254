"""A GGUF file's tokenizer does what transformers' does, for SmolLM2 and small vocabularies."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import transformers
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import pre_tokenizers

from model_zoo.loading.gguf_file import read_gguf
from model_zoo.loading.gguf_tokenizer import load_gguf_tokenizer
from model_zoo.loading.text_tokenizer import TextTokenizer
from paged.errors import ModelFileError
from tests.helpers.gguf_files import TOKENS, tokenizer_keys, write_gguf
from tests.helpers.texts import TEXTS

CHATS: tuple[list[dict[str, str]], ...] = (
    [{"role": "user", "content": "What is the capital of France?"}],
    [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hi {{ x }} <|im_end|>"},
    ],
    [
        {"role": "user", "content": "ÄÖ 😀\n\n"},
        {"role": "assistant", "content": " yes "},
        {"role": "user", "content": ""},
    ],
)


@pytest.fixture(scope="module")
def smollm2(smollm2_path: Path) -> TextTokenizer:
    """Return our tokenizer of SmolLM2."""
    return load_gguf_tokenizer(read_gguf(smollm2_path))


@pytest.fixture(scope="module")
def theirs(smollm2_path: Path) -> Any:
    """Return what transformers makes of the file, but splitting as SmolLM2's tokenizer.json does.

    transformers does not know the splitting `smollm` of GGUF files and splits as GPT-2 does.
    """
    tokenizer: Any = transformers.AutoTokenizer.from_pretrained(
        smollm2_path.parent, gguf_file=smollm2_path.name
    )
    tokenizer.backend_tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Digits(individual_digits=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False),
        ]
    )
    return tokenizer


@pytest.fixture(scope="module")
def single_bytes(smollm2: TextTokenizer) -> set[bytes]:
    """Return the bytes that have a token of their own."""
    spelled = map(smollm2.id_to_bytes, range(smollm2.vocab_size))
    return {token for token in spelled if len(token) == 1}


@pytest.mark.smollm2
@pytest.mark.parametrize("text", TEXTS)
def test_smollm2_texts_are_encoded_and_decoded_as_transformers_does(
    text: str, smollm2: TextTokenizer, theirs: Any
) -> None:
    ids = smollm2.encode(text)
    assert ids == theirs(text)["input_ids"]
    assert smollm2.encode(text, add_special_tokens=False) == ids
    for skips in (True, False):
        assert smollm2.decode(ids, skip_special_tokens=skips) == theirs.decode(
            ids, skip_special_tokens=skips, clean_up_tokenization_spaces=False
        )
    assert smollm2.decode(ids, skip_special_tokens=False) == text
    assert b"".join(map(smollm2.id_to_bytes, ids)) == text.encode()


@pytest.mark.smollm2
@given(text=st.text(max_size=80))
def test_any_text_of_smollm2_survives(
    text: str, smollm2: TextTokenizer, single_bytes: set[bytes], theirs: Any
) -> None:
    ids = smollm2.encode(text)
    assert ids == theirs(text)["input_ids"]
    decoded = smollm2.decode(ids, skip_special_tokens=False)
    assert decoded == theirs.decode(ids)
    # The vocabulary lacks some control characters.
    if all(bytes([byte]) in single_bytes for byte in text.encode()):
        assert decoded == text


@pytest.mark.smollm2
def test_every_id_of_smollm2_decodes_as_transformers_does(
    smollm2: TextTokenizer, theirs: Any
) -> None:
    assert smollm2.vocab_size == len(theirs) == 49_152
    for token_id in range(smollm2.vocab_size):
        decoded = smollm2.decode([token_id], skip_special_tokens=False)
        assert decoded == theirs.decode([token_id])
        assert smollm2.id_to_bytes(token_id).decode(errors="replace") == decoded


@pytest.mark.smollm2
@settings(max_examples=50)
@given(ids=st.lists(st.integers(0, 49_151), max_size=40))
def test_any_ids_of_smollm2_decode_to_their_joined_bytes(
    ids: list[int], smollm2: TextTokenizer
) -> None:
    joined = b"".join(map(smollm2.id_to_bytes, ids))
    assert joined.decode(errors="replace") == smollm2.decode(ids, skip_special_tokens=False)


@pytest.mark.smollm2
@pytest.mark.parametrize("prompts", [True, False])
@pytest.mark.parametrize("messages", CHATS)
def test_chats_of_smollm2_are_written_as_transformers_does(
    messages: list[dict[str, str]], prompts: bool, smollm2: TextTokenizer, theirs: Any
) -> None:
    ours = smollm2.apply_chat_template(messages, add_generation_prompt=prompts)
    expected = theirs.apply_chat_template(messages, tokenize=False, add_generation_prompt=prompts)
    assert ours == expected


@pytest.mark.smollm2
def test_special_tokens_of_smollm2_are_those_of_its_authors(
    smollm2: TextTokenizer, theirs: Any
) -> None:
    assert smollm2.bos_id == theirs.bos_token_id
    assert smollm2.eos_ids == {theirs.eos_token_id}
    assert smollm2.special_ids >= set(theirs.all_special_ids)
    assert smollm2.encode("<|im_end|>") == [theirs.eos_token_id]


def small(tmp_path: Path, **changes: Any) -> TextTokenizer:
    """Return the tokenizer of a small file, some of whose keys are changed."""
    changed = {f"tokenizer.ggml.{name}": value for name, value in changes.items()}
    return load_gguf_tokenizer(
        read_gguf(write_gguf(tmp_path / "model.gguf", tokenizer_keys() | changed))
    )


def test_a_file_says_whether_texts_start_and_end_with_tokens(tmp_path: Path) -> None:
    plain = [3 + byte for byte in b"\x01\x02"]
    text = "\x01\x02"
    no_space = {"add_space_prefix": False}
    assert small(tmp_path, **no_space).encode(text) == [1, *plain]
    assert small(tmp_path, add_bos_token=False, **no_space).encode(text) == plain
    assert small(tmp_path, add_eos_token=True, **no_space).encode(text) == [1, *plain, 2]
    assert small(tmp_path, **no_space).encode(text, add_special_tokens=False) == plain


def test_control_and_unknown_tokens_are_special(tmp_path: Path) -> None:
    types = [2, 3, 4, *(6 for _ in TOKENS[3:])]
    assert small(tmp_path, token_type=types).special_ids == {0, 1}
    assert small(tmp_path, token_type=types).encode("</s>", add_special_tokens=False)[-1] == 2


def test_every_end_of_a_turn_ends_an_answer(tmp_path: Path) -> None:
    assert small(tmp_path, eot_token_id=5, eom_token_id=2).eos_ids == {2, 5}


def test_without_a_template_there_are_no_chats(tmp_path: Path) -> None:
    tokenizer = small(tmp_path)
    assert not tokenizer.has_chat_template
    with pytest.raises(ModelFileError, match="has no chat template"):
        tokenizer.apply_chat_template([{"role": "user", "content": "hi"}])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model": "bert"}, "must be one of gpt2, llama, got 'bert'"),
        ({"model": None}, "tokenizer.ggml.model is missing"),
        ({"tokens": None}, "tokenizer.ggml.tokens is missing"),
        ({"tokens": [1, 2]}, "must be a list of strings"),
        ({"tokens": [*TOKENS[:-1], "<s>"]}, "'<s>' is there twice"),
        ({"token_type": [1, 2]}, "token_type for each of 61 tokens, got 2"),
        ({"bos_token_id": 61}, "bos_token_id must be below the 61 tokens, got 61"),
        ({"scores": None}, "tokenizer.ggml.scores is missing"),
        ({"scores": [1.0]}, "scores for each of 61 tokens, got 1"),
        ({"model": "gpt2"}, "tokenizer.ggml.merges is missing"),
    ],
)
def test_metadata_that_make_no_tokenizer_are_one_error(
    changes: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(ModelFileError, match=message):
        small(tmp_path, **changes)
