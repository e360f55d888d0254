"""Workloads: reconciliation, filters, and the requests they turn into."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from experiments.workload.workload import Workload, WorkloadError


def make(**changes: Any) -> Workload:
    fields: dict[str, Any] = {
        "name": "made",
        "source": "test",
        "prompt_tokens": np.array([5, 9, 2, 7]),
        "output_tokens": np.array([3, 8, 1, 4]),
        "num_rows_read": 5,
        "dropped": {"output_tokens is 0": 1},
        "arrival_s": np.array([0.0, 2.0, 1.0, 3.0]),
        "prompt_block_ids": tuple(np.array(ids, dtype=np.int64) for ids in ([0], [0, 1], [], [0])),
        "hash_block_size": 4,
    }
    return Workload(**{**fields, **changes})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"num_rows_read": 6}, "6 read, 4 kept, 1 dropped"),
        ({"dropped": {}}, "5 read, 4 kept, 0 dropped"),
        ({"output_tokens": np.array([3])}, "every column must have 4 entries"),
        ({"arrival_s": np.zeros(3)}, "every column must have 4 entries"),
        ({"output_tokens": np.array([3, 8, 0, 4])}, "at least 1 token, got 0"),
        ({"hash_block_size": None}, "come together"),
    ],
)
def test_contradictions_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(WorkloadError, match=message):
        make(**changes)


def test_fit_keeps_what_fits_and_counts_the_rest() -> None:
    fitted = make().fit(11)
    assert fitted.prompt_tokens.tolist() == [5, 2, 7]
    assert fitted.output_tokens.tolist() == [3, 1, 4]
    assert fitted.arrival_s is not None
    assert fitted.arrival_s.tolist() == [0.0, 1.0, 3.0]
    assert fitted.prompt_block_ids is not None
    assert [ids.tolist() for ids in fitted.prompt_block_ids] == [[0], [], [0]]
    assert fitted.accounting == (
        "5 rows read = 3 kept + 1 dropped (output_tokens is 0)"
        " + 1 dropped (prompt + output exceeds max_model_len 11)"
    )


def test_fit_that_drops_nothing_changes_nothing() -> None:
    workload = make()
    assert workload.fit(17) is workload


def test_fit_that_drops_everything_is_refused() -> None:
    with pytest.raises(WorkloadError, match=r"no request is left.* 4 dropped \(prompt \+ output"):
        make().fit(2)


def test_head_keeps_the_first() -> None:
    head = make().head(2)
    assert head.prompt_tokens.tolist() == [5, 9]
    assert head.dropped["after the first 2 requests"] == 2
    assert len(make().head(100)) == 4


@pytest.mark.parametrize("num_requests", [0, -1])
def test_head_of_nothing_is_refused(num_requests: int) -> None:
    with pytest.raises(WorkloadError, match="at least 1"):
        make().head(num_requests)


def test_requests_hide_the_output_length_from_the_limit() -> None:
    requests = list(make().requests(20))
    assert [request.request_id for request in requests] == ["0", "1", "2", "3"]
    assert [request.num_prompt_tokens for request in requests] == [5, 9, 2, 7]
    assert [request.max_new_tokens for request in requests] == [15, 11, 18, 13]
    assert [request.final_new_tokens for request in requests] == [3, 8, 1, 4]
    assert {request.arrival_s for request in requests} == {0.0}


def test_requests_come_by_arrival() -> None:
    workload = make()
    requests = list(workload.requests(20, arrivals=workload.arrival_s))
    assert [request.request_id for request in requests] == ["0", "2", "1", "3"]
    assert [request.arrival_s for request in requests] == [0.0, 1.0, 2.0, 3.0]


def test_requests_share_prefixes_only_when_asked() -> None:
    prompts = [request.prompt_tokens for request in make().requests(20, use_prefix_ids=True)]
    assert (prompts[0][:4] == prompts[1][:4]).all()
    assert (prompts[0][:4] == prompts[3][:4]).all()
    assert prompts[2][0] not in prompts[0]
    alike = [request.prompt_tokens for request in make().requests(20)]
    assert {int(token) for prompt in alike for token in prompt} == {0}


def test_bad_calls_raise_before_the_first_request() -> None:
    workload = make()
    with pytest.raises(WorkloadError, match=r"request of 17 tokens.*call fit\(16\)"):
        workload.requests(16)
    with pytest.raises(WorkloadError, match="expected one arrival for each of 4"):
        workload.requests(20, arrivals=np.zeros(3))
    without = make(prompt_block_ids=None, hash_block_size=None)
    with pytest.raises(WorkloadError, match="records no block ids"):
        without.requests(20, use_prefix_ids=True)
