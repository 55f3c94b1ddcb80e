#!/usr/bin/env python3
"""Data of released versions, and a test that this version reads them.

    releases.py check GORDIAN DATA              every folder of DATA, or
    releases.py check-postgres GORDIAN DATA     every dump, run by postgres.py
    releases.py write GORDIAN DATA/VERSION      makes them with the program of a release, run by postgres.py

`write` runs a service through a fixed list of events in several states (clean, killed, young: see tests/data/README.md)
and keeps each folder as a tar.xz, the PostgreSQL schema as SQL. What the releasing program itself serves from a copy of
it, after a start, is kept as JSON: `check` compares with that.
"""
import contextlib
import glob
import json
import lzma
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile

sys.dont_write_bytecode = True
from kept_service import TOKENS, Service, Session  # noqa: E402

SCHEMA = "released"


# ---- what happens in a service whose data is kept

DEADLOCK = ["request {0} a{0}", "request {1} b{0}", "request {0} b{0}", "request {1} a{0}"]


def close_circle(session, left, right):
    """Two processes in a deadlock."""
    session.say(f"resource a{left}", f"resource b{left}", *(line.format(left, right) for line in DEADLOCK))


def begin(service, sessions):
    """All kinds of things: sessions with leases, labels, quotas, a bank, deadlocks that have ended and one that stands."""
    till, shop = sessions
    till.say("resource printer", "resource scanner 2", "process ann priority=3", "request ann printer", "request ann scanner",
             "request bob scanner", "request bob printer", "label process ann team:payments env:prod",
             "label resource printer room:7")
    close_circle(till, "cat", "dan")
    till.say("cancel dan")  # ends it
    close_circle(till, "eve", "fay")
    service.ask("systems/default/end", body={"process": "fay", "reason": "it was in the way"})
    close_circle(till, "gus", "hal")  # stands
    till.say("await ivy 1 of ann bob", "request kim pool")
    till.say("open rescue detect recover=youngest", "use rescue")
    close_circle(till, "leo", "mia")
    till.say("open bank avoid queue=yes", "use bank", "resource cash 10", "resource gold 3", "process ned cash=8 gold=1",
             "process ona cash=7", "request ned cash=5", "request ona cash=3", "request ona cash=4", "use default")
    shop.say(*(f"process cart{i}" for i in range(4)), *(f"resource item{i}" for i in range(4)), "request cart0 item0",
             "request cart1 item0")


def fill(session, count):
    """Events that leave nothing behind, but fill the journal."""
    session.say("use default", *(f"{op} filler pool2" for _ in range(count) for op in ("request", "release")))


def go_on(sessions):
    """Behind the snapshot: an incident that forms, one that ends, one that forms and ends."""
    till, shop = sessions
    close_circle(till, "pat", "quy")  # stands
    till.say("exit hal")  # ends the one that stood
    close_circle(till, "rob", "sue")
    till.say("cancel sue", "label process pat team:stock", "act ann for ivy", "use bank", "release ned cash=1",
             "use default")
    shop.say("request cart2 item1", "release cart0 item0")


@contextlib.contextmanager
def served(gordian, store):
    scratch = tempfile.mkdtemp(prefix="gr-")
    service = Service(gordian, scratch, store)
    try:
        yield service
    finally:
        if service.process.poll() is None:
            service.end()
        shutil.rmtree(scratch)


def run_history(service, snapshots):
    """The same events each time; with snapshots in between, if they are wanted."""
    sessions = (Session(service, "name=till"), Session(service, f"name=shop token={TOKENS['shop'][1]}", tcp=True))
    begin(service, sessions)
    while snapshots and service.metric("gordian_journal_snapshots_total") < 2:
        fill(sessions[0], 200)
    go_on(sessions)
    return sessions


# ---- what a service serves

def served_systems(service):
    ignored = ("engine", "note", "opened")  # the machine's
    return [{key: value for key, value in one.items() if key not in ignored} for one in service.ask("systems")["systems"]]


