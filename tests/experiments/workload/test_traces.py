"""Reading traces: every format, every kind of damage, round trips, the real files."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.workload.errors import WorkloadError
from experiments.workload.traces import load_trace

AZURE = (
    "TIMESTAMP,ContextTokens,GeneratedTokens\r\n"
    "2023-11-16 18:15:46.6805900,374,44\r\n"
    "2023-11-16 18:15:50.9951690,396,109\r\n"
    "2023-11-16 18:15:51.2224670,879,55"
)
MOONCAKE = (
    '{"timestamp": 0, "input_length": 1025, "output_length": 5, "hash_ids": [0, 1, 2]}\n'
    '{"timestamp": 3000, "input_length": 512, "output_length": 7, "hash_ids": [0]}\n'
)
BAILIAN = (
    '{"chat_id": 1, "parent_chat_id": -1, "timestamp": 61.0, "input_length": 20,'
    ' "output_length": 3, "type": "text", "turn": 1, "hash_ids": [5, 6]}\n'
    '{"chat_id": 2, "parent_chat_id": 1, "timestamp": 61.5, "input_length": 40,'
    ' "output_length": 9, "type": "text", "turn": 2, "hash_ids": [5, 7]}\n'
)
BLOCK16 = (
    '{"timestamp_ns":2000000000,"input_length":20,"output_length":30,"hash_ids":[4],'
    '"output_hash_ids":[5,6]}\n'
    '{"timestamp_ns":2500000000,"input_length":32,"output_length":3,"hash_ids":[4,5],'
    '"output_hash_ids":[]}\n'
)
VLLM = (
    '{"request_id": "a", "input_toks": 20, "output_toks": 3, "arrival_time": 1787267980.25}\n'
    '{"request_id": "b", "input_toks": 30, "output_toks": 4, "arrival_time": 1787267981.5}\n'
)
VIDUR = "num_prefill_tokens,num_decode_tokens,num_total_tokens,pd_ratio\n20,3,23,6.7\n30,4,34,7.5\n"


def write(folder: Path, text: str, name: str = "trace.csv") -> Path:
    path = folder / name
    data = text.encode()
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path


@pytest.mark.parametrize("name", ["trace.csv", "trace.csv.gz"])
def test_azure(tmp_path: Path, name: str) -> None:
    workload = load_trace(write(tmp_path, AZURE, name))
    assert workload.name == "trace"
    assert workload.source == f"Azure CSV trace {name}"
    assert workload.prompt_tokens.tolist() == [374, 396, 879]
    assert workload.output_tokens.tolist() == [44, 109, 55]
    assert workload.arrival_s == pytest.approx([0.0, 4.314579, 4.541877], abs=1e-6)
    assert workload.prompt_block_ids is None
    assert workload.accounting == "3 rows read = 3 kept"


@pytest.mark.parametrize(
    ("text", "size", "ids", "arrival_s"),
    [
        (MOONCAKE, 512, [[0, 1, 2], [0]], [0.0, 3.0]),
        (BAILIAN, 16, [[5, 6], [5, 7]], [0.0, 0.5]),
        (BLOCK16, 16, [[4], [4, 5]], [0.0, 0.5]),
    ],
)
def test_formats_with_block_ids(
    tmp_path: Path, text: str, size: int, ids: list[list[int]], arrival_s: list[float]
) -> None:
    workload = load_trace(write(tmp_path, text))
    assert workload.hash_block_size == size
    assert workload.prompt_block_ids is not None
    assert [row.tolist() for row in workload.prompt_block_ids] == ids
    assert workload.arrival_s == pytest.approx(arrival_s)


def test_block16_ids_continue_into_the_output(tmp_path: Path) -> None:
    workload = load_trace(write(tmp_path, BLOCK16))
    assert workload.output_block_ids is not None
    assert [row.tolist() for row in workload.output_block_ids] == [[5, 6], []]
    tokens = workload.sequence_tokens()
    first = np.concatenate([tokens.prompt(0), tokens.output(0)])
    assert (tokens.prompt(1) == first[:32]).all()


def test_vllm_requests(tmp_path: Path) -> None:
    workload = load_trace(write(tmp_path, VLLM))
    assert workload.prompt_tokens.tolist() == [20, 30]
    assert workload.output_tokens.tolist() == [3, 4]
    assert workload.arrival_s == pytest.approx([0.0, 1.25], abs=1e-6)


@pytest.mark.parametrize(
    "text",
    [
        VIDUR,
        "prefill,decode\n20,3\n30,4\n",
        "client, output_tokens , prompt_tokens\n0,3,20\n1,4,30\n",
        '{"input_tokens": 20, "output_tokens": 3}\n{"input_tokens": 30, "output_tokens": 4}\n',
    ],
)
def test_prefill_decode(tmp_path: Path, text: str) -> None:
    workload = load_trace(write(tmp_path, text))
    assert workload.prompt_tokens.tolist() == [20, 30]
    assert workload.output_tokens.tolist() == [3, 4]
    assert workload.arrival_s is None


def test_arrivals_of_prefill_decode_count_from_the_first(tmp_path: Path) -> None:
    path = write(tmp_path, "arrival_s,prefill,decode\n7.5,20,3\n7.0,30,4\n")
    assert load_trace(path).arrival_s == pytest.approx([0.5, 0.0])


def test_empty_requests_are_dropped_by_reason(tmp_path: Path) -> None:
    path = write(tmp_path, "arrival_s,prefill,decode\n0,5,0\n1,0,4\n2,0,0\n3,6,1\n5,7,1\n")
    workload = load_trace(path)
    assert workload.dropped == {"output_tokens is 0": 1, "prompt_tokens is 0": 2}
    assert workload.num_rows_read == 5
    assert workload.prompt_tokens.tolist() == [6, 7]
    assert workload.arrival_s == pytest.approx([0.0, 2.0])


@pytest.mark.parametrize(
    ("text", "old", "new", "message"),
    [
        (AZURE, "ContextTokens", "Context", "expected the columns of a trace .*, got TIMESTAMP,C"),
        (AZURE, ",879,", ",-1,", ":4: ContextTokens: expected a whole number .* got '-1'"),
        (AZURE, ",109", ",nan", ":3: GeneratedTokens: expected a finite number, got 'nan'"),
        (AZURE, ",109", ",1.5", ":3: GeneratedTokens: expected a whole number"),
        (AZURE, ",109", ",99999999999", ":3: GeneratedTokens: expected a whole number"),
        (AZURE, ",109", ",", ":3: GeneratedTokens: expected a finite number, got ''"),
        (AZURE, ",109", "", ":3: expected 3 fields, got 2"),
        (AZURE, "2023-11-16 18:15:50", "noon", ":3: TIMESTAMP: expected a date"),
        (VIDUR, "34", "35", ":3: expected num_total_tokens 34, prompt . output, got 35"),
        (MOONCAKE, "[0]", "[0, 3]", ":2: expected 1 block ids for the length, got 2"),
        (MOONCAKE, "[0, 1, 2]", "[0]", ":1: expected 2 or 3 block ids for the length, got 1"),
        (MOONCAKE, "[0]", "[-1]", ":2: hash_ids: expected a list of block ids"),
        (MOONCAKE, "[0]", '["a"]', ":2: hash_ids: expected a list of block ids"),
        (MOONCAKE, "3000", "NaN", ":2: timestamp: expected a finite number"),
        (MOONCAKE, '"output_length": 7', '"output": 7', ":2: the field output_length is missing"),
        (MOONCAKE, "[0]}", "[0]", ":2: malformed JSON"),
        (MOONCAKE, " 512", " true", ":2: input_length: expected a finite number, got True"),
        (MOONCAKE, " 512", " null", ":2: input_length: expected a finite number, got None"),
        (BLOCK16, "[5,6]", "[5]", ":1: expected 2 block ids for the length, got 1"),
        (BLOCK16, "[4]", "[4,5]", ":1: expected 1 block ids for the length, got 2"),
        (BLOCK16, "output_hash_ids", "other_ids", "expected the columns of a trace"),
        ("prefill,decode\n", "", "", "a header and no rows"),
        ("prefill,decode\n5,0\n", "", "", "no request is left: 1 rows read = 0 kept . 1 dropped"),
        ("20,3\n30,4\n", "", "", "expected a header with the names"),
        ("", "", "", "the file is empty"),
        ("{}\n", "", "", "expected the columns of a trace"),
        ("[1, 2]\n", "", "", "a JSON array; expected JSON lines"),
    ],
)
def test_damaged_files_are_refused(
    tmp_path: Path, text: str, old: str, new: str, message: str
) -> None:
    damaged = text.replace(old, new) if old else text
    assert damaged != text or not old
    path = write(tmp_path, damaged)
    with pytest.raises(WorkloadError, match=message) as caught:
        load_trace(path)
    assert "trace" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WorkloadError, match="No such file"):
        load_trace(tmp_path / "missing.csv")
    with pytest.raises(WorkloadError, match="Is a directory"):
        load_trace(str(tmp_path))
    with pytest.raises(WorkloadError, match="not gzip"):
        load_trace(write(tmp_path, AZURE).rename(tmp_path / "trace.csv.gz"))


lengths = st.lists(
    st.tuples(st.integers(1, 10**6), st.integers(1, 10**6), st.integers(0, 10**9)),
    min_size=1,
    max_size=20,
)


@given(lengths, st.booleans())
def test_written_rows_come_back(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[int, int, int]], is_gzip: bool
) -> None:
    text = "prompt_tokens,output_tokens,arrival_s\n" + "".join(
        f"{prompt},{output},{arrival_us / 1e6:.6f}\n" for prompt, output, arrival_us in rows
    )
    folder = tmp_path_factory.getbasetemp()
    workload = load_trace(write(folder, text, "rows.csv.gz" if is_gzip else "rows.csv"))
    arrivals_us = np.array([row[2] for row in rows])
    assert workload.prompt_tokens.tolist() == [row[0] for row in rows]
    assert workload.output_tokens.tolist() == [row[1] for row in rows]
    assert workload.arrival_s == pytest.approx((arrivals_us - arrivals_us.min()) / 1e6)


@given(
    st.lists(st.tuples(st.integers(1, 70), st.integers(1, 9)), min_size=1, max_size=8), st.data()
)
def test_written_block_ids_come_back(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[int, int]], data: st.DataObject
) -> None:
    records: list[dict[str, Any]] = [
        {
            "chat_id": index,
            "timestamp": index,
            "input_length": prompt,
            "output_length": output,
            "hash_ids": data.draw(
                st.lists(st.integers(0, 2**62), min_size=prompt // 16, max_size=-(-prompt // 16))
            ),
        }
        for index, (prompt, output) in enumerate(rows)
    ]
    text = "".join(json.dumps(record) + "\n" for record in records)
    workload = load_trace(write(tmp_path_factory.getbasetemp(), text, "rows.jsonl"))
    assert workload.prompt_tokens.tolist() == [row[0] for row in rows]
    assert workload.prompt_block_ids is not None
    ids = [row.tolist() for row in workload.prompt_block_ids]
    assert ids == [record["hash_ids"] for record in records]


# Rows, then mean, median, 99th percentile and maximum of prompt and of output.
REAL = {
    "azure_2023_conv.csv.gz": (19_366, (1155, 1020, 4142, 14_050), (211, 129, 601, 1000)),
    "azure_2023_code.csv.gz": (8819, (2048, 1469, 7436, 7437), (28, 13, 251, 1899)),
    "mooncake_conversation.jsonl.gz": (
        12_031, (12_035, 6909, 85_400, 126_195), (343, 350, 1119, 2000),
    ),
    "lmsys_arena_vtc.csv.gz": (1500, (136, 40, 902, 1021), (256, 211, 785, 977)),
    "sharegpt_multiturn_300_blk16.jsonl.gz": (300, (857, 732, 2765, 3998), (653, 632, 784, 1021)),
    "vllm019_rtx4090_llama31_8b_requests.jsonl.gz": (
        300, (857, 732, 2765, 3998), (653, 632, 784, 1021),
    ),
    "arxiv_summarization_vidur.csv.gz": (
        28_257, (2588, 2730, 3933, 4054), (291, 167, 3271, 4056),
    ),
    "arxiv_long_online_vattention.csv.gz": (
        10_111, (29_567, 27_843, 44_959, 45_819), (363, 318, 1118, 10_845),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REAL)
def test_real_traces_have_their_published_statistics(traces_dir: Path, name: str) -> None:
    num_rows, prompt, output = REAL[name]
    workload = load_trace(traces_dir / name)
    assert workload.num_rows_read == len(workload) == num_rows
    assert not workload.dropped
    for column, expected in ((workload.prompt_tokens, prompt), (workload.output_tokens, output)):
        got = (column.mean(), np.median(column), np.percentile(column, 99), column.max())
        assert got == pytest.approx(expected, abs=0.51)


@pytest.mark.parametrize(
    ("name", "span_s", "rate_per_s"),
    [
        ("azure_2023_conv.csv.gz", 3502, 5.53),
        ("azure_2023_code.csv.gz", 3436, 2.57),
        ("mooncake_conversation.jsonl.gz", 3537, 3.40),
        ("lmsys_arena_vtc.csv.gz", 600, 2.50),
    ],
)
def test_real_arrivals_have_their_published_rate(
    traces_dir: Path, name: str, span_s: float, rate_per_s: float
) -> None:
    workload = load_trace(traces_dir / name)
    assert workload.arrival_s is not None
    assert (np.diff(workload.arrival_s) >= 0).all()
    assert workload.arrival_s[-1] == pytest.approx(span_s, abs=0.5)
    assert len(workload) / workload.arrival_s[-1] == pytest.approx(rate_per_s, abs=0.006)


def test_real_trace_without_lengths_is_refused(traces_dir: Path) -> None:
    with pytest.raises(WorkloadError, match="got t,prompt_throughput"):
        load_trace(traces_dir / "vllm019_rtx4090_llama31_8b_timeseries.csv.gz")
    with pytest.raises(WorkloadError, match="malformed JSON"):
        load_trace(traces_dir / "servegen_length_quantiles.json.gz")
