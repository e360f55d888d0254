"""A tokenizer from a folder: tokenizer.json, tokenizer_config.json, chat_template.jinja."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import cast

import tokenizers

from model_zoo.loading.chat_template import ChatTemplate
from model_zoo.loading.folder_config import end_ids
from model_zoo.loading.json_file import read_object_if_present
from model_zoo.loading.text_tokenizer import TextTokenizer
from model_zoo.loading.tokenizer_faults import tokenizer_faults, try_tokenizer
from paged.errors import ModelFileError

_SPECIAL_NAMES = ("bos_token", "eos_token", "unk_token", "pad_token")


def load_folder_tokenizer(folder: Path, *, chat_template: str | None = None) -> TextTokenizer:
    """Build the tokenizer of a model's folder. Raises ModelFileError.

    chat_template: in place of the folder's own.
    """
    path = folder / "tokenizer_config.json"
    config = read_object_if_present(path)
    backend = _backend(folder / "tokenizer.json")
    named = {name: _token_text(config.get(name)) for name in _SPECIAL_NAMES}
    special = {name: token for name, token in named.items() if token is not None}
    with tokenizer_faults(path, "special tokens that are text"):
        ids = {name: backend.token_to_id(token) for name, token in special.items()}
    text = chat_template or _template_text(folder, config)
    source = str(folder)
    end = ids.get("eos_token")
    return TextTokenizer(
        backend,
        source=source,
        bos_id=ids.get("bos_token"),
        eos_ids={*end_ids(folder), *(() if end is None else (end,))},
        template=None
        if text is None
        else ChatTemplate(text, source=source, special_tokens=special),
    )


def _backend(path: Path) -> tokenizers.Tokenizer:
    if not path.is_file():
        raise ModelFileError(
            f"{path}: the file is missing; save_pretrained of transformers writes it beside the "
            "weights"
        )
    with tokenizer_faults(path, "a tokenizer of the `tokenizers` library"):
        backend = tokenizers.Tokenizer.from_file(str(path))
    # What a file asks for in training must not cut or fill prompts.
    backend.no_truncation()
    backend.no_padding()
    try_tokenizer(backend, path)
    return backend


def _token_text(value: object) -> str | None:
    """Return a special token, which is a string or an object with its content."""
    if isinstance(value, Mapping):
        value = cast("Mapping[str, object]", value).get("content")
    return value if isinstance(value, str) else None


def _template_text(folder: Path, config: Mapping[str, object]) -> str | None:
    path = folder / "chat_template.jinja"
    if path.is_file():
        try:
            return path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ModelFileError(f"{path}: cannot read the chat template: {error}") from error
    value = config.get("chat_template")
    if isinstance(value, list):
        # Several, by name: the one for plain chats.
        named = [
            cast("Mapping[str, object]", item)
            for item in cast("list[object]", value)
            if isinstance(item, Mapping)
        ]
        value = next(
            (item.get("template") for item in named if item.get("name") == "default"), None
        )
    return value if isinstance(value, str) else None
