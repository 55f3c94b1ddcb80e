"""What the tests share."""

import os
import random
import re
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
sys.path.append(str(Path(__file__).parents[1]))
os.environ.setdefault("GORDIAN_ROOT", str(Path(__file__).parents[2]))


def scale(number):
    """So much of the usual, in percent of GORDIAN_TEST_SCALE."""
    return max(1, number * int(os.environ.get("GORDIAN_TEST_SCALE", "100")) // 100)


@pytest.fixture
def chance(request):
    """Numbers by chance, the same every time."""
    return random.Random(request.node.name)


@pytest.fixture(scope="session")
def command():
    """The command, where it is."""
    path = os.environ.get("GORDIAN")
    if not path:
        pytest.skip("no gordian command: $GORDIAN names it")
    return path


@contextmanager
def serving(command, folder, *options, listen="127.0.0.1:0"):
    """A service of its own: where it is."""
    socket = folder / "socket"
    server = subprocess.Popen(
        [command, "serve", "--socket", socket, "--http", "none", "--listen", listen, *options],
        stderr=subprocess.PIPE,
        text=True,
    )
    said = []
    for line in server.stderr:
        said.append(line)
        if "ready" in line:
            break
    try:
        if server.poll() is not None:
            pytest.skip("no service: " + "".join(said))
        port = re.search(r"127\.0\.0\.1:(\d+)", "".join(said))
        yield Service(f"unix:{socket}", int(port[1]) if port else None, server)
    finally:
        server.terminate()
        server.stderr.close()
        server.wait()


class Service:
    def __init__(self, uri, port, process):
        self.uri = uri
        self.port = port
        self.process = process


@pytest.fixture
def service(command, tmp_path):
    """A service for a test."""
    with serving(command, tmp_path) as one:
        yield one
