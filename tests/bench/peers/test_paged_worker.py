"""Our own contestant, on the tiny model."""

from __future__ import annotations

from bench.peers.paged_worker import PagedContestant, products, weight_bytes
from paged.kernel.backends.host import HostConfig, find_host
from tests.helpers.tiny_llm import tiny_model


def test_it_draws_what_is_asked_for_and_measures_its_floor() -> None:
    contestant = PagedContestant(model="tiny", threads=1, options={"max_num_seqs": 2})
    assert contestant.serve([[1, 2], [3], [4]], [3, 1, 2]) == 6
    assert "paged" in contestant.versions()
    if find_host(HostConfig()) is not None:
        floor = contestant.op_floor([[1, 2], [3], [4]], [3, 1, 2])
        assert floor["read_s"] > 0
        assert floor["compute_s"] > 0


def test_tied_weights_count_once_and_only_samples_meet_the_head() -> None:
    model = tiny_model()
    params, config = model.params, model.config
    query_rows = (config.num_heads + 2 * config.num_kv_heads) * config.head_dim
    layer = config.hidden_size * (
        query_rows + config.num_heads * config.head_dim + 3 * config.intermediate_size
    )
    head = config.vocab_size * config.hidden_size
    assert products(params, num_tokens=3, num_samples=2) == 3 * config.num_layers * layer + 2 * head
    exact = 4 * (config.num_layers * layer + head)
    # packed rows are rounded up, by far less than a second head would add
    assert exact <= weight_bytes(params) < exact + 2 * head
