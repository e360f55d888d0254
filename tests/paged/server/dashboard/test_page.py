"""The dashboard in a browser: what it shows is what the server says."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import httpx
import pytest

from tests.helpers.live_server import LiveServer

Map = dict[str, Any]
BLOCKS = "/v1/blocks"


@pytest.fixture(scope="module")
def busy(small: LiveServer) -> Map:
    """Return the map of a server under load: something was copied, somebody pushed out."""
    body = {
        **{"prompt": [f"{'a' * 30}{n}" for n in range(16)], "n": 2},
        **{"max_tokens": 150, "ignore_eos": True, "stream": True},
    }
    with httpx.Client(base_url=small.url, timeout=60) as client:
        with client.stream("POST", "/v1/completions", json=body):
            for _ in range(3000):
                found = client.get(BLOCKS).json()
                if found["statuses"]["preempted"] and _copies_held(found):
                    break
        small.wait_until_empty()
    return found


def _show(page: Any, found: Map) -> None:
    """Let the page show one map, and nothing after it."""
    text = json.dumps(found)
    page.route(f"**{BLOCKS}", lambda route: route.fulfill(json=json.loads(text)))
    page.wait_for_selector(f'body[data-time="{json.dumps(found["time_s"])}"]')


def _states(page: Any) -> Counter[str]:
    return Counter(page.eval_on_selector_all("#map .block", "all => all.map(b => b.dataset.state)"))


def _tile(page: Any, name: str) -> str:
    return page.inner_text(f'[data-tile="{name}"] b')


def _copies_held(found: Map) -> set[int]:
    recent = [copy for copy in found["copies"] if copy["step"] >= found["totals"]["steps"] - 40]
    return {copy["to"] for copy in recent if found["pools"][0]["references"][copy["to"]]}


def test_an_idle_server_has_as_many_blocks_in_the_page_as_in_the_map(
    page: Any, small: LiveServer
) -> None:
    found = httpx.get(f"{small.url}{BLOCKS}").json()
    assert _states(page) == {state: n for state, n in found["counts"].items() if n}
    assert _states(page).total() == found["num_blocks"] == 96
    assert page.inner_text("#model") == "<b>tiny</b>"


def test_counts_copies_and_a_preemption_are_those_of_the_map(page: Any, busy: Map) -> None:
    found = busy
    assert found["statuses"]["preempted"]
    assert _copies_held(found)
    _show(page, found)
    counts = {state: count for state, count in found["counts"].items() if count}
    assert _states(page) == counts
    assert counts["shared"]
    assert counts["held"]
    for state, count in found["counts"].items():
        assert page.inner_text(f'[data-legend="{state}"] b') == str(count)
    marked = page.eval_on_selector_all(
        "#map .block[data-copy]", "all => all.map(b => Number(b.dataset.first))"
    )
    assert set(marked) == _copies_held(found)
    away = found["statuses"]["preempted"]
    assert _tile(page, "preempted").startswith(str(away))
    assert page.locator('.request[data-status="preempted"]').count() == away
    assert page.locator(".request").count() == len(found["requests"])
    numbers = page.eval_on_selector_all(
        '#map .block[data-state="shared"]', "all => all.map(b => Number(b.dataset.count))"
    )
    assert numbers == [count for count in found["pools"][0]["references"] if count > 1]


def test_a_pinned_request_shows_its_tables_and_lights_its_blocks(page: Any, busy: Map) -> None:
    _show(page, busy)
    request = next(each for each in busy["requests"] if len(each["sequences"]) == 2)
    page.click(f'.request[data-id="{request["id"]}"]')
    tables = [each["tables"][0]["blocks"] for each in request["sequences"]]
    shown = page.eval_on_selector_all(
        ".table ol", "all => all.map(list => [...list.children].map(li => Number(li.textContent)))"
    )
    assert shown == tables
    lit = page.eval_on_selector_all(
        "#map .block[data-focus]", "all => all.map(b => Number(b.dataset.first))"
    )
    assert lit == sorted({block for table in tables for block in table})
    page.click(f'#map .block[data-first="{tables[0][-1]}"]')
    assert page.locator("li[data-pinned]").count() == 1
    page.hover(f'#map .block[data-first="{tables[0][0]}"]')
    page.focus(".request >> nth=0")
    page.wait_for_timeout(1000)
    # It has been drawn again since, and is the same element.
    assert page.evaluate("() => document.activeElement.className") == "request"
    assert request["id"] in page.inner_text("#hint")


def test_shadows_are_drawn_to_scale(page: Any, busy: Map) -> None:
    _show(page, busy)
    assert busy["shadows"][1]["num_held"]
    widths = page.eval_on_selector_all(
        ".bar",
        "bars => bars.map(bar => [...bar.children].map(i => i.style.getPropertyValue('--share')))",
    )
    classes = ("token", "granted_unused", "rounding", "cached_free", "free")
    for shares, slots in zip(
        widths, [busy["slots"], *(each["slots"] for each in busy["shadows"])], strict=True
    ):
        total = sum(slots.values())
        wanted = [100 * slots[name] / total for name in classes]
        assert [float(share.rstrip("%")) for share in shares] == pytest.approx(wanted, abs=1e-3)


def test_the_slider_makes_requests_and_takes_them_back(page: Any, small: LiveServer) -> None:
    page.eval_on_selector("#streams", "e => { e.value = 9; e.dispatchEvent(new Event('input')) }")
    page.wait_for_selector('#load-note[data-kind="good"]')
    page.wait_for_selector(".request >> nth=8")
    page.eval_on_selector("#streams", "e => { e.value = 0; e.dispatchEvent(new Event('input')) }")
    small.wait_until_empty()
    page.wait_for_selector(".request", state="detached")


def test_before_the_first_map_the_page_says_that_it_waits_and_makes_load(
    browser: Any, small: LiveServer
) -> None:
    page = browser.new_page()
    page.route(f"**{BLOCKS}", lambda _: None)
    page.goto(small.url)
    page.wait_for_selector("#status >> text=waiting for the engine")
    page.eval_on_selector("#streams", "e => { e.value = 1; e.dispatchEvent(new Event('input')) }")
    page.wait_for_selector("#load-note[data-kind]")
    assert page.get_attribute("#load-note", "data-kind") == "good"
    page.close()
    small.wait_until_empty()


def test_a_chat_is_answered_several_times_and_its_text_is_text(page: Any) -> None:
    page.select_option("#chat-n", "2")
    page.fill("#chat-text", "<img src=x onerror=alert(1)>")
    page.click("#chat-send")
    page.wait_for_selector('.answers .says[data-role="assistant"] >> nth=1', state="attached")
    page.wait_for_selector("#chat-stop[disabled]")
    assert page.locator('.says[data-role="error"]').count() == 0
    assert page.inner_text('.says[data-role="user"]') == "<img src=x onerror=alert(1)>"
    assert page.locator('.answers .says[data-role="assistant"]').count() == 2
    assert page.locator("#chat-log img").count() == 0


def test_names_of_requests_are_text(page: Any, small: LiveServer) -> None:
    found = httpx.get(f"{small.url}{BLOCKS}").json()
    name = '"><script>alert(1)</script><i x="'
    found["time_s"] += 1
    found["requests"] = [
        {
            **{"id": name, "status": "running", "age_s": 1.0, "num_prompt_tokens": 4},
            **{"max_new_tokens": 4, "num_preemptions": 1},
            "sequences": [
                {"index": 0, "num_tokens": 4, "tables": [{"first": 2, "blocks": [0, None]}]}
            ],
        }
    ]
    found["pools"][0]["references"][0] = 1
    _show(page, found)
    page.click(".request")
    assert page.get_attribute(".request", "title") == name
    assert page.locator("main script").count() == 0
    assert page.locator(".table li").all_inner_texts() == ["0", "host"]
    assert "2 blocks given up" in page.inner_text(".table")


def test_it_is_dark_where_the_system_is_and_remembers_a_choice(
    browser: Any, small: LiveServer
) -> None:
    page = browser.new_page(color_scheme="dark")
    page.goto(small.url)
    page.wait_for_selector('html[data-theme="dark"]')
    page.click("#theme")
    page.reload()
    page.wait_for_selector('html[data-theme="light"]')
    page.close()


def test_pause_keeps_what_is_shown(page: Any) -> None:
    page.click("#pause")
    before = page.get_attribute("body", "data-time")
    page.wait_for_timeout(1000)
    assert page.get_attribute("body", "data-time") == before
    page.click("#pause")
    page.wait_for_selector(f'body:not([data-time="{before}"])')
