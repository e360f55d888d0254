"""Prompts: as long as the workload says, equal for equal seeds, shared where it says so."""

from __future__ import annotations

import numpy as np

from experiments.workload.workload import Workload
from paged.loadgen.prompts import Prompts


def _workload(lengths: list[int], blocks: list[list[int]] | None = None) -> Workload:
    return Workload(
        name="w",
        source="by hand",
        prompt_tokens=np.array(lengths),
        output_tokens=np.ones(len(lengths), np.int64),
        num_rows_read=len(lengths),
        prompt_block_ids=None if blocks is None else tuple(map(np.array, blocks)),
        hash_block_size=None if blocks is None else 16,
    )


def test_a_text_has_so_many_words_and_no_two_are_alike() -> None:
    prompts = Prompts(_workload([5, 40, 40]), seed=3)
    texts = [str(prompts.prompt(index)) for index in range(3)]
    assert [len(text.split(" ")) for text in texts] == [5, 40, 40]
    assert len({*texts, texts[1][: len(texts[0])]}) == 4
    assert len(set(texts[1].split(" "))) > 15


def test_ids_are_below_the_vocabulary_and_all_over_it() -> None:
    ids = Prompts(_workload([4000]), seed=0, vocab_size=300).prompt(0)
    assert len(ids) == 4000
    assert set(ids) == set(range(300))


def test_equal_seeds_make_equal_prompts_in_any_order() -> None:
    first, second = (Prompts(_workload([9, 9]), seed=7) for _ in range(2))
    assert [first.prompt(0), first.prompt(1)] == [second.prompt(i) for i in (1, 0)][::-1]
    assert Prompts(_workload([9, 9]), seed=8).prompt(0) != first.prompt(0)


def test_prompts_share_what_their_blocks_share() -> None:
    workload = _workload([40, 40, 40], [[4, 5, 9], [4, 6, 9], [7, 5, 9]])
    for vocab_size in (None, 1000):
        prompts = Prompts(workload, seed=1, vocab_size=vocab_size)
        first, second, third = (_parts(prompts.prompt(index)) for index in range(3))
        assert len(first) == len(second) == len(third) == 40
        assert first[:16] == second[:16]
        assert first[16:32] != second[16:32]
        assert first[16:32] == third[16:32]
        assert first[:16] != third[:16]


def _parts(prompt: str | list[int]) -> list[str] | list[int]:
    return prompt.split(" ") if isinstance(prompt, str) else prompt
