"""`python -m experiments` lists what can be run."""

from __future__ import annotations

from importlib import import_module

from experiments.__main__ import experiments, main


def test_lists_each_experiment_on_one_line(capsys):
    assert main() == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(list(experiments()))
    assert any(
        line.startswith("python -m experiments.fragmentation ") and "Figure 2" in line
        for line in lines
    )


def test_everything_listed_can_be_run():
    for name, text in experiments():
        assert callable(import_module(f"experiments.{name}").main)
        assert text
