"""`paged plan`: its arithmetic, by hand, and what it refuses."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from model_zoo.tiny import CONFIG
from paged.allocator.registry import ALLOCATORS
from paged.cli.concurrency import max_concurrency
from paged.cli.main import main
from paged.cli.plan import KV_WIDTHS, MemoryPlan, make_plan
from paged.engine.llm_config import KV_CACHE_DTYPES
from paged.errors import ConfigError
from paged.shapes import MODELS, find_shape
from tests.helpers.gguf_files import small_llama, write_model

SMOLLM2 = find_shape("smollm2-135m")


def run(*arguments: str, capsys: pytest.CaptureFixture[str]) -> str:
    """Return what the command prints."""
    assert main(["plan", *arguments]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    return printed.out


def refusal(*arguments: str, capsys: pytest.CaptureFixture[str]) -> str:
    """Return the one line that the command refuses with."""
    assert main(["plan", *arguments]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    return printed.err


def number(name: str, printed: str) -> int:
    """Return the first number of the line that starts with a name."""
    (found,) = re.findall(rf"^ *{re.escape(name)} +([\d,]+)(?: |$)", printed, re.MULTILINE)
    return int(found.replace(",", ""))


def counts(allocator: str, printed: str) -> list[int]:
    """Return the numbers in an allocator's line."""
    (line,) = (line for line in printed.splitlines() if line.split()[:1] == [allocator])
    return [int(word.replace(",", "")) for word in line.split()[1:]]


def test_the_memory_is_spent_to_the_last_block() -> None:
    plan = make_plan(
        SMOLLM2, gpu_memory_bytes=2**34, utilization=0.5, block_size=16, max_model_len=2048
    )
    # 30 layers, K and V, 3 heads of 64, 2 bytes
    block_bytes = 16 * 30 * 2 * 3 * 64 * 2
    spent = plan.num_blocks * block_bytes + 134_515_008 * 2 + plan.activation_bytes
    assert plan.budget_bytes == 2**33
    assert 0 <= plan.budget_bytes - spent < block_bytes


