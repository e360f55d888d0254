"""A folder's tokenizer does what transformers' does with the same files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import transformers

from model_zoo.loading.folder_tokenizer import load_folder_tokenizer
from paged.errors import ConfigError, ModelFileError, RequestRefused
from tests.helpers.texts import TEXTS
from tests.helpers.tokenizer_folder import write_folder

CHAT = [{"role": "user", "content": "hi"}]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder that tests only read."""
    return write_folder(tmp_path_factory.mktemp("tokenizer"))


def test_texts_are_encoded_and_decoded_as_transformers_does(folder: Path) -> None:
    ours = load_folder_tokenizer(folder)
    theirs: Any = transformers.PreTrainedTokenizerFast.from_pretrained(folder)
    for text in TEXTS:
        for adds in (True, False):
            ids = ours.encode(text, add_special_tokens=adds)
            assert ids == theirs(text, add_special_tokens=adds)["input_ids"], text
            for skips in (True, False):
                decoded = theirs.decode(ids, skip_special_tokens=skips)
                assert ours.decode(ids, skip_special_tokens=skips) == decoded, text
        assert b"".join(map(ours.id_to_bytes, ids)) == text.encode()
    chat = theirs.apply_chat_template(CHAT, tokenize=False)
    assert ours.apply_chat_template(CHAT) == chat == "<s>[user]hi"


def test_a_prompt_is_neither_cut_nor_filled(folder: Path) -> None:
    ours = load_folder_tokenizer(folder)
    assert len(ours.encode("q" * 50)) == 51
    assert len(ours.encode("")) == 1


def test_ends_are_those_of_the_model_and_of_the_tokenizer(folder: Path) -> None:
    ours = load_folder_tokenizer(folder)
    assert ours.bos_id == 0
    assert ours.eos_ids == {1, 2}
    assert ours.special_ids == {0, 1, 2}


def test_a_template_of_its_own_file_goes_first(tmp_path: Path) -> None:
    write_folder(tmp_path)
    (tmp_path / "chat_template.jinja").write_text("own {{ messages[0].content }}")
    assert load_folder_tokenizer(tmp_path).apply_chat_template(CHAT) == "own hi"


def test_of_several_templates_the_default_serves(tmp_path: Path) -> None:
    several = [{"name": "tools", "template": "t"}, {"name": "default", "template": "d"}, 3]
    assert (
        load_folder_tokenizer(write_folder(tmp_path, chat_template=several)).apply_chat_template(
            CHAT
        )
        == "d"
    )


@pytest.mark.parametrize("template", [None, [], 3, [{"name": "tools", "template": "t"}]])
def test_there_may_be_no_template(template: object, tmp_path: Path) -> None:
    assert not load_folder_tokenizer(
        write_folder(tmp_path, chat_template=template)
    ).has_chat_template


def test_special_tokens_may_be_missing(tmp_path: Path) -> None:
    ours = load_folder_tokenizer(write_folder(tmp_path, bos_token=None, eos_token="absent"))
    assert ours.bos_id is None
    assert ours.eos_ids == {2}


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"model": {"type": "BPE"}}'])
def test_a_damaged_tokenizer_is_one_error(content: str, tmp_path: Path) -> None:
    write_folder(tmp_path)
    (tmp_path / "tokenizer.json").write_text(content)
    with pytest.raises(ModelFileError, match=r"tokenizer\.json: expected a tokenizer") as raised:
        load_folder_tokenizer(tmp_path)
    assert "\n" not in str(raised.value)


def test_a_tokenizer_that_cannot_encode_is_one_error(tmp_path: Path) -> None:
    path = write_folder(tmp_path) / "tokenizer.json"
    content = json.loads(path.read_text())
    content["post_processor"]["special_tokens"] = {}
    path.write_text(json.dumps(content))
    with pytest.raises(ModelFileError, match=r"tokenizer\.json: expected a tokenizer that encodes"):
        load_folder_tokenizer(tmp_path)


def test_special_tokens_are_text(tmp_path: Path) -> None:
    write_folder(tmp_path, bos_token="\ud800")
    with pytest.raises(ModelFileError, match=r"tokenizer_config\.json: expected special tokens"):
        load_folder_tokenizer(tmp_path)


def test_missing_and_damaged_files_are_errors(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match=r"tokenizer\.json: the file is missing"):
        load_folder_tokenizer(tmp_path)
    write_folder(tmp_path)
    (tmp_path / "chat_template.jinja").write_bytes(b"\xff")
    with pytest.raises(ModelFileError, match="cannot read the chat template"):
        load_folder_tokenizer(tmp_path)
    (tmp_path / "chat_template.jinja").write_text("{{ raise_exception('no') }}")
    with pytest.raises(RequestRefused, match="no"):
        load_folder_tokenizer(tmp_path).apply_chat_template(CHAT)
    (tmp_path / "config.json").write_text('{"eos_token_id": "x"}')
    with pytest.raises(ConfigError, match="eos_token_id"):
        load_folder_tokenizer(tmp_path)
