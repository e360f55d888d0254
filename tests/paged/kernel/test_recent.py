"""A bounded table keeps what was used last."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from paged.kernel.recent import Recent


@given(st.integers(1, 3), st.lists(st.integers(0, 6)))
@example(2, [0, 1, 2, 3, 0, 4, 0])
def test_the_keys_used_last_are_kept_and_twice_as_many_at_most(size: int, keys: list[int]) -> None:
    table = Recent[int, str](size)
    for done, key in enumerate(keys):
        used = list(dict.fromkeys(reversed(keys[:done])))
        found = table.get(key)
        assert found in (None, f"value {key}")
        if key in used[:size]:
            assert found is not None
        if found is None:
            table.put(key, f"value {key}")
    assert sum(table.get(key) is not None for key in range(7)) <= 2 * size


def test_an_unknown_key_has_no_value() -> None:
    table = Recent[str, int](2)
    assert table.get("a") is None
    table.put("a", 0)
    assert table.get("a") == 0
