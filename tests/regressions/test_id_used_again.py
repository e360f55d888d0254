"""Own find: an aborted request came back to life when its id was used again."""

from __future__ import annotations


def test_the_new_request_is_served_and_the_old_one_stays_dead(make_engine) -> None:
    engine = make_engine(num_blocks=8, max_num_seqs=1)
    engine.add("running", [1] * 4, num_new=4)
    engine.step()
    # Both wait behind another, so the old entry is still in the queue.
    for name, token in (("head", 2), ("again", 3)):
        engine.add(name, [token] * 4, num_new=2)
    engine.engine.abort("again")
    engine.add("again", [4] * 4, num_new=2)
    engine.run()
    assert engine.tokens("again")[:4] == [4] * 4
    assert len(engine.tokens("again")) == 6


def test_a_request_overtaken_and_preempted_waits_again(make_engine) -> None:
    engine = make_engine(num_blocks=8, lookahead=1)
    engine.add("first", [1] * 11, num_new=12)
    engine.step()
    engine.add("too large", [2] * 24, num_new=1)
    engine.add("overtakes", [3] * 4, num_new=12)
    engine.run()
    assert engine.finished["overtakes", 0].num_preemptions > 0
    assert len(engine.tokens("overtakes")) == 16
