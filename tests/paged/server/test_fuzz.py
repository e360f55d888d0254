"""Whatever the OpenAPI schema allows or forbids, the answer is one that it names, and no 500."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from paged.server.limits import Limits
from paged.server.reference_page import openapi_schema
from tests.helpers.live_server import LiveServer, live_server

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
OPERATIONS = {
    result.ok().label: result.ok()
    for result in schemathesis.openapi.from_dict(openapi_schema()).get_all_operations()
    if isinstance(result, Ok)
}
CALLS = [
    (label, mode)
    for label, operation in OPERATIONS.items()
    for mode in GenerationMode
    # Nothing can be wrong with a request without a body.
    if mode.is_positive or operation.body
]


@pytest.fixture(scope="module")
def server() -> Iterator[LiveServer]:
    """Serve a few sequences for each request, so that none takes long."""
    with live_server(limits=Limits(max_sequences=4)) as running:
        yield running
        running.wait_until_empty()


def _fuzz(server: LiveServer, label: str, mode: GenerationMode, num_examples: int) -> None:
    operation = OPERATIONS[label]

    @settings(
        max_examples=num_examples if operation.body else 3,
        phases=[Phase.generate],
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def call(case: Any) -> None:
        _shorten(case.body)
        case.call_and_validate(base_url=server.url, checks=CHECKS)

    call()
    assert server.client.get("/health").status_code == 200


def _shorten(body: Any) -> None:
    """Let a request take a few steps and not all that the context has room for."""
    if isinstance(body, dict) and ("prompt" in body or "messages" in body):
        for name in ("max_tokens", "max_completion_tokens"):
            limit = body.get(name)
            if limit is None or (type(limit) is int and limit > 4):
                body[name] = 4


@pytest.mark.parametrize(("label", "mode"), CALLS)
def test_an_answer_is_one_of_the_schema(
    server: LiveServer, label: str, mode: GenerationMode
) -> None:
    _fuzz(server, label, mode, 40)


@pytest.mark.soak
@pytest.mark.slow
@pytest.mark.parametrize(("label", "mode"), CALLS)
def test_so_it_is_a_thousand_times(server: LiveServer, label: str, mode: GenerationMode) -> None:
    _fuzz(server, label, mode, 1000)
