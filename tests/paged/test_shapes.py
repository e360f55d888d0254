"""Model shapes: published parameter counts follow from the geometry."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from paged.errors import ConfigError
from paged.shapes import MODELS, ModelShape, find_shape

OPT_POSITIONS = 2050


def count_opt_params(shape: ModelShape) -> int:
    hidden, mlp = shape.hidden_size, shape.intermediate_size
    layer = 4 * (hidden * hidden + hidden) + 2 * hidden * mlp + mlp + hidden + 4 * hidden
    return shape.num_layers * layer + 2 * hidden + (shape.vocab_size + OPT_POSITIONS) * hidden


def count_gated_params(shape: ModelShape) -> int:
    hidden, queries = shape.hidden_size, shape.num_heads * shape.head_dim
    keys = shape.num_kv_heads * shape.head_dim
    layer = 2 * hidden * queries + 2 * hidden * keys + 3 * hidden * shape.intermediate_size
    layer += 2 * hidden
    if shape.name.startswith("qwen2"):
        layer += queries + 2 * keys
    if shape.name.startswith("qwen3"):
        layer += 2 * shape.head_dim
    num_embeddings = 1 if shape.name.startswith("smollm2") else 2
    return shape.num_layers * layer + hidden + num_embeddings * shape.vocab_size * hidden


@pytest.mark.parametrize("shape", MODELS.values(), ids=MODELS)
def test_num_params_follow_from_the_geometry(shape: ModelShape) -> None:
    count = count_opt_params if shape.name.startswith("opt") else count_gated_params
    assert shape.num_params == count(shape)


@pytest.mark.parametrize(
    ("name", "expected_bytes"),
    [("opt-13b", 819_200), ("llama-3-8b", 131_072), ("smollm2-135m", 23_040)],
)
def test_kv_bytes_per_token(name: str, expected_bytes: int) -> None:
    assert MODELS[name].kv_bytes_per_token == expected_bytes


def test_shards_split_heads_and_add_up() -> None:
    shape = MODELS["llama-3-70b"]
    shards = [shape.shard(rank, 8) for rank in range(8)]
    assert sum(shard.num_heads for shard in shards) == shape.num_heads
    assert sum(shard.kv_bytes_per_token for shard in shards) == shape.kv_bytes_per_token
    assert 0 <= sum(shard.num_params for shard in shards) - shape.num_params < 8
    assert shape.shard(0, 1) == shape


def test_shards_replicate_scarce_kv_heads() -> None:
    shard = MODELS["llama-3-8b"].shard(15, 16)
    assert (shard.num_heads, shard.num_kv_heads) == (2, 1)


@pytest.mark.parametrize(
    ("rank", "world", "message"),
    [
        (2, 2, "rank must be in"),
        (-1, 2, "rank must be in"),
        (0, 0, "rank must be in"),
        (0, 3, "num_heads 32 cannot be split over 3 ranks"),
    ],
)
def test_impossible_shards_are_refused(rank: int, world: int, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        MODELS["llama-3-8b"].shard(rank, world)


def test_kv_heads_that_neither_split_nor_replicate_are_refused() -> None:
    shape = replace(MODELS["llama-3-8b"], num_heads=24, num_kv_heads=6)
    with pytest.raises(ConfigError, match="6 K and V heads"):
        shape.shard(0, 4)


def test_heads_must_share_kv_heads_evenly() -> None:
    with pytest.raises(ConfigError, match="multiple of num_kv_heads, got 32 and 5"):
        replace(MODELS["llama-3-8b"], num_kv_heads=5)


def test_a_shape_is_read_from_json(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    fields = asdict(MODELS["smollm2-135m"])
    del fields["name"], fields["kv_bytes_per_value"]
    path.write_text(json.dumps(fields))
    assert find_shape(str(path)) == replace(MODELS["smollm2-135m"], name="mine")


def test_a_name_is_looked_up_and_an_unknown_one_lists_the_known() -> None:
    assert find_shape("opt-13b") is MODELS["opt-13b"]
    with pytest.raises(ConfigError, match=r"unknown model 'opt-14b'.*opt-13b, opt-66b"):
        find_shape("opt-14b")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"num_layers": "12"}, "num_layers must be of type int, got '12'"),
        ({"num_layers": True}, "num_layers must be of type int, got True"),
        ({"num_layers": 1.5}, "num_layers must be of type int, got 1.5"),
        ({"num_layers": 0}, "num_layers must be above 0 and at most 1.*, got 0"),
        ({"num_layer": 12}, "unknown: num_layer"),
        ({"weight_bytes_per_param": float("nan")}, "weight_bytes_per_param must be above 0"),
        ({"weight_bytes_per_param": float("inf")}, "weight_bytes_per_param must be above 0"),
        ({"num_params": 10**400}, "num_params must be above 0 and at most 1125899906842624"),
        ({"name": "x" * 5_000}, "expected a name of 1 to 100 printable characters"),
        ({"name": ""}, "expected a name of 1 to 100 printable characters"),
        ({"name": "a\nb"}, "expected a name of 1 to 100 printable characters"),
    ],
)
def test_wrong_fields_in_json_are_refused(
    tmp_path: Path, change: dict[str, object], message: str
) -> None:
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(asdict(MODELS["opt-13b"]) | change))
    with pytest.raises(ConfigError, match=message):
        find_shape(str(path))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "expected a model shape in JSON"),
        ("[" * 100_000, "expected a model shape in JSON"),
        ("[1]", "expected one JSON object, got list"),
        ('{"name": "x"}', "missing: head_dim, hidden_size"),
    ],
)
def test_unusable_json_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "mine.json"
    path.write_text(text)
    with pytest.raises(ConfigError, match=message):
        find_shape(str(path))


@pytest.mark.parametrize("name", ["a" * 5_000, "a\0b", "", "nowhere/else.json"])
def test_what_is_no_file_is_an_unknown_model(name: str) -> None:
    with pytest.raises(ConfigError, match=r"unknown model .* readable JSON file") as caught:
        find_shape(name)
    assert len(str(caught.value)) < 400