def sorted_graph(graph):
    return {key: sorted(value, key=json.dumps) if isinstance(value, list) else value for key, value in graph.items()}


def state_of(service):
    """Everything a reader can see; then what is left of a quota, which changes it."""
    systems = served_systems(service)
    incidents = service.ask("incidents?limit=500")["incidents"]
    state = {
        "systems": systems,
        "graphs": {one["name"]: sorted_graph(service.ask(f"systems/{one['name']}/graph?limit=2000")) for one in systems},
        "labels": {one["name"]: service.ask(f"systems/{one['name']}/labels") for one in systems},
        "incidents": incidents,
        "replays": [service.ask(f"incidents/{one['id']}") for one in incidents],
        "audit": service.ask("audit")["actions"],
        "past": [sorted_graph(service.ask(f"systems/default/graph?limit=2000&at={one['at']}")) for one in incidents
                 if one["at"] > service.ask("past")["from"]],
        "sessions": service.metric("gordian_sessions"),
    }
    shop = Session(service, f"name=later token={TOKENS['shop'][1]}", tcp=True)
    state["quota"] = [("error" in (shop.say(f"process late{i}") or [{}])[0]) for i in range(8)]
    shop.close()
    return json.loads(json.dumps(state))


def verdict_of(gordian, folder):
    """The exit status of --verify, and the numbers it prints: records, snapshot, systems, ..."""
    done = subprocess.run([gordian, "serve", "--verify", folder], capture_output=True, text=True)
    print(done.stdout + done.stderr, end="")
    return [done.returncode, re.findall(r"\d+", done.stdout.replace(folder, ""))]


# ---- writing

def tidy(info):
    """Nothing of the machine that wrote it."""
    info.uid = info.gid = 0
    info.uname = info.gname = ""
    return info


def pack(folder, path):
    with tarfile.open(path, "w:xz", preset=9) as archive:
        archive.add(folder, "data", filter=tidy)


def unpack(path, into):
    with tarfile.open(path) as archive:
        archive.extractall(into)
    return os.path.join(into, "data")


def write_json(path, value):
    with open(path, "wb") as file:
        file.write(lzma.compress(json.dumps(value, indent=1, sort_keys=True).encode(), preset=9))


def read_json(path):
    with lzma.open(path) as file:
        return json.load(file)


def kill_on_this_boot(data):
    """As if the service had been killed a moment ago, and not before the machine was started. False: it was not killed."""
    with open(os.path.join(data, "lock"), "r+", encoding="utf-8") as lock:
        words = lock.read().split()
        if words:
            with open("/proc/sys/kernel/random/boot_id", encoding="utf-8") as boot:
                lock.seek(0)
                lock.write(f"{words[0]} {boot.read().strip()} {words[2]}\n")
        return bool(words)


def observe(gordian, archive, same_boot=False):
    """What the program makes of a copy; None: it was not killed."""
    scratch = tempfile.mkdtemp(prefix="gr-")
    try:
        data = unpack(archive, scratch)
        if same_boot and not kill_on_this_boot(data):
            return None
        verdict = verdict_of(gordian, data)
        with served(gordian, ["--data", data]) as service:
            return {"verify": verdict, "state": state_of(service)}
    finally:
        shutil.rmtree(scratch)


def write_folder(gordian, into, name, snapshots, how):
    scratch = tempfile.mkdtemp(prefix="gr-")
    data, archive = os.path.join(scratch, "data"), os.path.join(into, name + ".tar.xz")
    with served(gordian, ["--data", data]) as service:
        sessions = run_history(service, snapshots)
        service.end(how)
    for session in sessions:
        session.close()
    pack(data, archive)
    shutil.rmtree(scratch)
    write_json(os.path.join(into, name + ".json.xz"), observe(gordian, archive))


