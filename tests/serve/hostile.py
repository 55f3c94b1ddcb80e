#!/usr/bin/env python3
"""300 connections that show wrong tokens, again and again, over HTTP and over the protocol: whoever has a token is
answered all the same, and so are /healthz and /metrics.

    hostile.py GORDIAN
"""
import multiprocessing
import os
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from ports import free_port  # noqa: E402
from frames import HELLO, START, WELCOME, Frames, frame, text16  # noqa: E402

PATIENCE = 120  # seconds, far longer than it should take
CONNECTIONS = 300
CLIENTS = 40  # --max-clients
ROUNDS = 20
TOKEN, WRONG = b"0123456789abcdef0123", b"fedcba9876543210fedc"


def attack(port, words, count):
    """As many connections at once; each says this as soon as it is there, and again after every answer."""
    chooser = selectors.DefaultSelector()

    def dial():
        link = socket.socket()
        link.setblocking(False)
        link.connect_ex(("127.0.0.1", port))
        chooser.register(link, selectors.EVENT_WRITE)

    for _ in range(CONNECTIONS):
        dial()
    while True:
        for key, what in chooser.select(1):
            link = key.fileobj
            try:
                if what & selectors.EVENT_WRITE:
                    link.sendall(words)
                    chooser.modify(link, selectors.EVENT_READ)
                    with count.get_lock():
                        count.value += 1
                    continue
                if link.recv(65536):
                    chooser.modify(link, selectors.EVENT_WRITE)
                    continue
            except OSError:
                pass
            chooser.unregister(link)
            link.close()
            dial()


class Attack:
    """It is under way when all connections have said something."""

    def __init__(self, port, words):
        self.count = multiprocessing.Value("l", 0)
        self.process = multiprocessing.Process(target=attack, args=(port, words, self.count), daemon=True)
        self.process.start()

    def wait(self):
        end = time.monotonic() + PATIENCE
        while self.count.value < CONNECTIONS:
            assert time.monotonic() < end, "the attack does not begin"
            time.sleep(0.01)

    def __enter__(self):
        self.wait()
        return self

    def __exit__(self, *why):
        self.process.kill()
        self.process.join()


def get(port, path, token=None):
    headers = {"Authorization": f"Bearer {token.decode()}"} if token else {}
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", None, headers)
    with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
        return answer.read()


def wait_until_it_answers(port):
    end = time.monotonic() + PATIENCE
    while True:
        try:
            return get(port, "/healthz")
        except OSError:
            assert time.monotonic() < end, "it does not answer"
            time.sleep(0.02)


def check(http, port):
    wait_until_it_answers(http)
    with Attack(http, b"GET /api/v1/systems HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer " + WRONG + b"\r\n\r\n"):
        for _ in range(ROUNDS):
            assert get(http, "/healthz") == b"ok\n"
            assert b"gordian_wrong_tokens_total" in get(http, "/metrics", TOKEN)
            assert b'"systems"' in get(http, "/api/v1/systems", TOKEN)
    with Attack(port, START + frame(HELLO, bytes(21) + text16(WRONG) + text16(b"x"))):
        for _ in range(ROUNDS):
            assert Frames(("127.0.0.1", port), token=TOKEN, timeout=PATIENCE).welcome[0] == WELCOME
            assert get(http, "/healthz") == b"ok\n"


def main():
    folder = tempfile.mkdtemp(prefix="gordian-hostile-")
    tokens, http, port = os.path.join(folder, "tokens"), free_port(), free_port()
    with open(os.open(tokens, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as file:
        file.write(b"app write " + TOKEN + b"\n")
    with open(os.path.join(folder, "log"), "w+b") as log:
        server = subprocess.Popen([os.path.abspath(sys.argv[1]), "serve", "--socket", os.path.join(folder, "socket"),
                                   "--listen", f"127.0.0.1:{port}", "--http", f"127.0.0.1:{http}", "--token-file",
                                   tokens, "--max-clients", str(CLIENTS)], stderr=log, stdout=log)
        try:
            check(http, port)
            server.send_signal(signal.SIGTERM)
            assert server.wait(PATIENCE) == 0
        except BaseException:
            log.seek(0)
            sys.stderr.write(log.read().decode(errors="replace"))
            raise
        finally:
            server.kill()
            server.wait()
            shutil.rmtree(folder)
    print("good")


if __name__ == "__main__":
    main()