@pytest.mark.parametrize("num_tokens", [2048, 682, 100, 17])
def test_concurrency_is_what_the_policies_promise(num_tokens: int) -> None:
    plan = make_plan(
        SMOLLM2, gpu_memory_bytes=2**30, utilization=0.9, block_size=16, max_model_len=2048
    )
    blocks = -(-num_tokens // 16)
    most = {name: max_concurrency(plan.cache_config(name), num_tokens) for name in ALLOCATORS}
    assert most["paged"] == most["virtual"] == plan.num_blocks // blocks
    assert most["reserved-oracle-first-fit"] == plan.num_blocks // blocks
    # The buddy allocator hands out powers of two.
    assert most["reserved-max"] == most["static"] == plan.num_blocks // 128
    assert most["reserved-oracle"] <= plan.num_blocks // (1 << (blocks - 1).bit_length())
    assert most["reserved-max"] <= most["reserved-pow2"] <= most["paged"]


def test_it_prints_what_fits(capsys: pytest.CaptureFixture[str]) -> None:
    printed = run("smollm2-135m", "--gpu-memory", "16GiB", "--max-model-len", "3000", capsys=capsys)
    assert number("KV bytes per token", printed) == 23_040
    blocks = number("blocks", printed)
    assert counts("tokens", printed.replace("tokens each", "tokens")) == [3000, 1000, 300]
    assert counts("paged", printed) == [blocks // 188, blocks // 63, blocks // 19]
    assert all(counts(name, printed) for name in ALLOCATORS)


def test_narrower_types_leave_more_blocks(capsys: pytest.CaptureFixture[str]) -> None:
    base = ("llama-3-8b", "--gpu-memory", "24GiB")
    blocks = {
        flags: number("blocks", run(*base, *flags, capsys=capsys))
        for flags in (
            (),
            ("--dtype", "int8"),
            ("--kv-cache-dtype", "float32"),
            ("--kv-cache-dtype", "fp8"),
            ("--gpu-memory-utilization", "0.8"),
            ("--block-size", "32"),
        )
    }
    plain, int8, wide_kv, narrow_kv, less, large = blocks.values()
    assert int8 > plain > less
    assert wide_kv == plain // 2
    assert narrow_kv // 2 == plain
    assert large == plain // 2


def test_a_cache_is_planned_in_every_type_that_serves() -> None:
    assert {"auto", *KV_WIDTHS} == set(KV_CACHE_DTYPES)


def test_float32_weights_have_a_float32_cache(capsys: pytest.CaptureFixture[str]) -> None:
    flags = ("smollm2-135m", "--gpu-memory", "8GiB", "--dtype", "float32")
    assert number("KV bytes per token", run(*flags, capsys=capsys)) == 2 * 23_040
    narrow = run(*flags, "--kv-cache-dtype", "bfloat16", capsys=capsys)
    assert number("KV bytes per token", narrow) == 23_040


def test_a_file_is_planned_from_its_header(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_model(tmp_path / "small.gguf", small_llama(), "llama")
    printed = run(str(path), "--gpu-memory", "8MiB", capsys=capsys)
    assert printed.startswith("small: ")
    # 2 layers, K and V, 2 heads of 12, 4 bytes
    assert number("KV bytes per token", printed) == 2 * 2 * 2 * 12 * 4
    assert counts("tokens", printed.replace("tokens each", "tokens"))[0] == 64
    message = refusal(str(path), "--gpu-memory", "8MiB", "--max-model-len", "65", capsys=capsys)
    assert "allows 64 tokens, got --max-model-len 65" in message


def test_a_folder_is_planned_without_its_weights(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "config.json").write_text(json.dumps(small_llama().values))
    printed = run(str(tmp_path), "--gpu-memory", "8MiB", capsys=capsys)
    assert number("KV bytes per token", printed) == 2 * 2 * 2 * 12 * 4
    assert all(counts(name, printed) for name in ALLOCATORS)


def test_layers_with_a_window_count_by_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keys = {"llama.attention.sliding_window": 7}
    path = write_model(tmp_path / "small.gguf", small_llama(), "llama", **keys)
    printed = run(str(path), "--gpu-memory", "8MiB", "--block-size", "4", capsys=capsys)
    assert "2 of 2 layers keep a window of 7 tokens: paged gives up blocks" in printed
    blocks = number("blocks", printed)
    # The last 7 of 64, 21 and 6 tokens lie in 2, 3 and 2 blocks; others keep 16, 6 and 2.
    assert counts("paged", printed) == [blocks // 2, blocks // 3, blocks // 2]
    assert counts("virtual", printed) == [blocks // 16, blocks // 6, blocks // 2]
    assert counts("reserved-max", printed) == [blocks // 16] * 3


def test_a_sequence_with_windows_may_be_longer_than_the_pool() -> None:
    def tokens_of_the_pool(window: int | None) -> int:
        model = replace(CONFIG, windows=(window, window), max_model_len=2**16)
        plan = make_plan(
            model.shape,
            gpu_memory_bytes=2**24,
            utilization=1.0,
            block_size=16,
            max_model_len=2**16,
            model=model,
        )
        return plan.num_blocks * 16

    assert 4096 < tokens_of_the_pool(window=64) < 2**16
    with pytest.raises(ConfigError, match="does not fit"):
        tokens_of_the_pool(window=None)


def test_what_does_not_fit_is_counted_by_its_windows() -> None:
    def needed_bytes(*windows: int | None) -> int:
        plan = MemoryPlan(
            shape=CONFIG.shape,
            budget_bytes=0,
            activation_bytes=0,
            block_size=16,
            max_model_len=2**16,
            model=replace(CONFIG, windows=windows, max_model_len=2**16),
        )
        return plan.sequence_bytes(2**16)

    whole = 2**16 * CONFIG.shape.kv_bytes_per_token
    assert needed_bytes(None, None) == whole
    assert needed_bytes(2**16, None) == whole
    # Of a window of 65 tokens, the 64 before a step of 2048: 2112 slots, and a block that both cut.
    assert needed_bytes(65, None) == whole // 2 + whole // 2 * (2112 + 16) // 2**16
    assert needed_bytes(65, 65) == whole * (2112 + 16) // 2**16


def test_a_shape_without_weights_is_said_to_be_one(capsys: pytest.CaptureFixture[str]) -> None:
    memory = ("--gpu-memory", "24GiB")
    assert "a shape without weights: to serve" in run("mistral-7b", *memory, capsys=capsys)
    assert "a shape without" not in run("smollm2-135m", *memory, capsys=capsys)
    assert "a shape without" not in run("tiny", *memory, capsys=capsys)


def test_a_number_without_a_unit_is_no_amount(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["plan", "smollm2-135m", "--gpu-memory", "80"])
    assert "expected a unit, got 80: write 80GiB, or 80B" in capsys.readouterr().err


def test_a_shape_of_a_file_is_planned(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "shape.json"
    path.write_text(json.dumps(asdict(MODELS["llama-3-8b"])))
    assert "8,030,261,248 parameters" in run(str(path), "--gpu-memory", "24GiB", capsys=capsys)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--gpu-memory", "8GiB"), "llama-3-8b does not fit: of 7.20 GiB, weights take 14.96 GiB"),
        (("--gpu-memory", "24GiB", "--gpu-memory-utilization", "0"), "above 0 and at most 1"),
        (("--gpu-memory", "24GiB", "--gpu-memory-utilization", "nan"), "above 0 and at most 1"),
        (("--gpu-memory", "24GiB", "--block-size", "0"), "--block-size must be at least 1, got 0"),
        (("--gpu-memory", "24GiB", "--max-model-len", "0"), "--max-model-len must be at least 1"),
        (("--gpu-memory", "24GiB", "--max-model-len", "-5"), "--max-model-len must be at least 1"),
        (("--gpu-memory", "24GiB", "--max-model-len", "999999"), "one sequence of 999999 tokens"),
    ],
)
def test_what_cannot_be_is_refused(
    flags: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert message in refusal("llama-3-8b", *flags, capsys=capsys)


def test_unknown_models_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert "no model 'nonsense'" in refusal("nonsense", "--gpu-memory", "8GiB", capsys=capsys)


def test_memory_must_be_an_amount(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["plan", "smollm2-135m", "--gpu-memory", "much"])
    assert "such as 16GiB or 500MB, got 'much'" in capsys.readouterr().err


def test_a_pool_smaller_than_a_sequence_holds_none() -> None:
    plan = make_plan(
        SMOLLM2, gpu_memory_bytes=2**30, utilization=0.9, block_size=16, max_model_len=2048
    )
    assert plan.fits(2048)
    assert not replace(plan, max_model_len=2**20).fits(plan.num_blocks * 16 + 1)
    with pytest.raises(ConfigError, match="does not fit"):
        make_plan(
            SMOLLM2, gpu_memory_bytes=2**29, utilization=0.6, block_size=16, max_model_len=2048
        )