def run_psql(*arguments, **more):
    return subprocess.run(["psql", os.environ["GORDIAN_TEST_POSTGRES"], "-q", "-v", "ON_ERROR_STOP=1", *arguments],
                          check=True, stdout=subprocess.DEVNULL, **more)


def dump_schema():
    """As SQL that other versions of PostgreSQL take, too: without settings of the session."""
    dump = subprocess.run(["pg_dump", "-d", os.environ["GORDIAN_TEST_POSTGRES"], "-n", SCHEMA, "--no-owner",
                           "--no-privileges"], check=True, capture_output=True, text=True).stdout
    return "".join(line + "\n" for line in dump.splitlines()
                   if not line.startswith(("SET ", "--", "\\restrict", "\\unrestrict", "SELECT pg_catalog.set_config")))


def load_dump(path):
    run_psql("-c", f"DROP SCHEMA IF EXISTS {SCHEMA} CASCADE", stderr=subprocess.DEVNULL)
    run_psql(input=lzma.open(path).read())


def observe_dump(gordian, path):
    load_dump(path)
    with served(gordian, postgres_store()) as service:
        return {"state": state_of(service)}


def postgres_store():
    return ["--store", os.environ["GORDIAN_TEST_POSTGRES"], "--store-schema", SCHEMA]


def write_dump(gordian, into):
    path = os.path.join(into, "postgres.sql.xz")
    with served(gordian, postgres_store()) as service:
        sessions = run_history(service, True)
        service.end(signal.SIGKILL)
    for session in sessions:
        session.close()
    with open(path, "wb") as file:
        file.write(lzma.compress(dump_schema().encode(), preset=9))
    write_json(os.path.join(into, "postgres.json.xz"), observe_dump(gordian, path))


def write(gordian, into):
    os.makedirs(into, exist_ok=True)
    write_folder(gordian, into, "clean", True, signal.SIGTERM)
    write_folder(gordian, into, "killed", True, signal.SIGKILL)
    write_folder(gordian, into, "young", False, signal.SIGKILL)
    write_dump(gordian, into)


# ---- checking

def differences(was, now, where=""):
    """Paths at which two values differ. What is new in an object is no difference."""
    if isinstance(was, dict) and isinstance(now, dict):
        return [one for key in was for one in differences(was[key], now.get(key), f"{where}.{key}")]
    if isinstance(was, list) and isinstance(now, list) and len(was) == len(now):
        return [one for i, pair in enumerate(zip(was, now)) for one in differences(*pair, f"{where}[{i}]")]
    return [] if was == now else [f"{where}: was {json.dumps(was)[:200]}, is {json.dumps(now)[:200]}"]


def compare(name, was, now):
    found = differences(was, now)
    for one in found[:20]:
        print(f"{name}: {one}")
    print(f"{name}: {'differs' if found else 'as it was'}")
    return not found


def check_folders(gordian, data):
    good = True
    archives = sorted(glob.glob(os.path.join(data, "[0-9]*", "*.tar.xz")))
    for archive in archives:
        was = read_json(archive.replace(".tar.", ".json."))
        good &= compare(archive[len(data) + 1:], was, observe(gordian, archive))
        killed = observe(gordian, archive, same_boot=True)
        good &= killed is None or compare(archive[len(data) + 1:] + ", killed on this boot", was, killed)
    return good and len(archives) > 0


def check_dumps(gordian, data):
    good = True
    dumps = sorted(glob.glob(os.path.join(data, "[0-9]*", "*.sql.xz")))
    for dump in dumps:
        good &= compare(dump[len(data) + 1:], read_json(dump.replace(".sql.", ".json.")), observe_dump(gordian, dump))
    return good and len(dumps) > 0


def main():
    what, gordian, data = sys.argv[1], os.path.abspath(sys.argv[2]), sys.argv[3].rstrip("/")
    if what == "write":
        write(gordian, data)
        return 0
    return 0 if (check_folders if what == "check" else check_dumps)(gordian, data) else 1


sys.exit(main())
