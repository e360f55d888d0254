"""vllm#3574, #2577, #45636, #57052: a part of a stop string was streamed before it was whole."""

from __future__ import annotations

from typing import Any

import pytest

from paged.sampling_params import SamplingParams
from tests.helpers.asked import completed, pieces
from tests.helpers.live_server import LiveServer
from tests.helpers.scripted import scripted
from tests.helpers.tiny_llm import check_empty, tiny_llm


@pytest.mark.parametrize(
    ("text", "stop", "wanted"),
    [
        ("ABCDEFGHIX", "DEFGHIJ", "ABCDEFGHIX"),
        ("ABCDEFGHIJKL", "DEFGHIJ", "ABC"),
        ("DEFGHIJ", "DEFGHIJ", ""),
        ("xaab", ["aa", "aab"], "x"),
        ("xaab", ["b", "b", "b"], "xaa"),
        ("ab家c", "家", "ab"),
        ("abc", "cd", "abc"),
    ],
)
def test_nothing_of_it_is_seen(server: LiveServer, text: str, stop: Any, wanted: str) -> None:
    with scripted(server, text):
        assert "".join(pieces(server, max_tokens=40, stop=stop)) == wanted
    with scripted(server, text):
        choice = completed(server, max_tokens=40, stop=stop)
    assert (choice["text"], choice["finish_reason"]) == (wanted, "stop")


def test_the_library_never_takes_text_back() -> None:
    llm = tiny_llm()
    prompt = "the quick brown fox"
    plain = SamplingParams(seed=7, max_tokens=40, ignore_eos=True)
    text = llm.generate(prompt, plain)[0].outputs[0].text
    stop = text[7:12]
    start = text.index(stop)
    stopping = SamplingParams(seed=7, max_tokens=40, ignore_eos=True, stop=["never said", stop])
    seen = ""
    with llm.stream(prompt, stopping) as stream:
        for _, delta in stream:
            seen += delta.text
            assert text[:start].startswith(seen)
    assert seen == text[:start]
    check_empty(llm)
