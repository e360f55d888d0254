"""Each kind of files gives its tokenizer."""

from __future__ import annotations

from pathlib import Path

from model_zoo.loading.byte_tokenizer import ByteTokenizer
from model_zoo.loading.files import ModelFiles, resolve
from model_zoo.loading.load_tokenizer import load_tokenizer
from model_zoo.loading.tokenizer import Tokenizer
from tests.helpers.gguf_files import small_llama, write_model
from tests.helpers.tokenizer_folder import write_folder


def test_each_kind_of_files_is_read(tmp_path: Path) -> None:
    assert isinstance(load_tokenizer(resolve("tiny")), ByteTokenizer)
    path = write_model(tmp_path / "a.gguf", small_llama(), "llama")
    from_gguf: Tokenizer = load_tokenizer(resolve(str(path)))
    assert from_gguf.vocab_size == 61
    from_folder = load_tokenizer(ModelFiles(name="a", folder=write_folder(tmp_path)))
    assert from_folder.encode("<s>", add_special_tokens=False) == [0]


def test_a_template_that_is_given_stands_for_the_models_own(tmp_path: Path) -> None:
    path = write_model(tmp_path / "a.gguf", small_llama(), "llama")
    folder = ModelFiles(name="a", folder=write_folder(tmp_path))
    for files in (resolve("tiny"), resolve(str(path)), folder):
        tokenizer = load_tokenizer(files, chat_template="own {{ messages[0].content }}")
        assert tokenizer.apply_chat_template([{"role": "user", "content": "hi"}]) == "own hi"
