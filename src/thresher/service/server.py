"""Running the service: a socket, and a stop that lets requests under way finish."""

import contextlib
import ipaddress
import signal
import socket
from collections.abc import Callable, Mapping

import uvicorn

from thresher.errors import ParameterError
from thresher.release import Release
from thresher.service.api import application
from thresher.service.limits import Limits

LOOPBACK = "127.0.0.1"
LOOPBACK_NAMES = ("localhost", "127.0.0.1", "[::1]")


def serve(
    releases: Mapping[str, Release],
    *,
    host: str = LOOPBACK,
    port: int = 8000,
    limits: Limits | None = None,
    started: Callable[[str], None] = lambda address: None,
) -> None:
    """Serve releases until SIGTERM or Ctrl-C. Requests under way are finished first.

    Args:
        releases: The releases, by name.
        host: The address to listen on. Only this machine can ask for the loopback address.
        port: The port; 0 for any that is free.
        limits: How much one request may ask for.
        started: Is told the address, when the service listens.
    """
    limits = limits or Limits()
    listening = _listening(host, port)
    shown = f"[{host}]" if ":" in host else host
    hosts = {*LOOPBACK_NAMES, shown} if _is_loopback(host) else ()
    settings = uvicorn.Config(
        application(releases, limits, hosts),
        log_config=None, access_log=False, server_header=False, timeout_keep_alive=30,
        timeout_graceful_shutdown=int(limits.seconds) + 5,
    )  # fmt: skip
    # uvicorn stops in good order, and then raises the signal again: this time nobody minds.
    before = signal.signal(signal.SIGTERM, lambda *_: None)
    try:
        started(f"http://{shown}:{listening.getsockname()[1]}/")
        with contextlib.suppress(KeyboardInterrupt):
            uvicorn.Server(settings).run(sockets=[listening])
    finally:
        signal.signal(signal.SIGTERM, before)
        listening.close()


def _listening(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=2048)
    except (OSError, OverflowError) as fault:
        why = getattr(fault, "strerror", None) or str(fault)
        raise ParameterError(
            f"port {port} of {host} cannot be used: {why}; choose another with --port"
        ) from None


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
