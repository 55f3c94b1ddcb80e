#!/usr/bin/env python3
"""The first example of docs/guide/cluster.md, with addresses of this machine and a database of the test: two servers that a
client beyond the machine could reach, and a client that is told of a deadlock. Run by postgres.py:

    cluster_document.py GORDIAN MAKE_CERTIFICATE DOCUMENT
"""
import os
import re
import shlex
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from ports import free_port  # noqa: E402

PATIENCE = 600  # seconds, far longer than it should take
TOKEN = "0123456789abcdef0123"
TRACE = "resource a\nresource b\nrequest x a\nrequest y b\nrequest x b\nrequest y a\n"


def commands_of(document):
    """The commands of the first example, each a list of words."""
    with open(document, encoding="utf-8") as file:
        text = re.search(r"^```\n(.*?)^```$", file.read(), re.S | re.M)[1]
    lines = text.replace("\\\n", " ").splitlines()
    return [words for words in (shlex.split(line, comments=True) for line in lines) if words]


class Program:
    """One of the commands, running; what it prints."""

    def __init__(self, words):
        self.words, self.said = words, ""
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.thread = threading.Thread(target=self.listen, daemon=True)
        self.thread.start()

    def listen(self):
        for line in self.process.stdout:
            self.said += line

    def wait_for(self, word):
        end = time.monotonic() + PATIENCE
        while word not in self.said and self.process.poll() is None and time.monotonic() < end:
            time.sleep(0.02)
        assert word in self.said, f"'{word}' was not said by {' '.join(self.words)}: {self.said}"

    def end(self):
        self.process.kill()
        self.process.wait()
        self.thread.join()


def write_files(make_certificate):
    """All that the example names, in this folder."""
    for name, content in ("tokens", f"app write {TOKEN}\n"), ("token", TOKEN + "\n"), ("trace", TRACE):
        with open(os.open(name, os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="utf-8") as file:
            file.write(content)
    subprocess.run([make_certificate, ".", "cert", "-", "IP:127.0.0.1"], check=True)
    os.rename("cert.key", "key.pem")


def here(words, gordian, ports):
    """The same on this machine: servers at all of its addresses, clients at one."""
    serves = words[1] == "serve"
    words = [gordian, *words[1:]] + (["--http", "none"] if serves else [])
    for address, port in ports.items():
        words = [word.replace(address, f"{'0.0.0.0' if serves else '127.0.0.1'}:{port}") for word in words]
    return [os.environ["GORDIAN_TEST_POSTGRES"] if word.startswith("postgresql://") else word for word in words]


def check_example(gordian, document):
    ports = {"10.0.0.1:7420": free_port(), "10.0.0.2:7420": free_port()}
    *servers, client = (here(words, gordian, ports) for words in commands_of(document))
    assert len(servers) == 2, servers
    running = []
    try:
        for words in servers:
            running.append(Program(words))
            running[-1].wait_for("listening on")
        running.append(Program(client + ["-v"]))
        running[-1].wait_for("connected to")
        access = client[2:client.index("--retry")]  # where, how, and with what token
        subprocess.run([gordian, "send", *access, "trace"], stdout=subprocess.DEVNULL)
        running[-1].wait_for("deadlock")
    finally:
        for program in running:
            program.end()


def main():
    gordian, make_certificate, document = (os.path.abspath(argument) for argument in sys.argv[1:])
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        write_files(make_certificate)
        check_example(gordian, document)
        os.chdir("/")
    print("good")


main()
