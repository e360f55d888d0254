"""What the page makes of maps that a small server does not have: rates, large pools, keys."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from tests.helpers.live_server import LiveServer, live_server


@pytest.fixture
def found(small: LiveServer) -> dict[str, Any]:
    """Return the map of an idle server."""
    return httpx.get(f"{small.url}/v1/blocks").json()


def _call(page: Any, code: str, *values: Any) -> Any:
    """Run an expression over the functions of view.js, as `view`, and values, as `v`."""
    return page.evaluate(
        f"async (v) => {{ const view = await import('/dashboard/view.js'); return {code} }}",
        list(values),
    )


def test_rates_are_growth_over_time_and_begin_again_with_another_engine(page: Any) -> None:
    totals = [(1.0, 10, 4), (2.0, 30, 8), (2.0, 30, 8), (4.0, 130, 9)]
    maps = [
        {"time_s": time_s, "totals": {"steps": steps, "tokens": tokens}, "slots": {}}
        for time_s, tokens, steps in totals
    ]
    code = (
        "(() => { const h = new view.History(10); v[0].forEach((m) => h.add(m));"
        " return [h.rates('tokens'), h.rate('tokens', 100), h.rate('tokens', 2.5)] })()"
    )
    assert _call(page, code, maps) == [[20, 50], 40, 50]
    # The engine after it has taken fewer steps.
    maps.append({"time_s": 5.0, "totals": {"steps": 1, "tokens": 1}, "slots": {}})
    assert _call(page, code, maps) == [[], None, None]


def test_bands_stand_on_each_other_and_fill_the_pool(page: Any) -> None:
    slots = {"token": 4, "granted_unused": 3, "rounding": 1, "cached_free": 0, "free": 2}
    bands = _call(page, "view.bands(v[0])", [{"slots": slots | {"reserved": 0, "internal": 0}}])
    lower = [band["lower"][0] for band in bands]
    upper = [band["upper"][0] for band in bands]
    assert lower == pytest.approx([0.0, 0.4, 0.7, 0.8, 0.8])
    assert upper == pytest.approx([0.4, 0.7, 0.8, 0.8, 1.0])
    assert _call(page, "view.unused(v[0])", slots | {"reserved": 1, "internal": 1}) == 0.6


def test_hues_stay_while_a_request_is_there_and_neighbours_differ(page: Any) -> None:
    code = (
        "(() => { const h = new view.Hues(); const a = ['a', 'b', 'a'].map((id) => h.angle(id));"
        " h.keep(['b']); return [...a, h.angle('b'), h.angle('a')] })()"
    )
    first, second, again, kept, anew = _call(page, code)
    assert (first, second) == (again, kept)
    assert abs(first - second) > 60
    assert anew != first


def test_a_large_pool_has_several_blocks_in_a_cell(page: Any, found: dict[str, Any]) -> None:
    references = [0] * 10_000
    references[4], references[5] = 1, 2
    found["pools"] = [{"num_blocks": 10_000, "references": references, "cached": [6, 7]}]
    found["time_s"] += 1
    found["counts"] = {"held": 1, "shared": 1, "cached": 2, "free": 9_996}
    page.route("**/v1/blocks", lambda route: route.fulfill(json=found))
    page.wait_for_selector(f'body[data-time="{json.dumps(found["time_s"])}"]')
    states = page.eval_on_selector_all("#map .block", "all => all.map(b => b.dataset.state)")
    assert len(states) == -(-10_000 // 3)
    assert states[:4] == ["free", "shared", "cached", "free"]
    assert page.inner_text('[data-legend="free"] b') == "9996"


def test_without_a_key_it_asks_for_one_and_then_shows_all(browser: Any) -> None:
    with live_server(api_keys=("secret",)) as server:
        page = browser.new_page()
        page.goto(server.url)
        page.wait_for_selector("#key-form:not([hidden])")
        assert "Authorization" in page.inner_text("#status")
        page.fill("#key", "secret")
        page.click("#key-form button")
        page.wait_for_selector("#map .block")
        page.wait_for_selector('#status[data-kind="live"]')
        assert page.is_hidden("#key-form")
        page.close()


def test_a_server_that_is_gone_is_told(browser: Any) -> None:
    with live_server() as server:
        page = browser.new_page()
        page.goto(server.url)
        page.wait_for_selector("#map .block")
        page.route("**/v1/blocks", lambda route: route.abort())
        page.wait_for_selector('#status[data-kind="bad"]')
        assert page.inner_text("#status") == "the server does not answer"
        page.close()


def test_copies_are_marked_for_some_steps_in_the_pools_they_were_made_in(page: Any) -> None:
    copies = [(59, None, 3), (60, None, 4), (95, 1, 5)]
    made = {
        "totals": {"steps": 100},
        "pools": [{}, {}],
        "copies": [{"step": step, "pool": pool, "to": to} for step, pool, to in copies],
    }
    assert _call(page, "[...view.freshCopies(v[0], 40)]", made) == ["0:4", "1:4", "1:5"]
