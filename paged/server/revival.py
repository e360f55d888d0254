"""Another engine in the place of one that has died."""

from __future__ import annotations

import asyncio
import logging

from paged.server.service import EngineService

_MAX_PAUSE_S = 60.0

_log = logging.getLogger("paged.server")


async def revive(service: EngineService, *, pause_s: float = 1.0) -> None:
    """Start the engine again whenever it dies, for ever.

    pause_s: before the first try; each that fails doubles it.
    """
    next_pause_s = pause_s
    while True:
        await service.died.wait()
        await asyncio.sleep(next_pause_s)
        try:
            await service.start()
        except Exception as error:
            next_pause_s = min(2 * next_pause_s, _MAX_PAUSE_S)
            _log.error("the engine cannot start again", exc_info=error)
        else:
            next_pause_s = pause_s
            _log.warning("the engine has started again")
