"""Steps that fail: their requests end, the others never notice, no block is lost."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from paged.errors import ConfigError, RequestRefused
from paged.scheduler.request import FinishReason
from tests.helpers.toy_engine import ToyEngine, make_toy_engine
from tests.helpers.toy_model import Language

ARMS = {
    "paged-recompute": {"enable_prefix_caching": True},
    "paged-swap": {"num_host_blocks": 9, "preemption": "swap"},
    "paged-swap-cached": {
        **{"num_host_blocks": 9, "preemption": "swap", "enable_prefix_caching": True},
    },
    "reserved-pow2": {"allocator": "reserved-pow2"},
    "static": {"allocator": "static", "batching": "static"},
    "virtual": {"allocator": "virtual"},
}


_SMALL = {"num_blocks": 11, "block_size": 3, "max_model_len": 24, "max_num_seqs": 5}


def _add_some(engine: ToyEngine, random: Random, number: int) -> int:
    """Add a few requests, many of which begin alike, and say how many there are then."""
    for _ in range(random.choice([0, 0, 1, 3])):
        prompt = [0] * random.randint(1, 9) + [random.randint(0, 2)] * random.randint(0, 3)
        others = {"num_sequences": random.choice([1, 1, 2, 3])}
        try:
            engine.add(f"r{number}", prompt, num_new=random.randint(1, 11), **others)
        except RequestRefused:
            continue
        number += 1
    return number


@pytest.mark.parametrize("arm", ARMS)
def test_failures_end_their_own_requests_and_disturb_no_other(
    arm: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The toy engine compares every stored value and every token with an oracle.
    seen: Counter[str] = Counter()
    for seed in range(25):
        random = Random(seed)
        engine = make_toy_engine(Language(), **_SMALL, max_num_batched_tokens=9, **ARMS[arm])
        number = 0
        for _ in range(40):
            number = _add_some(engine, random, number)
            if random.random() < 0.3:
                _fail(engine, monkeypatch, seen)
            else:
                engine.step()
        engine.run()
        assert len({name for name, _ in engine.finished}) == number
        seen.update(each.reason.value for each in engine.finished.values())
    assert seen["error"] > 20
    assert seen["length"] > 20
    if arm.startswith("paged-swap"):
        assert min(seen["swap_out"], seen["swap_in"], seen["copies"]) >= 3, seen


def _fail(engine: ToyEngine, monkeypatch: pytest.MonkeyPatch, seen: Counter[str]) -> None:
    """Run a step that fails and check who was hit; count what it was to move."""
    execute = engine.executor.execute
    taking_part: set[str] = set()

    def watched(batch):
        owners = [engine.scheduler._core.rows.owner_of(row) for row in batch.rows.tolist()]
        taking_part.update(owner.request.request_id for owner in owners)
        taking_part.update(admitted.request.request_id for admitted in batch.admitted)
        for name in ("swap_out", "swap_in", "copies"):
            seen[name] += len(getattr(batch, name)) > 0
        return execute(batch)

    with monkeypatch.context() as patch:
        patch.setattr(engine.executor, "execute", watched)
        finished = engine.fail_step()
    failed = {each.request.request_id for each in finished if each.error is not None}
    assert failed == taking_part


def test_the_error_is_told_with_the_tokens_known_so_far(make_engine) -> None:
    engine = make_engine(num_blocks=8)
    engine.add("a", [1, 2], num_new=5)
    engine.step()
    (finished,) = engine.fail_step()
    assert (finished.reason, str(finished.error)) == (FinishReason.ERROR, "broken")
    assert len(finished.tokens) == 3
    assert not engine.engine.has_work
    engine.check_empty()


def test_a_request_given_up_during_the_step_that_fails_ends_once(make_engine) -> None:
    engine = make_engine(num_blocks=8)
    engine.add("a", [1, 2], num_sequences=2)
    batch = engine.scheduler.schedule()
    engine.engine.abort("a")
    engine.engine.end_sequence("a", 1, FinishReason.STOP)
    finished = engine.scheduler.abandon(batch, ArithmeticError("broken"))
    assert [each.reason for each in finished] == [FinishReason.ERROR] * 2
    engine.check_empty()


def test_only_the_step_in_flight_can_be_abandoned(make_engine) -> None:
    engine = make_engine(num_blocks=8)
    engine.add("a", [1, 2])
    batch = engine.scheduler.schedule()
    engine.scheduler.abandon(batch, ArithmeticError("broken"))
    with pytest.raises(ConfigError, match=r"abandon\(\) needs the batch of the latest"):
        engine.scheduler.abandon(batch, ArithmeticError("broken"))


def test_what_a_failed_step_computed_is_never_hit(make_engine) -> None:
    engine = make_engine(num_blocks=8, enable_prefix_caching=True)
    engine.add("a", [1] * 8, num_new=1)
    engine.fail_step()
    engine.add("b", [1] * 8, num_new=1)
    engine.step()
    (admitted,) = engine.batches[-1].admitted
    assert admitted.num_cached_tokens == 0
