"""What a server says of itself before it is put under load."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import httpx

from paged.errors import ServerError
from paged.loadgen.client import Target

_TIMEOUT_S = 10.0
_NO_ACCESS = (401, 403)


def find_model(target: Target) -> Target:
    """Return a target with the first model that the server has.

    Raises: ServerError where it does not answer, or names none.
    """
    url = f"{target.base_url}models"
    key = {} if target.api_key is None else {"Authorization": f"Bearer {target.api_key}"}
    try:
        response = httpx.get(url, headers=key, timeout=_TIMEOUT_S, trust_env=False)
        response.raise_for_status()
        models = cast("list[dict[str, Any]]", response.json()["data"])
        return replace(target, model=str(models[0]["id"]))
    except httpx.HTTPStatusError as error:
        status = error.response.status_code
        hint = "; is the key right (--api-key)?" if status in _NO_ACCESS else ""
        raise ServerError(f"{url}: status {status}{hint}") from error
    except httpx.HTTPError as error:
        raise ServerError(f"{url}: {error or type(error).__name__}; is a server up?") from error
    except (ValueError, KeyError, IndexError, TypeError) as error:
        raise ServerError(f"{url}: expected a list of models; name one with --model") from error
