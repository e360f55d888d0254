"""Whatever the library raises is one error that names the file; what is not its own passes."""

from __future__ import annotations

from pathlib import Path

import pytest
import tokenizers
from tokenizers import models, processors

from model_zoo.loading.tokenizer_faults import tokenizer_faults, try_tokenizer
from paged.errors import ModelFileError

FILE = Path("some.json")


def small_tokenizer() -> tokenizers.Tokenizer:
    return tokenizers.Tokenizer(
        models.BPE(vocab={"<unk>": 0, "a": 1}, merges=[], unk_token="<unk>")
    )


def test_what_it_raises_is_one_error() -> None:
    with (
        pytest.raises(ModelFileError, match=r"^some\.json: expected rules, got .*out of vocabu"),
        tokenizer_faults(FILE, "rules"),
    ):
        models.BPE(vocab={"a": 0, "b c": 1}, merges=[("a", "a")])


def test_where_its_own_code_fails_is_one_error() -> None:
    with (
        pytest.raises(ModelFileError, match=r"^some\.json: expected rules, got \w") as raised,
        tokenizer_faults(FILE, "rules"),
    ):
        # It makes room for the longest token of the vocabulary.
        models.BPE(vocab={"<s>": 0, "</s>": 1}, merges=[("<s>", "</s>")])
    assert not isinstance(raised.value.__cause__, Exception)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_an_interrupt_is_no_fault(error: type[BaseException]) -> None:
    with pytest.raises(error), tokenizer_faults(FILE, "rules"):
        raise error


def test_a_tokenizer_that_works_passes() -> None:
    try_tokenizer(small_tokenizer(), FILE)


def test_a_tokenizer_that_starts_texts_with_an_unknown_token_does_not() -> None:
    described = small_tokenizer()
    described.post_processor = processors.TemplateProcessing(
        single="<s> $A", pair=None, special_tokens=[("<s>", 0)]
    )
    text = described.to_str().replace('"special_tokens":{"<s>":', '"special_tokens":{"<x>":')
    broken = tokenizers.Tokenizer.from_str(text)
    with pytest.raises(ModelFileError, match="a tokenizer that encodes and decodes any text"):
        try_tokenizer(broken, FILE)
