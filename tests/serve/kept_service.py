"""A service whose data is kept, and sessions with it in the form of lines, for tests in Python."""
import atexit
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from ports import free_port  # noqa: E402

PATIENCE = 600  # seconds, far longer than anything here takes
TOKENS = {"operator": ("write", "0123456789abcdef0123", ""), "shop": ("send", "fedcba98765432100000", "max-names=12")}


def until(condition, what):
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.02)
    raise AssertionError(f"waited in vain: {what}")


class Service:
    """One with its sockets in a scratch folder; `store` is --data DIR or --store URI, and any other options."""

    def __init__(self, gordian, scratch, store, snapshot_bytes=20000, **more):
        self.tokens = os.path.join(scratch, "tokens")
        with open(os.open(self.tokens, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            file.writelines(f"{name} {rights} {token} {limits}\n" for name, (rights, token, limits) in TOKENS.items())
        self.socket = os.path.join(scratch, "socket")
        self.http, self.tcp = free_port(), free_port()
        self.log = open(os.path.join(scratch, "log"), "w+", encoding="utf-8")
        self.process = subprocess.Popen(
            [gordian, "serve", *store, "--socket", self.socket, "--http", f"127.0.0.1:{self.http}", "--listen",
             f"127.0.0.1:{self.tcp}", "--token-file", self.tokens, "--keep-incidents", "0"],
            stdout=self.log, stderr=self.log, env={**os.environ, "GORDIAN_SNAPSHOT_BYTES": str(snapshot_bytes)}, **more)
        atexit.register(self.process.kill)  # of a test that fails
        until(self.is_ready, "the service is ready")

    def is_ready(self):
        if self.process.poll() is not None:
            raise AssertionError("the service has ended: " + self.said())
        try:
            return self.ask("readyz", "") is not None
        except (urllib.error.URLError, ConnectionError):
            return False

    def ask(self, path, base="api/v1/", body=None):
        headers = {"Authorization": f"Bearer {TOKENS['operator'][1]}", "Content-Type": "application/json"}
        request = urllib.request.Request(f"http://127.0.0.1:{self.http}/{base}{path}",
                                         None if body is None else json.dumps(body).encode(), headers)
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            text = answer.read().decode()
            return text if base == "" else json.loads(text)

    def metric(self, name):
        return sum(float(line.split()[-1]) for line in self.ask("metrics", "").splitlines()
                   if line.split("{")[0].split(" ")[0] == name)

    def said(self):
        """What it has logged so far."""
        with open(self.log.name, encoding="utf-8") as log:
            return log.read()

    def end(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        self.process.wait()
        self.log.close()


class Session:
    """A connection in the form of lines, with a session that outlives it."""

    def __init__(self, service, hello, tcp=False):
        self.link = socket.socket(socket.AF_INET if tcp else socket.AF_UNIX)
        self.link.connect(("127.0.0.1", service.tcp) if tcp else service.socket)
        self.stream = self.link.makefile("rw", encoding="utf-8")
        self.hello = self.say("hello lease=86400 " + hello)

    def say(self, *lines):
        """The answers to these lines."""
        self.stream.write("\n".join(lines) + "\nping\n")
        self.stream.flush()
        answers = []
        for line in self.stream:
            if line == '{"pong":true}\n':
                return answers
            answers.append(json.loads(line))
        raise AssertionError("the connection has ended")

    def close(self):
        self.stream.close()
        self.link.close()
