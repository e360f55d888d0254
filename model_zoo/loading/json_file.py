"""A JSON object on the disk, read with the errors a user can act on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import cast

from paged.errors import ModelFileError


def read_object(path: Path) -> dict[str, object]:
    """Read the one object that a JSON file holds. Raises ModelFileError."""
    try:
        content: object = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise ModelFileError(f"{path}: the file is missing; a model needs it") from error
    except OSError as error:
        raise ModelFileError(f"{path}: cannot read the file: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise ModelFileError(
            f"{path}: expected JSON, got {error!s:.120}: the file is damaged; fetch it again"
        ) from error
    if not isinstance(content, dict):
        raise ModelFileError(f"{path}: expected a JSON object, got {type(content).__name__}")
    return cast("dict[str, object]", content)


def read_object_if_present(path: Path) -> dict[str, object]:
    """Read an object from a file that a model may lack; absent, it is empty."""
    return read_object(path) if path.exists() else {}
