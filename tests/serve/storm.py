#!/usr/bin/env python3
"""One frame with thousands of deadlocks. The service goes on answering others, although nothing reads its log; a cluster
keeps its leader.

    storm.py GORDIAN
    postgres.py storm.py GORDIAN cluster
"""
import contextlib
import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from ports import free_port  # noqa: E402
from frames import Frames, storm  # noqa: E402

PATIENCE = 120  # seconds, far longer than it should take
PAIRS = 4000
# As many as a frame of 1 MiB holds; fewer under the sanitizers, which do little of everything.
CLUSTER_PAIRS = 37000 if int(os.environ.get("GORDIAN_TEST_SCALE", "100")) >= 10 else PAIRS
ATTEMPTS = 5


def until(what, told):
    """What `what()` gives as soon as that is true."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        got = what()
        if got:
            return got
        time.sleep(0.02)
    raise AssertionError(f"waited in vain: {told}")


class Server:
    def __init__(self, gordian, folder, name, stderr, *options):
        self.socket, self.port = os.path.join(folder, name), free_port()
        self.process = subprocess.Popen([gordian, "serve", "--socket", self.socket, "--http", f"127.0.0.1:{self.port}",
                                         *options], stderr=stderr, stdout=subprocess.DEVNULL)

    def get(self, path):
        """The answer; None: there is none."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/{path}", timeout=PATIENCE) as answer:
                return answer.read().decode()
        except OSError:
            return None

    def cluster(self):
        return json.loads(self.get("api/v1/cluster") or "{}")

    def metric(self, name):
        return next(float(line.split()[-1]) for line in self.get("metrics").split("\n") if line.startswith(name))

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


@contextlib.contextmanager
def scratch():
    folder = tempfile.mkdtemp(prefix="gordian-storm-")
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def send_storm(server, pairs):
    """Its outcomes are right."""
    link = Frames(server.socket, timeout=PATIENCE)
    events, expected = storm(link, pairs)
    link.send_events(events)
    assert link.outcomes() == expected


def seen_between(server):
    """Numbers of events that others were shown while a storm was being applied."""
    before, seen, ended = server.metric("gordian_events_total"), set(), threading.Event()

    def look():
        while not ended.is_set():
            seen.add(server.metric("gordian_events_total"))

    thread = threading.Thread(target=look)
    thread.start()
    try:
        send_storm(server, PAIRS)
    finally:
        ended.set()
        thread.join()
    after = server.metric("gordian_events_total")
    return {count for count in seen if before + 3 < count < after}


def fill(pipe):
    """Until not even a byte fits; through a description of our own, so that the service's stays as it is."""
    mine = os.open(f"/proc/self/fd/{pipe}", os.O_WRONLY | os.O_NONBLOCK)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(mine, bytes(1))
    os.close(mine)


def check_alone(gordian):
    reads, writes = os.pipe()
    fcntl.fcntl(writes, fcntl.F_SETPIPE_SZ, 4096)
    with scratch() as folder:
        server = Server(gordian, folder, "socket", writes, "--data", os.path.join(folder, "data"))
        try:
            until(lambda: server.get("healthz"), "the service answers")
            # On a busy machine it may happen once that nothing else is asked meanwhile.
            assert any(seen_between(server) for _ in range(ATTEMPTS)), "nothing was answered while a frame was applied"
            assert server.get("healthz") == "ok\n"
            assert server.metric('gordian_log_lines_suppressed_total{reason="rate"}') > 0
            fill(writes)
            send_storm(server, PAIRS)
            server.process.send_signal(signal.SIGTERM)
            assert server.process.wait(PATIENCE) == 0
        finally:
            server.end()
            os.close(reads)
            os.close(writes)


def print_log(path):
    """Without the lines about single deadlocks."""
    with open(path, encoding="utf-8", errors="replace") as log:
        lines = [line for line in log if "deadlock" not in line]
    print("".join(lines[-40:]), end="", flush=True)


def keeps_leader(gordian, store, schema):
    options = ("--store", store, "--store-schema", schema)
    with scratch() as folder, open(os.path.join(folder, "log"), "wb") as log:
        servers = []
        try:
            servers.append(Server(gordian, folder, "first", log, *options))
            epoch = until(lambda: servers[0].cluster().get("leads") and servers[0].cluster(), "it leads")["epoch"]
            servers.append(Server(gordian, folder, "second", log, *options))
            until(lambda: "leads" in servers[1].cluster(), "the other stands by")
            try:
                send_storm(servers[0], CLUSTER_PAIRS)
            except (AssertionError, EOFError, OSError) as lost:
                print(f"the storm was not answered: {lost}"[:200])
                print_log(log.name)
                return False
            now = until(servers[1].cluster, "who leads")
            if now["epoch"] == epoch and not now["leads"]:
                return True
            print_log(log.name)
            return False
        finally:
            for server in servers:
                server.end()


def main():
    gordian = os.path.abspath(sys.argv[1])
    if len(sys.argv) == 2:
        check_alone(gordian)
    else:
        store = os.environ["GORDIAN_TEST_POSTGRES"]
        # A machine that is busy for seconds may cost any leader its lead once.
        assert any(keeps_leader(gordian, store, f"storm{i}") for i in range(3)), "the leader was replaced"
    print("good")


main()
