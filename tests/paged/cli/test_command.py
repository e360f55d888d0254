"""Every command is where it is said to be."""

from __future__ import annotations

import pytest

from paged.cli.command import Action, Command
from paged.cli.kernels.main import COMMANDS as OF_KERNELS
from paged.cli.main import COMMANDS


@pytest.mark.parametrize("command", [*COMMANDS, *OF_KERNELS], ids=lambda command: command.place)
def test_its_action_is_at_its_place(command: Command) -> None:
    action = command.load()
    assert isinstance(action, Action)
    assert action.run is not None or command.name in ("bench", "kernels")
