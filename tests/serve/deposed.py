#!/usr/bin/env python3
"""A leader is stopped, another takes over, and the first goes on: it must not show events that were never committed,
nor say that it leads. Run by postgres.py:

    deposed.py GORDIAN [ROUNDS]
"""
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from ports import free_port  # noqa: E402

PATIENCE = 120  # seconds, far longer than it should take
LEASE = "2s"
PATHS = ("systems/default/graph", "systems/default/graph?limit=2000", "cluster", "systems", "cluster",
         "systems/default/graph")


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
    def __init__(self, gordian, folder, name):
        self.socket, self.port = os.path.join(folder, name), free_port()
        self.log = open(self.socket + ".log", "w+", encoding="utf-8")
        self.process = subprocess.Popen([gordian, "serve", "--store", os.environ["GORDIAN_TEST_POSTGRES"],
                                         "--store-schema", "deposed", "--socket", self.socket, "--http",
                                         f"127.0.0.1:{self.port}", "--leader-lease", LEASE],
                                        stdout=self.log, stderr=self.log)

    def ask(self, path):
        """A request that is under way."""
        link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        link.request("GET", "/api/v1/" + path)
        return link

    def cluster(self):
        try:
            return answer_of(self.ask("cluster"))[1] or {}
        except OSError:
            return {}

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


def answer_of(link):
    """The status and what it says; 0: the connection has ended."""
    try:
        answer = link.getresponse()
        status, text = answer.status, answer.read()
        return status, json.loads(text) if status == 200 else None
    except (OSError, http.client.HTTPException):
        return 0, None


class Lines:
    def __init__(self, server):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(PATIENCE)
        self.socket.connect(server.socket)
        self.lines = self.socket.makefile("rw", encoding="utf-8")

    def say(self, text):
        self.lines.write(text + "\n")
        self.lines.flush()

    def hear(self):
        try:
            return self.lines.readline()
        except OSError:
            return ""


def check_answer(path, told, name, epoch):
    if path == "cluster":
        assert not (told["leads"] and told["epoch"] == epoch), f"a deposed leader says that it leads: {told}"
    elif path == "systems":
        assert told["systems"][0]["processes"] < 1000
    else:
        assert name not in [one["name"] for one in told["processes"]], f"an event that was never committed: {told}"


def play_round(servers, number):
    """The one that leads is deposed."""
    first = until(lambda: next((one for one in servers if one.cluster().get("leads")), None), "one leads")
    second = servers[1 - servers.index(first)]
    until(lambda: len(second.cluster().get("servers", ())) == 2, "the other stands by")
    name = f"never{number}"
    client, reader = Lines(first), Lines(first)
    client.say("hello lease=600")
    assert "hello" in client.hear()
    client.say(f"resource q{number}\nresource r{number}\nrequest kept{number} q{number}")
    assert "granted" in client.hear()
    reader.say("ping")
    assert "pong" in reader.hear()
    first.process.send_signal(signal.SIGSTOP)
    try:
        epoch = until(lambda: second.cluster().get("leads") and second.cluster(), "the other leads")["epoch"]
        # What has come meanwhile is the first that it does when it goes on.
        client.say(f"request {name} r{number}")
        reader.say(f"state {name}")
        links = [(path, first.ask(path)) for path in PATHS]
    finally:
        first.process.send_signal(signal.SIGCONT)
    state = reader.hear()
    assert '"error"' in state or not state or '"kept":false' in state, state
    assert "granted" not in client.hear()
    for path, link in links:
        status, told = answer_of(link)
        if status == 200:
            check_answer(path, told, name, epoch)

    def stands_by():
        told = first.cluster()
        if told:
            check_answer("cluster", told, name, epoch)
        return told and not told["leads"] and told["leader"]

    until(stands_by, "it stands by")
    for path in PATHS:
        status, told = answer_of(first.ask(path))
        if status == 200:
            check_answer(path, told, name, epoch)


def main():
    gordian = os.path.abspath(sys.argv[1])
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    folder = tempfile.mkdtemp(prefix="gordian-deposed-")
    servers = []
    try:
        servers = [Server(gordian, folder, name) for name in ("first", "second")]
        for number in range(rounds):
            play_round(servers, number)
    except BaseException:
        for server in servers:
            server.log.seek(0)
            print(server.log.read(), file=sys.stderr)
        raise
    finally:
        for server in servers:
            server.end()
            server.log.close()
        shutil.rmtree(folder)
    print("good")


main()
