"""Requests that a step admitted, as columns and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from paged.recording.columns import ColumnReader, ColumnWriter
from paged.scheduler.batch import Admitted
from paged.scheduler.request import Request, length_only_prompt

_COUNTS = ("max_new_tokens", "priority", "num_sequences")


def put_admitted(out: ColumnWriter, admitted: Admitted) -> None:
    """Write an admitted request, but for how its output is drawn. Mutates: out."""
    request = admitted.request
    out.put_text("request_id", request.request_id)
    out.put_float("arrival_s", request.arrival_s)
    for name in _COUNTS:
        out.put_int(name, getattr(request, name))
    # one more, so that 0 stands for an unknown length
    final = request.final_new_tokens
    out.put_int("final_new_tokens", 0 if final is None else final + 1)
    prompt = request.prompt_tokens
    is_length_only = not prompt.any()
    out.put_int("num_prompt_tokens", len(prompt))
    out.put_int("is_length_only", is_length_only)
    if not is_length_only:
        out.put("prompt_token", prompt)
    out.put_int("num_admitted_rows", len(admitted.rows))
    out.put("admitted_row", admitted.rows)
    out.put("sequence_index", np.array(admitted.sequence_indices))
    out.put_int("num_cached_tokens", admitted.num_cached_tokens)
    out.put_int("is_resumed", admitted.is_resumed)


def take_admitted(columns: ColumnReader) -> Admitted:
    """Read what `put_admitted` wrote. Mutates: columns. Raises: RecordingError."""
    request_id, arrival_s = columns.take_text("request_id"), columns.take_float("arrival_s")
    counts: dict[str, Any] = {name: columns.take_int(name) for name in _COUNTS}
    final_new_tokens = columns.take_int("final_new_tokens")
    num_prompt_tokens = columns.take_int("num_prompt_tokens")
    is_length_only = columns.take_int("is_length_only")
    request = Request(
        request_id=request_id,
        prompt_tokens=length_only_prompt(num_prompt_tokens)
        if is_length_only
        else columns.take("prompt_token", num_prompt_tokens).astype(np.int32),
        arrival_s=arrival_s,
        final_new_tokens=final_new_tokens - 1 if final_new_tokens else None,
        **counts,
    )
    num_rows = columns.take_int("num_admitted_rows")
    return Admitted(
        request=request,
        rows=columns.take("admitted_row", num_rows),
        sequence_indices=tuple(columns.take("sequence_index", num_rows).tolist()),
        num_cached_tokens=columns.take_int("num_cached_tokens"),
        is_resumed=bool(columns.take_int("is_resumed")),
    )
