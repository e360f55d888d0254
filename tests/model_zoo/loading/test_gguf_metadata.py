"""Keys come with the type that is asked for, or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from model_zoo.loading.gguf_metadata import PREFIX, GgufMetadata, end_ids
from paged.errors import ModelFileError

METADATA = GgufMetadata(
    Path("some.gguf"),
    {
        "integer": 3,
        "number": 0.5,
        "flag": True,
        "text": "t",
        "texts": ["a"],
        "integers": [1],
        "numbers": [0.5],
        "empty": list[str](),
    },
)
QUERIES = {
    "integer": {"integer"},
    "number": {"number", "integer"},
    "flag": {"flag"},
    "text": {"text"},
    "texts": {"texts", "empty"},
    "integers": {"integers", "empty"},
    "numbers": {"numbers", "integers", "empty"},
}


@pytest.mark.parametrize("query", QUERIES)
def test_a_query_returns_values_of_its_type_and_refuses_others(query: str) -> None:
    for key, value in METADATA.values.items():
        if key in QUERIES[query]:
            assert getattr(METADATA, query)(key) == value
        else:
            with pytest.raises(ModelFileError, match=f"some.gguf: {key} must be"):
                getattr(METADATA, query)(key)
    assert getattr(METADATA, query)("absent") is None


def test_what_is_required_must_be_there() -> None:
    assert METADATA.required("integer", METADATA.integer("integer")) == 3
    with pytest.raises(ModelFileError, match="the key absent is missing"):
        METADATA.required("absent", METADATA.integer("absent"))


def test_the_end_of_a_text_is_the_first_of_those_that_end_an_answer() -> None:
    keys = {f"{PREFIX}.eot_token_id": 5, f"{PREFIX}.eos_token_id": 7, f"{PREFIX}.eom_token_id": 5}
    assert end_ids(GgufMetadata(Path("some.gguf"), keys)) == (7, 5)
    assert end_ids(METADATA) == ()
