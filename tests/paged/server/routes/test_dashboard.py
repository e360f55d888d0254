"""The page's files: all there, none else, and nothing that they load from elsewhere."""

from __future__ import annotations

import re
from importlib.resources import files

import httpx
import pytest

from paged.server.routes.dashboard import FILES
from tests.helpers.live_server import live_server


@pytest.mark.parametrize("path", FILES)
def test_every_file_is_served_with_its_kind_and_its_bounds(client: httpx.Client, path: str) -> None:
    response = client.get(path)
    assert response.status_code == 200
    name = FILES[path]
    assert response.text == files("paged.server.dashboard").joinpath(name).read_text("utf-8")
    kind = {"html": "text/html", "css": "text/css", "js": "text/javascript"}
    kind["svg"] = "image/svg+xml"
    assert response.headers["content-type"].split(";")[0] == kind[name.rpartition(".")[2]]
    assert "default-src 'self'" in response.headers["content-security-policy"]


def test_every_file_of_the_folder_is_served_and_no_other() -> None:
    there = {each.name for each in files("paged.server.dashboard").iterdir() if each.is_file()}
    assert there - {"__init__.py"} == set(FILES.values())


@pytest.mark.parametrize(
    "path", ["/dashboard/__init__.py", "/dashboard/../app.py", "/dashboard/%2e%2e/app.py"]
)
def test_no_other_path_reaches_a_file(client: httpx.Client, path: str) -> None:
    assert client.get(path).status_code == 404


@pytest.mark.parametrize("name", sorted(set(FILES.values())))
def test_a_file_loads_nothing_from_elsewhere(name: str) -> None:
    text = files("paged.server.dashboard").joinpath(name).read_text("utf-8")
    addresses = set(re.findall(r"(?:https?:)?//[a-z][\w./]*", text))
    # A namespace is a name and is never fetched.
    addresses = {each for each in addresses if not each.endswith("www.w3.org/2000/svg")}
    assert not {each for each in addresses if ":" in each or each.startswith("//www")}
    # Text goes into the page as text.
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", text)


def test_the_page_needs_no_key_and_what_it_shows_does() -> None:
    with live_server(api_keys=("secret",)) as server, httpx.Client(base_url=server.url) as client:
        assert client.get("/").status_code == 200
        assert client.get("/dashboard/main.js").status_code == 200
        assert client.get("/v1/blocks").status_code == 401
        assert client.get("/metrics").status_code == 401
        key = {"Authorization": "Bearer secret"}
        assert client.get("/v1/blocks", headers=key).status_code == 200
