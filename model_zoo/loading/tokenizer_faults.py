"""What the `tokenizers` library raises, as an error that a user can act on."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import tokenizers

from paged.errors import ModelFileError

# Of each kind of character one, for what a tokenizer does not know it finds out here.
_SAMPLE = " a B1\t\n\u00e9\u6f22\U0001f600\x00"
# Raised where the library's own code fails: it is no Exception, and no module exports it.
_PANIC = "PanicException"


@contextmanager
def tokenizer_faults(path: Path, expected: str) -> Generator[None, None, None]:
    """Turn all that the library raises inside the block into a ModelFileError.

    expected: what the file should hold.
    """
    try:
        yield
    except BaseException as error:
        # careful: the library raises nothing narrower, and an interrupt is none of its faults
        if not isinstance(error, Exception) and type(error).__name__ != _PANIC:
            raise
        told = " ".join(str(error).split())
        raise ModelFileError(
            f"{path}: expected {expected}, got {told:.200}: the file is damaged; fetch it again"
        ) from error


def try_tokenizer(backend: tokenizers.Tokenizer, path: Path) -> None:
    """Encode and decode a text, which finds rules that contradict each other.

    Raises ModelFileError.
    """
    with tokenizer_faults(path, "a tokenizer that encodes and decodes any text"):
        ids = backend.encode(_SAMPLE).ids
        backend.decode(ids, skip_special_tokens=False)
