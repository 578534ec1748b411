"""What is checked of a request before it is served: its host, and the size of its body."""

import asyncio
from collections.abc import Collection

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from thresher.service.limits import Limits
from thresher.service.refusal import Refusal


class Guard:
    """Refuses requests to other hosts, and bodies that are too large or come too slowly.

    A page of another site can send a browser's requests to a server on the same machine under a
    name of its choice. So a server on the loopback address answers only to its names.

    Args:
        app: The application.
        limits: The limits.
        hosts: The names that requests may be sent to; empty for any.
    """

    def __init__(self, app: ASGIApp, limits: Limits, hosts: Collection[str] = ()) -> None:
        self._app, self._limits, self._hosts = app, limits, frozenset(hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        try:
            self._check_host(headers.get(b"host", b"").decode("latin-1"))
            self._check_size(headers.get(b"content-length", b"0"))
        except Refusal as refusal:
            await refusal.response()(scope, receive, send)
            return
        await self._app(scope, self._limited(receive), send)

    def _check_host(self, host: str) -> None:
        name = host.rpartition(":")[0] if not host.endswith("]") and ":" in host else host
        if self._hosts and name not in self._hosts:
            raise Refusal(421, f"this service answers to {', '.join(sorted(self._hosts))} only")

    def _check_size(self, length: bytes) -> None:
        if not length.isdigit() or int(length[:20]) > self._limits.body:
            raise self._too_large()

    def _too_large(self) -> Refusal:
        return Refusal(413, f"the body must be at most {self._limits.body:,} bytes: send less")

    def _limited(self, receive: Receive) -> Receive:
        """The receiving function, for as many bytes and seconds as the limits allow."""
        seen, is_whole = 0, False
        ends = asyncio.get_running_loop().time() + self._limits.seconds

        async def receive_some() -> Message:
            nonlocal seen, is_whole
            try:
                async with asyncio.timeout_at(None if is_whole else ends):
                    message = await receive()
            except TimeoutError:
                raise Refusal(408, "the body did not arrive in time") from None
            seen += len(message.get("body", b""))
            is_whole = not message.get("more_body", False)
            if seen > self._limits.body:
                raise self._too_large()
            return message

        return receive_some
