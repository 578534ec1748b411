"""A real server in a process, on a free port of the loopback address."""

import json
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote, urlsplit

import pytest

import thresher as th

FOLDER = Path(__file__).parent.parent / "release" / "first_build" / "tables"
COMMAND = [sys.executable, "-c", "from thresher.cli import main; main()", "serve", str(FOLDER)]


@contextmanager
def served(*options):
    command = [*COMMAND, "--port", "0", "--json", *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        yield process, json.loads(process.stdout.readline())["address"]
    finally:
        process.kill()
        process.communicate()


def test_many_ask_at_once():
    release = th.load(FOLDER)
    queries = [f"age={age}, town={town}" for age in range(20, 25) for town in "ABC"] * 4
    with served() as (_, address), ThreadPoolExecutor(8) as pool:
        assert urlsplit(address).hostname == "127.0.0.1"

        def ask(query):
            url = f"{address}v1/releases/tables/answer?query={quote(query)}"
            with urllib.request.urlopen(url) as response:
                return json.load(response)["answer"]

        assert list(pool.map(ask, queries)) == [release.answer(query) for query in queries]


BODY = b'{"queries": ["town=A"]}'
HEAD = (
    b"POST /v1/releases/tables/answers HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
    b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(BODY)
)


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
def test_a_request_under_way_is_finished_before_the_service_stops(stop):
    with served() as (process, address):
        place = ("127.0.0.1", urlsplit(address).port)
        with socket.create_connection(place) as asking:
            asking.sendall(HEAD + BODY[:5])
            urllib.request.urlopen(f"{address}v1/releases").close()  # so it has seen the request
            process.send_signal(stop)
            wait_until_refused(place)
            asking.sendall(BODY[5:])
            response = asking.makefile("rb").read()
        assert response.startswith(b"HTTP/1.1 200")
        assert b'"query": "town=A"' in response
        assert process.wait(20) == 0
        assert process.stderr.read().endswith("stopped\n")


def test_a_body_that_never_comes_is_refused():
    with (
        served("--seconds", "0.1") as (_, address),
        socket.create_connection(("127.0.0.1", urlsplit(address).port)) as asking,
    ):
        asking.sendall(HEAD + BODY[:5])
        response = asking.makefile("rb").read()
    assert response.startswith(b"HTTP/1.1 408")
    assert b'"too_slow_to_read"' in response


def wait_until_refused(place):
    for _ in range(4000):
        try:
            socket.create_connection(place).close()
        except ConnectionError:
            return
        time.sleep(0.005)
    raise AssertionError("the service still takes new connections")


def test_a_port_that_is_taken_is_a_clear_error():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = subprocess.run([*COMMAND, "--port", str(port)], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.endswith("choose another with --port\n")
    assert str(port) in done.stderr.splitlines()[-1]
