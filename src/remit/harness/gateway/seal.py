"""Request state that comes back from a client: sealed, of one use, and good for one request.

A modern client answers a question by sending its request again, with the answers and with the state
that it was given. Whoever can send a request can send that too, so a state says nothing but which
question it is of, under a key of this process alone; what it stands for never leaves.
"""

from __future__ import annotations

import hmac
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

from attrs import define, field

__all__ = ["Forged", "Seal"]

T = TypeVar("T")

#: Seconds for an answer; as long as the approval of a call can be decided.
LIFE = 30 * 60.0
#: Questions that wait for an answer at once; past them the oldest is given up.
_MOST = 256


class Forged(Exception):
    """A state that was not given out here, for this request, or not any more; it says which."""


@define(eq=False)
class Seal(Generic[T]):
    """Gives out states and takes each back once; ``given_up`` hears of those that never came."""

    given_up: Callable[[T], None] = lambda held: None
    clock: Callable[[], float] = time.monotonic
    _key: bytes = field(factory=lambda: secrets.token_bytes(32), init=False, repr=False)
    _held: OrderedDict[str, tuple[T, str, float]] = field(factory=OrderedDict, init=False)

    def issue(self, held: T, request: str) -> str:
        """Return the state that stands for something held, for the digest of a request."""
        self._sweep()
        nonce = secrets.token_urlsafe(18)
        self._held[nonce] = (held, request, self.clock() + LIFE)
        return f"{nonce}.{self._mac(nonce, request)}"

    def redeem(self, state: object, request: str) -> T:
        """Return what a state stands for, and use it up; raises `Forged`."""
        self._sweep()
        nonce, _, mac = state.partition(".") if isinstance(state, str) else ("", "", "")
        # The bytes, because what is not ASCII has no digest to compare with.
        if not hmac.compare_digest(
            mac.encode("utf-8", "replace"), self._mac(nonce, request).encode()
        ):
            raise Forged("it is not the answer to a question about this request")
        if nonce not in self._held:
            raise Forged("the question was answered already, or nobody waits for it any more")
        return self._held.pop(nonce)[0]

    def _mac(self, nonce: str, request: str) -> str:
        told = f"{nonce}\n{request}".encode("utf-8", "replace")
        return hmac.new(self._key, told, "sha256").hexdigest()

    def _sweep(self) -> None:
        """Give up what is too old, and the oldest of too many."""
        now = self.clock()
        while self._held:
            nonce, (held, _, until) = next(iter(self._held.items()))
            if until > now and len(self._held) < _MOST:
                return
            del self._held[nonce]
            self.given_up(held)
