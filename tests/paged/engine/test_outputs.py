"""Pieces of output add up to the whole."""

from __future__ import annotations

from paged.engine.logprobs import TokenLogprob
from paged.engine.outputs import BeamScore, OutputDelta, PositionLogprobs, SequenceOutput
from paged.scheduler.request import FinishReason


def _delta(text: str, tokens: tuple[int, ...], **others) -> OutputDelta:
    return OutputDelta(request_id="a", sequence_index=0, text=text, tokens=tokens, **others)


def _logprobs(token: int, value: float) -> PositionLogprobs:
    return PositionLogprobs(token=TokenLogprob(token=token, logprob=value, rank=1), top=())


def test_pieces_are_joined_and_the_end_is_kept() -> None:
    output = SequenceOutput(index=0)
    output.add(_delta("he", (1,)))
    output.add(_delta("llo", (2, 3), reason=FinishReason.STOP, stopped_by="!"))
    assert (output.text, output.tokens) == ("hello", [1, 2, 3])
    assert (output.reason, output.stopped_by, output.error) == (FinishReason.STOP, "!", None)
    assert (output.logprobs, output.cumulative_logprob) == (None, None)


def test_log_probabilities_are_joined_and_summed() -> None:
    output = SequenceOutput(index=0)
    output.add(_delta("a", (1,), logprobs=(_logprobs(1, -0.5),)))
    output.add(_delta("", (), logprobs=()))
    output.add(_delta("b", (2,), logprobs=(_logprobs(2, -2.0),)))
    assert output.logprobs is not None
    assert [each.token.token for each in output.logprobs] == [1, 2]
    assert output.cumulative_logprob == -2.5


def test_a_hypothesis_has_a_score_and_so_a_log_probability() -> None:
    output = SequenceOutput(index=0)
    beam = BeamScore(logprob=-3.0, score=-1.5)
    output.add(_delta("ab", (1, 2), reason=FinishReason.STOP, beam=beam))
    assert (output.beam, output.cumulative_logprob) == (beam, -3.0)


def test_an_error_is_kept() -> None:
    output = SequenceOutput(index=0)
    error = ArithmeticError("broken")
    output.add(_delta("", (), reason=FinishReason.ERROR, error=error))
    assert (output.reason, output.error) == (FinishReason.ERROR, error)
