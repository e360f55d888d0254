"""nano-vllm#211, #233: a resumed request used the prefix hit of its first admission."""

from __future__ import annotations


def test_resume_is_a_fresh_look_up_over_prompt_and_output(make_engine) -> None:
    calm = make_engine(num_blocks=64, enable_prefix_caching=True)
    tight = make_engine(num_blocks=9, enable_prefix_caching=True)
    for engine in (calm, tight):
        engine.add("seed", [1] * 9, num_new=1)
        engine.run()
        engine.add("first", [1] * 8 + [2] * 4, num_new=12)
        engine.add("second", [1] * 8 + [3] * 6, num_new=12)
        engine.run()
    assert tight.finished["second", 0].num_preemptions > 0
    assert tight.tokens("second") == calm.tokens("second")
    assert tight.tokens("first") == calm.tokens("first")
    resumed = [
        (batch, admitted)
        for batch in tight.batches
        for admitted in batch.admitted
        if admitted.is_resumed
    ]
    for batch, admitted in resumed:
        place = batch.rows.tolist().index(admitted.rows[0])
        # It has drawn tokens by then: they are computed again together with the prompt.
        assert batch.seq_lens[place] > admitted.request.num_prompt_tokens
        assert batch.num_computed[place] == admitted.num_cached_tokens >= 8
