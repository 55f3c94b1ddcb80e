#!/usr/bin/env python3
"""What a service says of a folder in which something is lost, damaged or missing; and what --verify says of it.

    losses.py GORDIAN
"""
import contextlib
import glob
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from kept_service import Service, Session, until  # noqa: E402

DEADLOCKS = 12
failed = 0


def check(good, what):
    global failed
    failed += not good
    print(f"{'ok' if good else 'FAILED'}: {what}")


class Folder:
    """Folders of a service that was stopped or killed after some deadlocks, to be copied and damaged."""

    def __init__(self, gordian, scratch):
        self.gordian, self.scratch, self.copies = gordian, scratch, 0
        self.killed = self.fill("killed", signal.SIGKILL)
        self.stopped = self.fill("stopped", signal.SIGTERM)
        self.quiet = self.fill_quietly("quiet")

    def path(self, name):
        return os.path.join(self.scratch, name)

    def fill(self, name, how):
        service = Service(self.gordian, self.scratch, ["--data", self.path(name)], snapshot_bytes=1 << 30)
        session = Session(service, "name=till")
        for i in range(DEADLOCKS):
            session.say(f"resource a{i}", f"resource b{i}", f"request x{i} a{i}", f"request y{i} b{i}",
                        f"request x{i} b{i}", f"request y{i} a{i}", f"cancel y{i}")
        session.close()
        service.end(how)
        return self.path(name)

    def fill_quietly(self, name):
        """Events without a deadlock; the history has noted how far the journal has come."""
        service = Service(self.gordian, self.scratch, ["--data", self.path(name)], snapshot_bytes=1 << 30)
        session = Session(service, "name=till")
        for _ in range(20):
            session.say("resource r", "request p r", "release p r")
        until(lambda: applied_of(self.path(name)) >= 20, "the journal's progress is noted")
        session.close()
        service.end(signal.SIGKILL)
        return self.path(name)

    def copy(self, of):
        self.copies += 1
        return shutil.copytree(of, self.path(f"copy{self.copies}"), symlinks=True)

    def run(self, *options):
        """A start that is to fail, or --verify: its exit status and what it says. One that goes on is ended: None."""
        command = [self.gordian, "serve", *options, "--socket", self.path("refused"), "--http", "none"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
            said = ""
            for line in process.stdout:
                said += line
                if "listening on" in line:
                    process.terminate()
                    process.wait()
                    return None, said
            process.wait()
            return process.returncode, said

    def verify(self, copy):
        done = subprocess.run([self.gordian, "serve", "--verify", copy], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
        return done.returncode, done.stdout

    def refused(self, copy, word, what):
        """It does not start, and --verify says why."""
        code, said = self.run("--data", copy)
        check(code == 2 and word in said, f"{what}: a start is refused: {code}, {said.strip()}")
        code, said = self.verify(copy)
        check(code == 2 and "is intact" not in said, f"{what}: --verify finds it: {code}, {said.strip()}")

    def serves(self, copy, what, *options, incidents=DEADLOCKS):
        """It starts, has its incidents, takes events, and is whole after that."""
        try:
            service = Service(self.gordian, self.scratch, ["--data", copy, *options])
        except AssertionError as error:
            check(False, f"{what}: {error}")
            return
        kept = service.ask("incidents?limit=500")["incidents"]
        session = Session(service, "name=later")
        answers = session.say("resource later", "request late later", "release late later")
        session.close()
        service.end()
        said = service.said()  # by then the log's own thread has written everything
        check(len(kept) == incidents, f"{what}: {len(kept)} incidents")
        check(answers[0].get("result") == "granted", f"{what}: it takes events")
        code, said_then = self.verify(copy)
        check(code == 0 and "is intact" in said_then, f"{what}: it is whole then: {code}, {said_then.strip()}")
        return said


def cut_journal(copy, part):
    """Down to a part of its bytes that are not zeros; 0: its head."""
    path = sorted(glob.glob(os.path.join(copy, "journal-0*")))[-1]
    with open(path, "rb") as file:
        used = len(file.read().rstrip(b"\0"))
    os.truncate(path, max(32, int(used * part)))


def write_lock(copy, boot, durability):
    with open(os.path.join(copy, "lock"), "w", encoding="utf-8") as file:
        file.write(f"1 {boot} {durability}\n")


def applied_of(data):
    with contextlib.closing(sqlite3.connect(f"file:{data}/gordian.db?mode=ro", uri=True)) as db:
        return db.execute("SELECT frame FROM applied").fetchone()[0]


def check_quiet_losses(folder):
    """No incident tells of the records that are lost."""
    for part in (0, 0.5):
        copy = folder.copy(folder.quiet)
        cut_journal(copy, part)
        folder.refused(copy, "acknowledged records are lost", f"no incidents, the journal cut to {part or 'its head'}")
        folder.serves(copy, "no incidents, with --accept-loss", "--accept-loss", incidents=0)
    folder.serves(folder.copy(folder.quiet), "no incidents, and nothing lost", incidents=0)


def check_losses(folder):
    """The history has incidents of records that the journal has lost."""
    for part in (0, 0.25, 0.5, 0.75):
        what = f"the journal cut to {part or 'its head'}"
        copy = folder.copy(folder.killed)
        cut_journal(copy, part)
        folder.refused(copy, "acknowledged records are lost", what)
        said = folder.serves(copy, what + ", with --accept-loss", "--accept-loss") or ""
        check("acknowledged records are lost" in said and "unfinished" not in said, f"{what}: it is logged")
        folder.serves(copy, what + ", a start later")
    copy = folder.copy(folder.killed)
    cut_journal(copy, 0.5)
    write_lock(copy, "11111111-2222-3333-4444-555555555555", "full")
    folder.refused(copy, "acknowledged records are lost", "after a power cut, with durability full")
    write_lock(copy, "11111111-2222-3333-4444-555555555555", "batch")
    code, said = folder.verify(copy)
    check(code == 0 and "that a power failure undid" in said, f"after a power cut, with batch: {code}, {said.strip()}")
    folder.serves(folder.copy(folder.killed), "killed, and nothing lost")
    code, said = folder.run("--accept-loss")
    check(code == 2 and "--data" in said, f"--accept-loss without --data: {code}, {said.strip()}")


# ---- the database of incidents

def database(copy):
    return os.path.join(copy, "gordian.db")


def truncate_database(copy, part):
    os.truncate(database(copy), int(os.path.getsize(database(copy)) * part) // 4096 * 4096)


def overwrite_database(copy, at, length):
    with open(database(copy), "r+b") as file:
        file.seek(at)
        file.write(b"\xa5" * length)


def change_database(copy, sql):
    with contextlib.closing(sqlite3.connect(database(copy))) as db:
        db.executescript(sql)


DAMAGES = {
    "0 bytes": lambda copy: os.truncate(database(copy), 0),
    "half of it": lambda copy: truncate_database(copy, 0.5),
    "all but its last page": lambda copy: os.truncate(database(copy), os.path.getsize(database(copy)) - 4096),
    "only its first page": lambda copy: os.truncate(database(copy), 4096),
    "no header": lambda copy: overwrite_database(copy, 0, 100),
    "a page of something else": lambda copy: overwrite_database(copy, 5 * 4096, 4096),
    "another application_id": lambda copy: change_database(copy, "PRAGMA application_id = 7"),
    "another version": lambda copy: change_database(copy, "PRAGMA user_version = 3"),
    "no table incident": lambda copy: change_database(copy, "DROP TABLE incident"),
    "no table applied": lambda copy: change_database(copy, "DROP TABLE applied"),
    "no row in applied": lambda copy: change_database(copy, "DELETE FROM applied"),
    "no view incidents": lambda copy: change_database(copy, "DROP VIEW incidents"),
    "a database of nothing": lambda copy: (os.remove(database(copy)), change_database(copy, "VACUUM")),
    "no file": lambda copy: os.remove(database(copy)),
}


# After a kill SQLite's log has these pages.
IN_THE_LOG = "all but its last page", "only its first page", "no header", "a page of something else"


def check_database(folder):
    """A damaged database is refused, and left as it is."""
    for of in folder.stopped, folder.killed:
        for name, damage in DAMAGES.items():
            copy = folder.copy(of)
            if of == folder.killed and name in IN_THE_LOG:
                continue  # nothing is lost
            damage(copy)
            folder.refused(copy, "gordian.db", f"{os.path.basename(of)}, gordian.db with {name}")
    copy = folder.copy(folder.stopped)
    os.truncate(database(copy), 0)
    code, said = folder.run("--data", copy)
    check(os.path.getsize(database(copy)) == 0, "a database that is refused stays as it is")
    folder.serves(copy, "0 bytes, with --repair", "--repair")
    check(len(glob.glob(database(copy) + ".damaged-*")) == 1, "what was there is kept")


def check_first_start(folder):
    """A first start that was killed has left an empty file: nothing was acknowledged."""
    copy = folder.path("first")
    os.mkdir(copy, 0o700)
    open(database(copy), "w", encoding="utf-8").close()
    folder.serves(copy, "a first start that was killed", incidents=0)


def check_verify(folder):
    """--verify does not call whole what it has not seen."""
    empty = folder.path("empty")
    os.mkdir(empty, 0o700)
    code, said = folder.verify(empty)
    check(code == 5 and "is empty" in said and not os.listdir(empty), f"an empty folder: {code}, {said.strip()}")
    open(os.path.join(empty, "lock"), "w", encoding="utf-8").close()
    code, said = folder.verify(empty)
    check(code == 5 and "is empty" in said, f"a folder with a lock: {code}, {said.strip()}")
    open(os.path.join(empty, "notes.txt"), "w", encoding="utf-8").close()
    code, said = folder.verify(empty)
    check(code == 2, f"a folder of something else: {code}, {said.strip()}")
    for names in ["gordian.db"], ["gordian.db", "snapshot-*"], ["snapshot-*"], ["journal-0*"]:
        part = folder.path("part-" + "-".join(name[:4] for name in names))
        os.mkdir(part, 0o700)
        for name in names:
            for path in glob.glob(os.path.join(folder.stopped, name)):
                shutil.copy(path, part)
        folder.refused(part, "is missing", f"a copy of {names} only")


# ---- options that are wrong

WRONG = {
    "an address without tokens": ["--listen", "0.0.0.0:0"],
    "no address": ["--listen", "127.0.0.1:http"],
    "two addresses, one empty": ["--listen", "127.0.0.1:0,,127.0.0.1:0"],
    "no such host": ["--listen", "no-such-host.invalid:7421"],
    "HTTP without tokens": ["--http", "0.0.0.0:0"],
    "HTTP without a port": ["--http", "127.0.0.1"],
    "HTTP with a port that is none": ["--http", "127.0.0.1:x"],
    "a socket that is a file": ["--socket", "/dev/null"],
    "a socket in no folder": ["--socket", "/nowhere/at/all/socket"],
    "a path that is too long": ["--socket", "/tmp/" + "x" * 200],
    "no file of tokens": ["--token-file", "/nowhere/tokens"],
    "no certificate": ["--tls-cert", "/nowhere/cert", "--tls-key", "/nowhere/key"],
    "no such user": ["--allow-uid", "no-such-user-at-all"],
    "no such secret": ["--on-deadlock", "true", "--on-deadlock-secret", "/nowhere/secret"],
    "no such level": ["--durability", "some"],
    "a time that is none": ["--keep-incidents", "soon"],
    "--accept-loss with --store": ["--store", "host=nowhere", "--accept-loss"],
}


def check_options(folder):
    """Options that are wrong are refused before anything is made."""
    for what, options in WRONG.items():
        data = folder.path("unmade")
        usual = {"--socket": folder.path("unused"), "--http": "none"}
        rest = [word for pair in usual.items() if pair[0] not in options for word in pair]
        done = subprocess.run([folder.gordian, "serve", "--data", data, *rest, *options], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
        check(done.returncode in (2, 4) and not os.path.exists(data), f"{what}: {done.returncode}, {done.stdout.strip()}")
        shutil.rmtree(data, ignore_errors=True)


def main():
    scratch = tempfile.mkdtemp(prefix="gl-")
    try:
        folder = Folder(os.path.abspath(sys.argv[1]), scratch)
        check_losses(folder)
        check_quiet_losses(folder)
        check_database(folder)
        check_first_start(folder)
        check_verify(folder)
        check_options(folder)
    finally:
        shutil.rmtree(scratch)
    return 1 if failed else 0


sys.exit(main())
