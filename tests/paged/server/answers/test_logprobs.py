"""Log-probabilities in the forms of both endpoints."""

from __future__ import annotations

from model_zoo.loading.byte_tokenizer import ByteTokenizer
from paged.engine.logprobs import TokenLogprob
from paged.engine.outputs import PositionLogprobs
from paged.server.answers.logprobs import LogprobsForm
from paged.server.answers.piece import TokenEntry

TOP = (
    TokenLogprob(token=65, logprob=-0.5, rank=1),
    TokenLogprob(token=0xE5, logprob=-0.75, rank=2),
)
ENTRIES = (
    TokenEntry(token=104, text="h", data=b"h", logprob=None, top=()),
    TokenEntry(token=105, text="i!", data=b"i", logprob=-2.0, top=TOP),
    TokenEntry(token=65, text="A", data=b"A", logprob=-0.5, top=TOP),
)


def test_a_completion_has_four_lists() -> None:
    lists = LogprobsForm(ByteTokenizer()).completion(ENTRIES, first_offset=10)
    assert lists == {
        "tokens": ["h", "i!", "A"],
        "token_logprobs": [None, -2.0, -0.5],
        # The token itself is among them; bytes that are no text have names of their own.
        "top_logprobs": [
            None,
            {"i": -2.0, "A": -0.5, "bytes:\\xe5": -0.75},
            {"A": -0.5, "bytes:\\xe5": -0.75},
        ],
        "text_offset": [10, 11, 13],
    }


def test_a_chat_has_one_list_of_objects_with_bytes() -> None:
    (entry,) = LogprobsForm(ByteTokenizer()).chat(ENTRIES[1:2])["content"]
    assert (entry["token"], entry["logprob"], entry["bytes"]) == ("i!", -2.0, [105])
    assert entry["top_logprobs"] == [
        {"token": "A", "logprob": -0.5, "bytes": [65]},
        {"token": "bytes:\\xe5", "logprob": -0.75, "bytes": [0xE5]},
    ]


def test_tokens_may_be_named_by_ids() -> None:
    form = LogprobsForm(ByteTokenizer(), as_ids=True)
    assert form.completion(ENTRIES[1:2], first_offset=0)["tokens"] == ["token_id:105"]
    assert form.chat(ENTRIES[1:2])["content"][0]["top_logprobs"][0]["token"] == "token_id:65"


def test_a_prompt_is_told_by_ids() -> None:
    own = TokenLogprob(token=105, logprob=-2.0, rank=9)
    position = PositionLogprobs(token=own, top=TOP[:1])
    assert LogprobsForm(ByteTokenizer()).prompt([None, position]) == [
        None,
        {
            "105": {"logprob": -2.0, "rank": 9, "decoded_token": "i"},
            "65": {"logprob": -0.5, "rank": 1, "decoded_token": "A"},
        },
    ]
