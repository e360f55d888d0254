"""vllm#35541 (also #765, #1087): a prompt larger than the pool waited for ever."""

from __future__ import annotations

import pytest

from paged.allocator.registry import ALLOCATORS
from paged.errors import RequestRefused
from tests.helpers.asked import COMPLETIONS, refused
from tests.helpers.live_server import LiveServer


@pytest.mark.parametrize("name", ALLOCATORS)
def test_a_prompt_that_can_never_fit_is_refused(make_engine, name: str) -> None:
    engine = make_engine(
        num_blocks=50,
        max_model_len=1024,
        allocator=name,
        batching=ALLOCATORS[name].batching,
    )
    with pytest.raises(RequestRefused, match="'long' can never fit: "):
        engine.add("long", [1] * (63 * 4), num_new=4)
    assert not engine.engine.has_work
    engine.check_empty()


def test_a_prompt_that_leaves_no_room_for_output_is_refused(make_engine) -> None:
    engine = make_engine(num_blocks=50, max_model_len=16)
    with pytest.raises(RequestRefused, match="prompt of 16 tokens leaves no room for output"):
        engine.add("long", [1] * 16)
    engine.add("longest", [1] * 15)
    assert len(engine.run()["longest", 0].tokens) == 16


@pytest.mark.parametrize("length", [95, 96, 500])
def test_the_refusal_over_http_names_the_limit(server: LiveServer, length: int) -> None:
    error = refused(server, COMPLETIONS, {"prompt": "x" * length})
    assert "max_model_len is 96" in error["message"]
    assert f"{length + 1} tokens" in error["message"]
