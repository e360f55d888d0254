"""The tokenizer of a model that was found."""

from __future__ import annotations

from model_zoo.loading.files import ModelFiles
from model_zoo.loading.tokenizer import Tokenizer


def load_tokenizer(files: ModelFiles, *, chat_template: str | None = None) -> Tokenizer:
    """Build a model's tokenizer. Raises ModelFileError or ConfigError.

    chat_template: its text, in place of the model's own.
    """
    if files.gguf is not None:
        from model_zoo.loading.gguf_tokenizer import load_gguf_tokenizer

        return load_gguf_tokenizer(files.gguf, chat_template=chat_template)
    if files.folder is not None:
        from model_zoo.loading.folder_tokenizer import load_folder_tokenizer

        return load_folder_tokenizer(files.folder, chat_template=chat_template)
    from model_zoo.loading.byte_tokenizer import ByteTokenizer

    return ByteTokenizer(chat_template=chat_template)
