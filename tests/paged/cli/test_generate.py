"""`paged generate`: text on standard output, all else on standard error."""

from __future__ import annotations

import io
import re
import sys

import pytest

from paged.allocator.registry import ALLOCATORS
from paged.cli.main import main
from paged.engine.model_executor import ModelExecutor
from paged.sampling_params import SamplingParams
from tests.helpers.tiny_llm import tiny_llm

TINY = ["--model", "tiny", "--dtype", "float32", "--device", "cpu", "--max-model-len", "96"]


def _run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = main(["generate", *arguments, *TINY])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_the_text_is_that_of_the_library(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = _run(capsys, "hello", "--max-tokens", "9")
    wanted = tiny_llm().generate("hello", SamplingParams(temperature=0.0, max_tokens=9))
    assert (status, out) == (0, wanted[0].outputs[0].text + "\n")
    assert err.startswith("loading tiny\nloaded in ")
    assert "6 prompt tokens in " in err
    assert err.endswith("; 9 tokens; finish reason: length\n")


def test_a_chat_goes_through_the_template(capsys: pytest.CaptureFixture[str]) -> None:
    _, _, err = _run(capsys, "hi", "--chat", "--max-tokens", "1")
    assert f"{len('user: hi') + 1 + len('assistant: ')} prompt tokens" in err


def test_a_dash_reads_standard_input(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = _run(capsys, "hello", "--max-tokens", "5")[1]
    monkeypatch.setattr(sys, "stdin", io.StringIO("hello"))
    assert _run(capsys, "-", "--max-tokens", "5")[1] == expected


def test_options_reach_the_engine(capsys: pytest.CaptureFixture[str]) -> None:
    seeds = {
        _run(capsys, "a", "--max-tokens", "8", "--temperature", "1.5", "--seed", seed)[1]
        for seed in "1122"
    }
    assert len(seeds) == 2
    plain = _run(capsys, "a", "--max-tokens", "8")[1]
    others = ["--block-size", "8", "--kernel", "attention=reference"]
    others += ["--kv-cache-memory-bytes", "1MiB"]
    for policy in (["--allocator", "reserved-max"], ["--preemption", "swap"]):
        assert _run(capsys, "a", "--max-tokens", "8", *others, *policy)[1] == plain
    others = ["--num-gpu-blocks-override", "6", "--kv-cache-memory-bytes", "40kB"]
    assert _run(capsys, "a", "--max-tokens", "8", *others)[1] == plain


@pytest.mark.parametrize("allocator", ALLOCATORS)
def test_every_allocator_gives_the_same_text(
    capsys: pytest.CaptureFixture[str], allocator: str
) -> None:
    (wanted,) = tiny_llm().generate("hello", SamplingParams(temperature=0.0, max_tokens=9))
    status, out, _ = _run(capsys, "hello", "--max-tokens", "9", "--allocator", allocator)
    assert (status, out) == (0, wanted.outputs[0].text + "\n")


def test_several_outputs_come_one_after_the_other(capsys: pytest.CaptureFixture[str]) -> None:
    drawn = ["--max-tokens", "4", "--temperature", "1", "--seed", "3"]
    status, out, err = _run(capsys, "a", *drawn, "--n", "3")
    params = SamplingParams(n=3, temperature=1.0, max_tokens=4)
    wanted = tiny_llm(seed=3).generate("a", params)[0].outputs
    texts = [f"[{index + 1} of 3]\n{output.text}\n" for index, output in enumerate(wanted)]
    assert (status, out) == (0, "".join(texts))
    assert len(set(texts)) == 3
    assert err.endswith("; 12 tokens; finish reason: length (3)\n")


@pytest.mark.parametrize(
    ("flags", "pattern"),
    [
        (["--regex", "[0-9]{3}-[xy]"], r"[0-9]{3}-[xy]"),
        (["--choice", "red", "--choice", "blue"], "red|blue"),
        (["--json-schema", '{"type": "boolean"}'], "true|false"),
        (["--regex", "a+b", "--chat", "--n", "2", "--temperature", "1"], None),
    ],
)
def test_the_output_is_what_the_grammar_says(
    capsys: pytest.CaptureFixture[str], flags: list[str], pattern: str | None
) -> None:
    status, out, _ = _run(capsys, "hello", "--max-tokens", "40", *flags)
    assert status == 0
    if pattern is not None:
        assert re.fullmatch(pattern, out.strip())
    else:
        assert all(re.fullmatch("a+b?", line) for line in out.splitlines()[1::2])


def test_the_summary_names_the_text_that_ended_it(capsys: pytest.CaptureFixture[str]) -> None:
    whole = _run(capsys, "a", "--max-tokens", "9")[1]
    assert whole[1:3] == "11"
    _, out, err = _run(capsys, "a", "--max-tokens", "9", "--stop", "11")
    assert out == f"{whole[:1]}\n"
    assert err.endswith("; finish reason: stop '11'\n")


def test_help_states_every_default(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["generate", "--help"])
    flags = re.findall(r"^  --\S.*(?:\n   +.*)*", capsys.readouterr().out, re.MULTILINE)
    named = {flag.split()[0]: " ".join(flag.split()) for flag in flags}
    assert {"--n", "--top-k", "--min-p", "--seed", "--kv-cache-dtype"} <= set(named)
    assert not [flag for flag, text in named.items() if "default:" not in text]
    assert "(default: 1)" in named["--max-num-seqs"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["", "--chat", "--max-tokens", "0"], "max_tokens: expected an integer at least 1, got 0"),
        (["a", "--temperature", "9"], "temperature: expected a number from 0.0 to 2.0, got 9.0"),
        (["a", "--top-p", "0.5", "--n", "2"], "--n, --top-p changes nothing at temperature 0, "),
        (["a", "--min-p", "0"], "--min-p changes nothing at temperature 0, which always takes"),
        (["a", "--temperature", "1", "--top-k", "-2"], "top_k: expected an integer from -1 to"),
        (["a", "--regex", "("], "grammar.regex: "),
        (["a", "--choice", ""], "grammar.choice: expected a list of strings, none of them empty"),
        (["a", "--json-schema", '{"type": "sound"}'], "grammar.json_schema: "),
        (["a", "--json-schema", "absent.json"], "cannot read 'absent.json'"),
        (["x" * 96], "leaves no room for output: max_model_len is 96"),
        (["a", "--num-gpu-blocks-override", "5"], "from num_gpu_blocks_override=5, and the alloc"),
        (["a", "--kv-cache-memory-bytes", "40kB"], "from kv_cache_memory_bytes=40000, and the all"),
        (["a", "--gpu-memory-utilization", "2"], "gpu_memory_utilization: expected a number from"),
        (["a", "--preemption", "swap", "--allocator", "virtual"], "needs the allocator paged"),
        (["a", "--kernel", "copy_blocks=vector", "--kernel", "copy_blocks=reference"], "two kern"),
    ],
)
def test_errors_take_one_line(
    capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    status, out, err = _run(capsys, *arguments)
    assert (status, out) == (2, "")
    *_, last = err.splitlines()
    assert last.startswith("paged generate: error: ")
    assert message in last


def test_a_step_that_fails_ends_with_an_error(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: ModelExecutor, batch: object) -> None:
        raise ArithmeticError("broken")

    monkeypatch.setattr(ModelExecutor, "execute", fail)
    status, _, err = _run(capsys, "a")
    assert status == 1
    assert err.endswith("paged generate: error: ArithmeticError: broken\n")
