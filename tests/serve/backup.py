#!/usr/bin/env python3
"""The backup that docs/internals/durability.md documents, run word for word, in every state of a folder: what was acknowledged
before it is in it, and what is not a backup does not pass for one.

    backup.py GORDIAN DOCUMENT
"""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading

sys.dont_write_bytecode = True
from kept_service import Service, Session, until  # noqa: E402

ROUNDS = max(1, 10 * int(os.environ.get("GORDIAN_TEST_SCALE", "100")) // 100)  # backups under load
failed = 0


def check(good, what):
    global failed
    failed += not good
    print(f"{'ok' if good else 'FAILED'}: {what}")


class Backup:
    def __init__(self, gordian, document, scratch):
        self.gordian, self.scratch, self.count = gordian, scratch, 0
        with open(document, encoding="utf-8") as file:
            section = file.read().split("## Backup\n")[1].split("\n## ")[0]
        self.commands = re.search(r"^```\n(.*?)^```$", section, re.S | re.M)[1]
        programs = self.path("bin")  # `gordian` is this one
        os.mkdir(programs)
        with open(os.open(os.path.join(programs, "gordian"), os.O_WRONLY | os.O_CREAT, 0o755), "w") as file:
            file.write(f'#!/bin/sh\nexec "{gordian}" "$@"\n')
        self.environment = {**os.environ, "PATH": programs + ":" + os.environ["PATH"]}

    def path(self, name):
        return os.path.join(self.scratch, name)

    def make(self, data):
        """Runs the commands: their exit status, where the backup is, and what they said."""
        self.count += 1
        into = self.path(f"backup{self.count}")
        commands = re.sub(r"^DIR=.*$", f"DIR='{data}' BACKUP='{into}'", self.commands, count=1, flags=re.M)
        if commands == self.commands:  # a document that names them in the commands
            commands = commands.replace("/backup", into).replace("DIR", data)
            os.mkdir(into)
        done = subprocess.run(["sh", "-c", commands], env=self.environment, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
        return done.returncode, into, done.stdout

    def check(self, data, before, what, times=1):
        """A backup of this folder has at least what there was before. It may have to be run that many times."""
        for _ in range(times):
            code, into, said = self.make(data)
            if code == 0:
                break
        check(code == 0 and "is intact" in said, f"{what}: it is made: {code}, {said.strip()}")
        if code == 0:
            self.check_restored(into, before, what)

    def check_restored(self, into, before, what):
        try:
            service = Service(self.gordian, self.path("restored"), ["--data", into])
        except AssertionError as error:
            check(False, f"{what}: {error}")
            return
        events, incidents = numbers_of(service)
        service.end()
        check(events >= before[0] and incidents >= before[1],
              f"{what}: it has {events} events and {incidents} incidents, at least {before[0]} and {before[1]}")

    def check_none(self, data, what):
        """There is nothing to back up: no success, and nothing that passes for a backup."""
        code, into, said = self.make(data)
        check(code != 0 and "is intact" not in said, f"{what}: {code}, {said.strip()}")


def numbers_of(service):
    """Events and incidents that are acknowledged."""
    system = service.ask("systems")["systems"][0]
    return system["events"], system["incidents"]


def make_deadlocks(session, first, count):
    for i in range(first, first + count):
        session.say(f"resource a{i}", f"resource b{i}", f"request x{i} a{i}", f"request y{i} b{i}", f"request x{i} b{i}",
                    f"request y{i} a{i}", f"exit y{i}", f"exit x{i}")


class Load:
    """Clients that send events, some of which deadlock, until it is ended."""

    def __init__(self, service):
        self.ended = False
        self.threads = [threading.Thread(target=self.send, args=(service, number)) for number in range(3)]
        for thread in self.threads:
            thread.start()

    def send(self, service, number):
        session = Session(service, f"name=load{number}")
        turn = 0
        while not self.ended:
            turn += 1
            session.say(*(f"{op} p{number} r{number}" for _ in range(50) for op in ("request", "release")))
            if turn % 10 == 0:
                make_deadlocks(session, 1000000 * (number + 1) + turn, 1)
        session.close()

    def end(self):
        self.ended = True
        for thread in self.threads:
            thread.join()


def check_states(backup, data):
    backup.check_none(backup.path("nowhere"), "no folder")
    os.mkdir(backup.path("nothing"))
    backup.check_none(backup.path("nothing"), "an empty folder")
    check(os.listdir(backup.path("nothing")) == [], "nothing is made there")
    service = Service(backup.gordian, backup.scratch, ["--data", data], snapshot_bytes=300000)
    backup.check(data, numbers_of(service), "running, nothing was sent yet")
    session = Session(service, "name=till")
    make_deadlocks(session, 0, 5)
    backup.check(data, numbers_of(service), "running, without a snapshot")
    while service.metric("gordian_journal_snapshots_total") < 2:
        session.say(*(f"{op} filler pool" for _ in range(500) for op in ("request", "release")))
    make_deadlocks(session, 5, 5)
    backup.check(data, numbers_of(service), "running, with snapshots")
    check_load(backup, data, service)
    before = numbers_of(service)
    session.close()
    service.end(signal.SIGKILL)
    backup.check(data, before, "killed")
    copy = backup.path("copied")
    shutil.copytree(data, copy)
    backup.check_restored(copy, before, "killed, the folder copied")
    service = Service(backup.gordian, backup.scratch, ["--data", data])
    before = numbers_of(service)
    service.end()
    backup.check(data, before, "stopped")


def check_load(backup, data, service):
    """While events come and snapshots are written."""
    load = Load(service)
    written = service.metric("gordian_journal_snapshots_total")
    for turn in range(ROUNDS):
        backup.check(data, numbers_of(service), f"under load, {turn + 1}", times=100)
    until(lambda: service.metric("gordian_journal_snapshots_total") > written, "snapshots are written under load")
    load.end()


def main():
    if not shutil.which("sqlite3"):
        print("there is no sqlite3 here")
        return 77
    scratch = tempfile.mkdtemp(prefix="gb-")
    try:
        os.mkdir(os.path.join(scratch, "restored"))
        check_states(Backup(os.path.abspath(sys.argv[1]), sys.argv[2], scratch), os.path.join(scratch, "data"))
    finally:
        shutil.rmtree(scratch)
    return 1 if failed else 0


sys.exit(main())
