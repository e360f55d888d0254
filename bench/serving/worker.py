"""Contestants in processes of their own: `python -m bench.serving.worker NAME`."""

from __future__ import annotations

import socket
import sys
import threading
import time
from functools import partial
from time import perf_counter
from typing import Any

import uvicorn

from bench.peers.service import serve_stdin
from bench.serving.engine_process import ProcessService
from bench.serving.floor import Floor
from bench.serving.instant import Pace, make_paced_engine, paced_model, paced_options
from bench.serving.load import Load, prompt
from paged.engine.engine import give_up
from paged.engine.frontend import Frontend
from paged.engine.llm_config import LLMConfig
from paged.engine.loaded_model import LoadedModel, load_model
from paged.engine.model_engine import make_engine
from paged.engine.request_maker import RequestMaker
from paged.sampling_params import SamplingParams
from paged.scheduler.request import Request
from paged.server.app import create_app
from paged.server.config import ServerConfig
from paged.server.runner import Listen, Runner, run_loop, spare_collector
from paged.server.service import EngineService


class Worker:
    """What all contestants answer."""

    def __init__(self) -> None:
        self.pace = Pace()

    def versions(self) -> dict[str, str]:
        from importlib.metadata import version

        return {name: version(name) for name in ("paged", "uvicorn", "fastapi")}

    def op_step(self, step_s: float) -> dict[str, Any]:
        """Let steps last so long from now on."""
        self.pace.step_s = step_s
        return {}

    def op_cpu(self) -> dict[str, float]:
        """Tell the processor time of all threads so far."""
        return {"cpu_s": time.process_time()}


class EngineWorker(Worker):
    """The engine and its frontend, driven by this process."""

    def __init__(self, model: str) -> None:
        super().__init__()
        options = paced_options(model)
        self._model = paced_model(model)
        engine = make_paced_engine(options, self._model, pace=self.pace, on_failure=give_up)
        self._frontend = Frontend(engine, self._model.tokenizer)
        config = self._model.config
        self._maker = RequestMaker(
            self._model.tokenizer,
            vocab_size=config.vocab_size,
            max_model_len=config.max_model_len,
            seed=0,
            grammars=self._model.grammars,
        )
        self._num_made = 0
        # As the server does it, whose difference to this is told.
        spare_collector()

    def op_load(self, **values: Any) -> dict[str, float]:
        """Run a load, as many requests at once as in a server, and tell what that took.

        Texts become tokens meanwhile, as an LLM without a server does it.
        """
        load, num_running = Load(**values), 0
        numbers = list(range(load.num_requests))
        begin_s, begin_cpu_s = perf_counter(), time.process_time()
        while numbers or num_running:
            while numbers and num_running < load.num_streams:
                self._frontend.add(self._request(numbers.pop(), load))
                num_running += 1
            num_running -= sum(delta.reason is not None for delta in self._frontend.step())
        cpu_s = time.process_time() - begin_cpu_s
        return {"seconds": perf_counter() - begin_s, "cpu_s": cpu_s}

    def _request(self, number: int, load: Load) -> Request:
        messages = [{"role": "user", "content": prompt(number)}]
        self._num_made += 1
        return self._maker.make(
            self._model.tokenizer.apply_chat_template(messages),
            SamplingParams(max_tokens=load.output_tokens),
            arrival_s=self._frontend.engine.now_s,
            request_id=str(self._num_made),
            add_special_tokens=False,
        )


class Listening(Worker):
    """A worker that serves in a thread of its own."""

    def __init__(self) -> None:
        super().__init__()
        self._listen = Listen(port=0)
        self._bound = self._listen.bound_socket()

    def op_port(self) -> dict[str, int]:
        """Tell where it listens."""
        return {"port": self._bound.getsockname()[1]}

    def _serve(self, server: uvicorn.Server) -> None:
        thread = threading.Thread(
            target=lambda: run_loop(server.serve(sockets=[self._bound])), daemon=True
        )
        thread.start()
        while not server.started:
            time.sleep(0.01)


class ServerWorker(Listening):
    """The whole server. is_paced: with an engine that computes nothing."""

    def __init__(self, model: str, is_paced: bool = True) -> None:
        super().__init__()
        options, loaded = _loaded(model, is_paced)
        make = partial(make_paced_engine, pace=self.pace) if is_paced else make_engine
        self._run(EngineService(options, loaded, make_engine=make), model)

    def _run(self, service: EngineService, model: str) -> None:
        config = ServerConfig(served_model_names=(model,))
        self._serve(Runner(create_app(service, config), service, config, self._listen))


class _Silent(Runner):
    """A server that says nothing when it is ready."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await uvicorn.Server.startup(self, sockets)


class ProcessWorker(ServerWorker):
    """The same with the engine in a process of its own, and without what watches it."""

    def __init__(self, model: str, is_paced: bool = True) -> None:
        Listening.__init__(self)
        self._service = ProcessService(*_loaded(model, is_paced), is_paced=is_paced)
        self._run(self._service, model)

    def _run(self, service: EngineService, model: str) -> None:
        config = ServerConfig(served_model_names=(model,))
        app = create_app(service, config)
        self._serve(_Silent(app, service, config, self._listen))

    def op_step(self, step_s: float) -> dict[str, Any]:
        self._service.tell("step", step_s)
        return {}

    def op_cpu(self) -> dict[str, float]:
        return {"cpu_s": time.process_time() + self._service.child_cpu_s()}


class FloorWorker(Listening):
    """A bare application, which says what the server said. Texts: as of `Floor`."""

    def __init__(self, whole: str, events: list[str]) -> None:
        super().__init__()
        app = Floor(self.pace, whole=whole.encode(), events=[event.encode() for event in events])
        self._serve(uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False)))


def _loaded(model: str, is_paced: bool) -> tuple[LLMConfig, LoadedModel]:
    options = paced_options(model)
    return options, paced_model(model) if is_paced else load_model(options)


WORKERS: dict[str, type[Worker]] = {
    "engine": EngineWorker,
    "server": ServerWorker,
    "process": ProcessWorker,
    "floor": FloorWorker,
}

if __name__ == "__main__":
    sys.exit(serve_stdin(WORKERS[sys.argv[1]]))
