"""One-line mutants that the regression tests of models and servers must notice: see `mutants`."""

from __future__ import annotations

from tests.regressions.mutants import Mutant

SERVER_MUTANTS = (
    Mutant(
        test="test_prompt_logprobs_of_a_cached_prompt.py",
        source="scheduler/request_state.py",
        old="            tokens=None if reports_prompt else tokens,\n",
        new="            tokens=tokens if reports_prompt else tokens,\n",
    ),
    Mutant(
        test="test_finite_logprobs.py",
        source="engine/logprobs.py",
        old="    return values.clamp(min=LEAST_LOGPROB).cpu().numpy()\n",
        new="    return values.cpu().numpy()\n",
    ),
    Mutant(
        test="test_empty_prompt.py",
        source="server/protocol/prompt.py",
        old="    if isinstance(value, str) and value:\n",
        new="    if isinstance(value, str):\n",
    ),
    Mutant(
        test="test_echo_once_for_each_choice.py",
        source="server/answers/choice.py",
        old="            self._echo = None\n",
        new="",
    ),
    Mutant(
        test="test_part_of_a_stop_string.py",
        source="engine/stop_strings.py",
        old="        num_certain = len(text) - node.depth\n",
        new="        num_certain = len(text)\n",
    ),
    Mutant(
        test="test_broken_characters.py",
        source="engine/detokenizer.py",
        old="        return self._decoder.decode(self._id_to_bytes(token_id))\n",
        new='        return self._id_to_bytes(token_id).decode(errors="replace")\n',
    ),
    Mutant(
        test="test_ids_out_of_the_vocabulary.py",
        source="sampling_params.py",
        old="            wrong = [token for token in ids if token >= vocab_size]\n",
        new="            wrong = [token for token in ids if token >= 2**31]\n",
    ),
    Mutant(
        test="test_number_of_choices.py",
        source="sampling_params.py",
        old='    "n": (1, MAX_SEQUENCES),\n',
        new='    "n": (1, None),\n',
    ),
    Mutant(
        test="test_choices_of_one_seed.py",
        source="engine/sampler.py",
        old="uniforms(rows.seed[part], rows.sequence_index[part], rows.draw_index[part])",
        new="uniforms(rows.seed[part], rows.draw_index[part], rows.draw_index[part])",
    ),
    Mutant(
        test="test_reason_of_the_end.py",
        source="server/answers/chat_form.py",
        old='chunk |= {"finish_reason": piece.reason.value, "stop_reason": piece.stopped_by}\n',
        new='chunk |= {"stop_reason": piece.stopped_by}\n',
    ),
    Mutant(
        test="test_streams_given_up.py",
        source="server/service.py",
        old="            self._put(lambda frontend: _abort(frontend, running))\n",
        new="            self._put(lambda frontend: _abort(frontend, []))\n",
    ),
    Mutant(
        test="test_leaving_in_every_state.py",
        source="server/disconnect.py",
        old="        finally:\n            self.give_up()\n",
        new="        finally:\n            pass\n",
    ),
    Mutant(
        test="test_lone_surrogate.py",
        source="server/protocol/json_route.py",
        old="kind.model_validate(from_json(data))",
        new='kind.model_validate(__import__("json").loads(data))',
    ),
    Mutant(
        test="test_chat_logprobs_alone.py",
        source="server/protocol/chat.py",
        old="(self.top_logprobs or 0) if self.logprobs else None",
        new="self.top_logprobs if self.logprobs else None",
    ),
    Mutant(
        test="test_encoded_twice.py",
        source="server/routes/generation.py",
        old="JSONResponse(whole)",
        new="JSONResponse(str(whole))",
    ),
    Mutant(
        test="test_values_at_the_edges.py",
        source="sampling_params.py",
        old='    "temperature": (0.0, 2.0),\n',
        new='    "temperature": (0.0, 2.5),\n',
    ),
    Mutant(
        test="test_body_that_is_no_request.py",
        source="server/routes/generation.py",
        old=", status=404, param=",
        new=", status=400, param=",
    ),
)
