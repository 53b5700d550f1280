"""`Election`: one leader at a time among the processes that are candidates."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from threading import Event, Thread, get_ident
from typing import Any

import gcom
from gcom.blocks.lock import Lock
from gcom.errors import Forked, GComError, NotAMember
from gcom.runtime.user_process.callbacks import check_callback

AGAIN_S = 0.5


class Election:
    """A candidate: it is the leader when those before it are gone.

        with gcom.blocks.Election(node, "scheduler", on_gain=start, on_loss=stop): ...

    `on_gain(token)` is called when this process becomes the leader, and `on_loss()` when it is so no more, one after
    the other, by a thread of the election's own. `on_gain` should return soon. After a loss it is a candidate again.

    Consistency: that of `gcom.blocks.Lock`. A leader that is paused or cut off may believe for a while that it still
    leads: give its token with what it writes, and have the resource refuse a lower one.
    """

    def __init__(
        self,
        node: gcom.Node,
        name: str,
        *,
        on_gain: Callable[[int], object] = lambda _: None,
        on_loss: Callable[[], object] = lambda: None,
        **options: Any,
    ) -> None:
        check_callback("on_gain", on_gain, 1)
        check_callback("on_loss", on_loss, 0)
        self._lock = Lock(node, f"leader-{name}", **options)
        self._on_gain, self._on_loss = on_gain, on_loss
        self._token = 0
        self._closing = False
        self._thread = Thread(target=self._run, name=f"gcom election {name}", daemon=True)
        self._thread.start()

    @property
    def leader(self) -> str:
        """The process that leads, as this process knows; empty: nobody."""
        return self._lock.holder

    @property
    def token(self) -> int:
        """The token of this process while it leads, else 0: it rises with each leader."""
        return self._token

    def close(self) -> None:
        """Lead no more, and be no candidate. `on_loss` is called first if it leads. May be called again."""
        self._closing = True
        self._lock.lost.set()
        if get_ident() == self._thread.ident:
            return  # from a callback: the thread closes the lock as it ends
        self._thread.join(self._lock.timeout_s if self._token else 0.0)
        self._lock.close()
        self._thread.join(self._lock.timeout_s)

    def __enter__(self) -> Election:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _run(self) -> None:
        while not self._closing:
            try:
                self._lock.release()
                if token := self._lock.acquire(None):
                    self._lead(token)
            except (NotAMember, Forked):  # the block was closed, or its group is over
                break
            except GComError:  # no majority was heard for a while: it is a candidate again
                Event().wait(AGAIN_S)
        self._lock.close()

    def _lead(self, token: int) -> None:
        self._token = token
        self._call(self._on_gain, token)
        while not self._closing and not self._lock.lost.wait(1.0):
            pass
        self._token = 0
        self._call(self._on_loss)

    def _call(self, callback: Callable[..., object], *arguments: object) -> None:
        try:
            callback(*arguments)
        except Exception:  # outermost: what the application's callback raises is not the election's end
            traceback.print_exc()
