"""Every command is where it is said to be."""

from __future__ import annotations

import sys
from argparse import Namespace
from types import SimpleNamespace

import pytest

from paged.cli.command import Action, Command, later
from paged.cli.kernels.main import COMMANDS as OF_KERNELS
from paged.cli.main import COMMANDS


@pytest.mark.parametrize("command", [*COMMANDS, *OF_KERNELS], ids=lambda command: command.place)
def test_its_action_is_at_its_place(command: Command) -> None:
    action = command.load()
    assert isinstance(action, Action)
    assert action.run is not None or command.name in ("bench", "kernels")


def test_what_runs_later_is_imported_when_it_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    run = later("a_module_of_a_test:run")
    module = SimpleNamespace(run=lambda arguments: arguments.status)
    monkeypatch.setitem(sys.modules, "a_module_of_a_test", module)
    assert run(Namespace(status=3)) == 3
