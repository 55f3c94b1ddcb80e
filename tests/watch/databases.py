#!/usr/bin/env python3
"""`gordian watch` against real servers: two of PostgreSQL, one of MariaDB, on loopback.

    databases.py GORDIAN POOL [CASE...]

POOL is the program of pool.c. Every case makes its own sessions, waits until they wait, looks, and ends them. Skipped (77) where the servers
are not installed; cases of MariaDB only where it is.
"""
import fcntl
import json
import os
import pty
import re
import signal
import socket
import struct
import subprocess
import sys
import termios
import time
import traceback
import urllib.error
import urllib.request

sys.dont_write_bytecode = True
from servers import (Client, MariaServer, PostgresServer, Relay, Scratch, Watch, free_port, mariadb_program,
                     postgres_folder, wait_until)

GORDIAN, POOL = (os.path.abspath(path) for path in sys.argv[1:3])
SECRET = "pass-word-that-nobody-sees"
PAUSE = 0.15  # InnoDB shows the same picture again to whoever asks within 100 ms of the last one
CASES = {}
checks = 0


def case(function):
    CASES[function.__name__] = function
    return function


def check(condition, what, *shown):
    global checks
    checks += 1
    if not condition:
        raise AssertionError(f"{what}: {shown}")


class World:
    def __init__(self):
        self.scratch = Scratch()
        self.a = PostgresServer(self.scratch, "pga")
        self.b = PostgresServer(self.scratch, "pgb", self.a)
        self.a.start()
        self.b.start()
        self.maria = None
        self.admins = {}
        self.clients = []
        for server, other in ((self.a, self.b), (self.b, self.a)):
            admin = self.admins[server.name] = Client(self.scratch, server.address())
            for sql in (
                    "SET client_min_messages = error",
                    "CREATE TABLE t1(id int PRIMARY KEY, v int)", "CREATE TABLE t2(id int PRIMARY KEY, v int)",
                    "INSERT INTO t1 SELECT i, 0 FROM generate_series(1, 9) i",
                    "INSERT INTO t2 SELECT i, 0 FROM generate_series(1, 9) i",
                    "CREATE TABLE child(id int, parent int REFERENCES t2)", "CREATE ROLE weak LOGIN",
                    "CREATE EXTENSION postgres_fdw", "CREATE EXTENSION dblink",
                    "CREATE FUNCTION peek() RETURNS bigint LANGUAGE plpgsql PARALLEL SAFE AS "
                    "'BEGIN RETURN (SELECT count(*) FROM t2); END'",
                    f"CREATE SERVER other FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '127.0.0.1', "
                    f"port '{other.port}', dbname 'postgres')",
                    "CREATE USER MAPPING FOR PUBLIC SERVER other OPTIONS (user 'postgres')",
                    "CREATE FOREIGN TABLE far(id int, v int) SERVER other OPTIONS (table_name 't1')"):
                admin.run(sql)
        if mariadb_program():
            self.start_maria()

    def start_maria(self):
        self.maria = MariaServer(self.scratch)
        self.maria.start()
        with open(os.path.join(self.scratch.folder, "init.sql"), "w") as file:
            file.write("CREATE DATABASE test; USE test; CREATE TABLE t1(id int PRIMARY KEY, v int); "
                       "INSERT INTO t1 SELECT seq, 0 FROM seq_1_to_9; CREATE USER weak@'%'; "
                       "GRANT SELECT ON test.* TO weak@'%'; CREATE USER root@'%'; "
                       "GRANT ALL ON *.* TO root@'%' WITH GRANT OPTION;")
        subprocess.run(["mariadb", "--no-defaults", "-S", self.maria.socket, "-u", "root"], check=True,
                       stdin=open(os.path.join(self.scratch.folder, "init.sql")))
        self.admins["maria"] = Client(self.scratch, self.maria.address())

    def client(self, *addresses):
        client = Client(self.scratch, *addresses)
        self.clients.append(client)
        return client

    def sessions(self, count, server=None):
        """So many, each in a transaction."""
        made = [self.client((server or self.a).address(application=f"app{i}")) for i in range(count)]
        for session in made:
            session.run("BEGIN")
        return made

    def waiting(self, server):
        """How many wait for a lock there."""
        if server is self.maria:
            return int(self.admins["maria"].run(
                "SELECT COUNT(*) FROM information_schema.INNODB_TRX WHERE trx_state = 'LOCK WAIT'"))
        return int(self.admins[server.name].run(
            "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"))

    def await_waits(self, count, server=None):
        wait_until(f"{count} waits", lambda: self.waiting(server or self.a) == count,
                   PAUSE if server and server is self.maria else 0.02)
        self.await_sleep()

    def await_sleep(self):
        """The server waits as soon as it has been asked: the client may be on its way from asking to its sleep."""
        wait_until("clients to sleep", lambda: all(client.sleeps() for client in self.clients if client.waits))

    def clean(self):
        """Everybody goes, and with them what they hold. A session that waits does not notice that its client
        has gone."""
        for client in self.clients:
            client.close()
        self.clients = []
        for server in (self.a, self.b):
            if server.name not in self.admins:
                continue  # a case failed while it was away
            wait_until("sessions to end", lambda: self.admins[server.name].run(
                "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE pid <> pg_backend_pid() "
                "AND backend_type = 'client backend'") == "0")
        if self.maria:
            wait_until("transactions to end", self.end_maria, PAUSE)

    def end_maria(self):
        """True: nobody is left."""
        admin = self.admins["maria"]
        left = admin.run("SELECT GROUP_CONCAT(ID) FROM information_schema.PROCESSLIST "
                         "WHERE ID <> CONNECTION_ID() AND USER IN ('root', 'weak')")
        for number in filter(None, left.split(",")):
            admin.send(f"KILL {number}")
            admin.answer()
        return not left and admin.run("SELECT COUNT(*) FROM information_schema.INNODB_TRX") == "0"

    def addresses(self, *servers):
        return [server.uri() if server is self.maria else server.address() for server in servers]

    def once(self, *arguments, servers=None):
        return Watch(GORDIAN, "--once", *arguments, *self.addresses(*(servers or [self.a])))


def servers_of(found):
    return {edge["waiter"]["server"] for edge in found["edges"]}


def must_find(watch, sessions, servers=1):
    """One deadlock of so many sessions, with everything that belongs to an edge."""
    check(watch.code == 1, "exit status", watch.code, watch.text, watch.said)
    check(len(watch.deadlocks) == 1, "deadlocks", watch.text)
    found = watch.deadlocks[0]
    check(len(found["edges"]) == sessions, "sessions of the cycle", found)
    check(len(servers_of(found)) == servers, "servers", found)
    check(len(found["cycle"]) == 2 * sessions, "witness", found)
    for edge in found["edges"]:
        for side in "waiter", "holder":
            check(edge[side]["pid"] > 0 and edge[side]["user"], "who it is", edge)
        if edge["relation"] in ("holds", "queued"):
            check(edge["mode"] and edge["object"] and edge["waiter"]["query"], "what it waits for", edge)
    check(found["advice"]["text"] and found["advice"]["cancel"], "the victim", found)
    return found


def must_not_find(watch):
    check(watch.code == 0 and not watch.deadlocks, "nothing to find", watch.code, watch.text, watch.said)
    return watch.summary


def crosswise(world, first, second, server=None):
    """Two sessions, one thing each, then the other's."""
    one, two = world.sessions(2, server)
    one.run(first)
    two.run(second)
    one.send(second)
    two.send(first)
    world.await_waits(2, server)
    return one, two


# ---- one PostgreSQL


@case
def rows(world):
    crosswise(world, "UPDATE t1 SET v = 1 WHERE id = 1", "UPDATE t1 SET v = 1 WHERE id = 2")
    found = must_find(world.once(), 2)
    check({edge["row"] for edge in found["edges"]} == {"t1(0,1)", "t1(0,2)"}, "rows", found)
    check({edge["waiter"]["application"] for edge in found["edges"]} == {"app0", "app1"}, "applications", found)


@case
def pictures(world):
    crosswise(world, "UPDATE t1 SET v = 1 WHERE id = 1", "UPDATE t1 SET v = 1 WHERE id = 2")
    dot, svg = (os.path.join(world.scratch.folder, name) for name in ("a b.dot", "a b.svg"))
    must_find(world.once("--dot", dot, "--svg", svg), 2)
    check(open(dot).read().count("->") == 4, "arrows of the DOT")
    check(open(svg).read().rstrip().endswith("</svg>"), "the SVG is whole")
    text = subprocess.run([GORDIAN, "watch", "--once", world.a.address()], text=True, capture_output=True)
    for part in ("deadlock 1: 2 sessions wait for each other", "UPDATE t1 SET v = 1", "ShareLock",
                 "application app0", "SELECT pg_cancel_backend(", "SELECT pg_terminate_backend(",
                 "held by", "t1(0,1)"):
        check(part in text.stdout, part, text.stdout)


@case
def tables(world):
    crosswise(world, "LOCK TABLE t1", "LOCK TABLE t2")
    found = must_find(world.once(), 2)
    check({edge["object"] for edge in found["edges"]} == {"table t1", "table t2"}, "objects", found)
    check(all(edge["mode"] == "AccessExclusiveLock" for edge in found["edges"]), "modes", found)


@case
def unique_keys(world):
    crosswise(world, "INSERT INTO t1 VALUES (100, 0)", "INSERT INTO t1 VALUES (101, 0)")
    must_find(world.once(), 2)


@case
def foreign_keys(world):
    one, two = world.sessions(2)
    one.run("UPDATE t2 SET id = 50 WHERE id = 5")
    two.run("UPDATE t2 SET id = 60 WHERE id = 6")
    one.send("INSERT INTO child VALUES (1, 6)")
    two.send("INSERT INTO child VALUES (2, 5)")
    world.await_waits(2)
    must_find(world.once(), 2)


def act_once(world, *arguments):
    """On a cycle within one server, which is its own detector's first. That of the sessions is put off; the
    watcher is given the setting by its address."""
    return Watch(GORDIAN, "--once", *arguments, world.a.address() + " options='-c deadlock_timeout=100ms'")


@case
def advisory_locks(world):
    """A cancel does not release a session's advisory lock. The cycle is gone all the same, and what is still
    held is reported; the session, which does not wait any more, is left to its client."""
    crosswise(world, "SELECT pg_advisory_lock(7)", "SELECT pg_advisory_lock(8)")
    watch = act_once(world, "--act", "cancel")
    found = must_find(watch, 2)
    check({edge["object"] for edge in found["edges"]} == {"advisory lock 7", "advisory lock 8"}, "objects", found)
    check("cancel sent" in watch.said and "1 of 1 sessions still wait for its locks" in watch.said, "observed",
          watch.said)
    check("terminate sent" not in watch.said and world.waiting(world.a) == 1, "no escalation", watch.said)


@case
def victims(world):
    """By the policy, by name, and only if told."""
    one, two = crosswise(world, "UPDATE t1 SET v = 1 WHERE id = 1", "UPDATE t1 SET v = 1 WHERE id = 2")
    pids = {edge["waiter"]["application"]: edge["waiter"]["name"]
            for edge in must_find(world.once(), 2)["edges"]}
    for arguments, victim in ((["--prefer", "app0"], "app0"), (["--prefer", "app1"], "app1"),
                              (["--spare", "app0"], "app1"), (["--spare", "app1"], "app0"), ([], "app1")):
        found = must_find(world.once(*arguments), 2)
        check(found["advice"]["victim"] == pids[victim], f"victim of {arguments}", found)
    watch = world.once("--act", "cancel", "--dry-run")
    must_find(watch, 2)
    check("would end " + pids["app1"] in watch.said, "what would be done", watch.said)
    check(world.waiting(world.a) == 2, "a dry run ends nobody")
    watch = act_once(world, "--act", "terminate", "--prefer", "app0")
    check("its session was terminated; the cycle is gone, and 1 session no longer waits for it" in watch.said,
          "what was done", watch.said)
    check(not one.answer().startswith("ok"), "the victim")
    check(two.answer().startswith("ok"), "the other one goes on")


@case
def soft_cycle(world):
    """The server mends it itself, by letting the reader pass."""
    reader, writer, third = world.sessions(3)
    reader.run("LOCK TABLE t1 IN ACCESS SHARE MODE")
    third.run("LOCK TABLE t2")
    writer.send("LOCK TABLE t1")
    world.await_waits(1)
    third.send("LOCK TABLE t1 IN ACCESS SHARE MODE")
    world.await_waits(2)
    reader.send("LOCK TABLE t2 IN ACCESS SHARE MODE")
    world.await_waits(3)
    summary = must_not_find(world.once())
    check(summary["mended_by_servers"] == 1, "a soft cycle", summary)


@case
def queue_behind_reader(world):
    reader, writer, *others = world.sessions(5)
    reader.run("SELECT * FROM t1")
    writer.send("ALTER TABLE t1 ADD COLUMN more int")
    world.await_waits(1)
    for count, other in enumerate(others):
        other.send("SELECT * FROM t1")
        world.await_waits(count + 2)
    watch = world.once("--stall", "0.001")
    summary = must_not_find(watch)
    check(len(summary["roots"]) == 1 and summary["roots"][0]["behind"] == 4, "the root", summary)
    check(summary["roots"][0]["root"]["state"] == "idle in transaction", "its state", summary)
    check(summary["roots"][0]["root"]["application"] == "app0", "who it is", summary)
    check(len(summary["longest_chain"]) >= 3, "the chain", summary)
    check(len(watch.stalls) == 4, "stalls", watch.text)


@case
def shared_rows(world):
    """Several hold the row, and two of them want more."""
    one, two, three = world.sessions(3)
    for session in (one, two, three):
        session.run("SELECT * FROM t1 WHERE id = 3 FOR SHARE")
    one.send("UPDATE t1 SET v = 2 WHERE id = 3")
    world.await_waits(1)
    must_not_find(world.once())
    two.send("UPDATE t1 SET v = 2 WHERE id = 3")
    world.await_waits(2)
    three.run("ROLLBACK")
    must_find(world.once(), 2)


@case
def prepared_transaction(world):
    one, two = world.sessions(2)
    one.run("UPDATE t1 SET v = 1 WHERE id = 4")
    one.run("PREPARE TRANSACTION 'transfer-17'")
    two.send("UPDATE t1 SET v = 1 WHERE id = 4")
    world.await_waits(1)
    try:
        summary = must_not_find(world.once("--act", "terminate"))
        check(summary["roots"][0]["root"]["prepared"] == "transfer-17", "the root", summary)
        check(world.waiting(world.a) == 1, "nobody was ended")
    finally:
        world.admins["pga"].run("ROLLBACK PREPARED 'transfer-17'")


@case
def prepared_modes(world):
    """Of two that hold the table only one is in the way; a name may have anything in it."""
    reads, writes, waits = world.sessions(3)
    reads.run("SELECT * FROM t1")
    reads.run("PREPARE TRANSACTION 'only reads'")
    writes.run("UPDATE t1 SET v = 1 WHERE id = 4")
    writes.run("PREPARE TRANSACTION 'writes, {really}'")
    waits.send("LOCK TABLE t1 IN SHARE MODE")
    world.await_waits(1)
    try:
        summary = must_not_find(world.once())
        check([root["root"]["prepared"] for root in summary["roots"]] == ["writes, {really}"], "the root", summary)
    finally:
        for name in "only reads", "writes, {really}":
            world.admins["pga"].run(f"ROLLBACK PREPARED '{name}'")


@case
def waits_for_itself(world):
    """A client with two connections to one server, of which one waits for the other: no server sees that."""
    client = world.client(world.a.address(tcp=True), world.a.address(tcp=True))
    client.run("BEGIN", 0)
    client.run(UPDATE, 0)
    client.send(UPDATE, 1)
    world.await_waits(1)
    found = must_find(world.once(), 2)
    check(sorted(edge["relation"] for edge in found["edges"]) == ["client", "holds"], "edges", found)


@case
def parallel_query(world):
    """A worker waits: it is its leader that does."""
    one, two = world.sessions(2)
    one.run("LOCK TABLE t2")
    two.run("LOCK TABLE t1")
    two.run("SET force_parallel_mode = on")
    leader = int(two.run("SELECT pg_backend_pid()"))
    two.send("SELECT peek()")
    world.await_waits(1)
    worker = int(world.admins["pga"].run("SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock'"))
    check(worker != leader, "a worker waits", worker)
    one.send("LOCK TABLE t1")
    world.await_waits(2)
    found = must_find(world.once(), 2)
    check(leader in {edge["waiter"]["pid"] for edge in found["edges"]}, "the leader", found)


@case
def hot_row(world):
    """200 want one row: what is asked of the server is not quadratic, nor is the answer."""
    holder = world.sessions(1)[0]
    holder.run("UPDATE t1 SET v = 1 WHERE id = 5")
    crowd = world.client(*[world.a.address(application="crowd")] * 200)
    for i in range(200):
        crowd.run("&UPDATE t1 SET v = 1 WHERE id = 5", i)
    world.await_waits(200)
    watch = world.once()
    summary = must_not_find(watch)
    check(summary["waiting"] == 200 and summary["roots"][0]["behind"] == 200, "the crowd", summary)
    check(summary["servers"][0]["asked_seconds"] < 60, "not quadratic", summary)


@case
def role_without_rights(world):
    crosswise(world, "UPDATE t1 SET v = 1 WHERE id = 1", "UPDATE t1 SET v = 1 WHERE id = 2")
    watch = Watch(GORDIAN, "--once", world.a.address(user="weak"))
    check(watch.code == 1 and watch.deadlocks, "found by the locks alone", watch.text)
    check("GRANT pg_read_all_stats TO weak" in watch.said, "the grant", watch.said)
    watch = Watch(GORDIAN, "--once", "--act", "cancel", world.a.address(user="weak"))
    check("may not end any of the sessions" in watch.text or "could not be ended" in watch.said, "no right to end",
          watch.text, watch.said)
    check(world.waiting(world.a) == 2, "nobody was ended")


@case
def passwords(world):
    """Not in what is written, not in the process list."""
    address = f"postgres://postgres:{SECRET}@127.0.0.1:{world.a.port}/postgres"
    words = f"host=127.0.0.1 port={world.a.port} user=postgres password='{SECRET} x'"
    for bad in (f"postgres://u:{SECRET}@h:no/", f"nonsense://u:{SECRET}@h", f"host=x password={SECRET} y",
                f"mysql://u:{SECRET}@h:0/"):
        watch = Watch(GORDIAN, "--once", bad)
        check(watch.code in (2, 3, 5) and SECRET not in watch.text + watch.said, "refused", watch.said)
    watch = Watch(GORDIAN, "--once", "--verbose", address, words)
    check(watch.code == 0 and SECRET not in watch.text + watch.said, "not said", watch.text, watch.said)
    watchers = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'gordian watch'"
    wait_until("those to end", lambda: world.admins["pga"].run(watchers) == "0")
    process = subprocess.Popen([GORDIAN, "watch", "--verbose", address, words], stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT)
    world.scratch.running.append(process)
    try:
        wait_until("connections", lambda: world.admins["pga"].run(watchers) == "2")
        # The second question of each: the answer to the first has been taken.
        wait_until("looks", lambda: world.admins["pga"].run(
            watchers + " AND query LIKE '%backend_idset%' AND query_start > backend_start + interval '250 ms'") == "2")
        line = open(f"/proc/{process.pid}/cmdline").read()
        check(SECRET not in line and "127.0.0.1" in line, "the process list", line)
    finally:
        process.terminate()
        said = process.communicate()[0].decode()
        world.scratch.running.remove(process)
    check(process.returncode == 0 and SECRET not in said, "ends in order", process.returncode, said)


# ---- several servers


def await_definitions(world, count):
    wait_until(f"{count} waits for definitions", lambda: world.admins["maria"].run(
        "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE STATE = 'Waiting for table metadata lock'")
        == str(count))
    world.await_sleep()


def two_clients(world, first, second, query_first, query_second):
    """Two clients with a connection to each of two servers: nobody but a watcher of both sees it."""
    one, two = (world.client(first(i), second(i)) for i in (1, 2))
    for client in (one, two):
        client.run("BEGIN", 0)
        client.run("BEGIN", 1)
    one.run(query_first, 0)
    two.run(query_second, 1)
    one.send(query_second, 1)
    two.send(query_first, 0)
    return one, two


UPDATE = "UPDATE t1 SET v = 1 WHERE id = 1"


def plain_report(lines):
    """Without what differs: numbers of sessions, where the row is, and how wide they are; the cycle may begin with any."""
    text = "\n".join(re.sub(r"─+", "─", re.sub(r"(pg[ab])/\d+", r"\1/N", re.sub(r"\(0,\d+\)", "(0,N)", line)))
                     for line in lines)
    return sorted(re.sub(r"[ ─]+", " ", line).strip("╭╰│╮╯▶◀ ") for line in text.splitlines())


def check_readme(world, servers):
    """What the README shows of a deadlock between servers."""
    root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
    with open(os.path.join(root, "README.md"), encoding="utf-8") as file:
        shown = re.search(r"<!-- watch -->\n```text\n\$ gordian [^\n]*\n(.*?)^  \.\.\.$", file.read(), re.M | re.S)[1].splitlines()
    told = subprocess.run([GORDIAN, "watch", "--once", "--link", "^shop-(.*)$", *world.addresses(*servers)], text=True,
                          capture_output=True, stdin=subprocess.DEVNULL, env=dict(os.environ, LC_ALL="C.UTF-8")).stdout
    check(plain_report(shown) == plain_report(told.splitlines()[:len(shown)]), "as in the README", told)


@case
def two_postgres_by_name(world):
    one, two = two_clients(world, lambda i: world.a.address(application=f"shop-{i}"),
                           lambda i: world.b.address(application=f"shop-{i}"), UPDATE, UPDATE)
    world.await_waits(1, world.a)
    world.await_waits(1, world.b)
    both = [world.a, world.b]
    must_not_find(world.once())
    must_not_find(world.once(servers=both))
    found = must_find(world.once("--link", "^shop-(.*)$", servers=both), 4, 2)
    check(sorted(edge["relation"] for edge in found["edges"]) == ["client", "client", "holds", "holds"], "edges", found)
    check_readme(world, both)
    watch = world.once("--link", "^shop-(.*)$", "--act", "cancel", servers=both)
    must_find(watch, 4, 2)
    check("its statement was cancelled; the cycle is gone" in watch.said, "resolved", watch.said)

    check(world.waiting(world.a) + world.waiting(world.b) <= 1, "one of them goes on")


@case
def two_postgres_by_port(world):
    """A process of this machine with one thread."""
    two_clients(world, lambda i: world.a.address(tcp=True), lambda i: world.b.address(tcp=True), UPDATE, UPDATE)
    world.await_waits(1, world.a)
    world.await_waits(1, world.b)
    found = must_find(world.once(servers=[world.a, world.b]), 4, 2)
    check(any(edge["resource"].startswith("process ") for edge in found["edges"]), "the client", found)


IP_LOCAL_PORT_RANGE = 51  # Linux 6.3


def connect_from(port, listener):
    """A connection from a port that connections to other places have, too: which one a socket gets is the
    system's choice."""
    while True:
        connection = socket.socket()
        try:
            connection.setsockopt(socket.IPPROTO_IP, IP_LOCAL_PORT_RANGE, struct.pack("I", port << 16 | port))
        except OSError:
            pass  # then by trying: they come in turn
        connection.connect(listener.getsockname())
        accepted = listener.accept()[0]
        if connection.getsockname()[1] == port:
            return connection, accepted
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()
        accepted.close()


@case
def shared_ports(world):
    """Others have connections from the clients' ports to elsewhere: one lives, one has just been closed."""
    two_clients(world, lambda i: world.a.address(tcp=True), lambda i: world.b.address(tcp=True), UPDATE, UPDATE)
    world.await_waits(1, world.a)
    world.await_waits(1, world.b)
    kept, closed = socket.create_server(("127.0.0.1", 0)), socket.create_server(("127.0.0.1", 0))
    living = [kept, closed]
    for server in (world.a, world.b):
        ports = world.admins[server.name].run("SELECT string_agg(client_port::text, ' ') FROM pg_stat_activity "
                                              "WHERE client_port > 0 AND datname = 'postgres'").split()
        check(len(ports) >= 2, "ports", ports)
        for port in map(int, ports):
            living += connect_from(port, kept)
            for end in connect_from(port, closed):
                end.close()
    must_find(world.once(servers=[world.a, world.b]), 4, 2)
    for end in living:
        end.close()


@case
def behind_a_pooler(world):
    """A process with one thread that does not sleep until one of its connections answers serves several: what
    one of them does says nothing about the others."""
    one, two = (world.client(world.a.address(tcp=True), world.b.address(tcp=True)) for _ in range(2))
    for client in (one, two):
        client.run("BEGIN", 0)
        client.run("BEGIN", 1)
    one.run(UPDATE, 0)
    two.run(UPDATE, 1)
    one.run("&" + UPDATE, 1)
    two.run("&" + UPDATE, 0)
    world.await_waits(1, world.a)
    world.await_waits(1, world.b)
    must_not_find(world.once(servers=[world.a, world.b]))


@case
def postgres_fdw(world):
    """Two transactions that write on both servers, each through the other one."""
    one, two = world.sessions(1, world.a)[0], world.sessions(1, world.b)[0]
    one.run("UPDATE t1 SET v = 1 WHERE id = 7")
    two.run("UPDATE t1 SET v = 1 WHERE id = 8")
    one.send("UPDATE far SET v = 1 WHERE id = 8")
    two.send("UPDATE far SET v = 1 WHERE id = 7")
    world.await_waits(1, world.a)
    world.await_waits(1, world.b)
    found = must_find(world.once(servers=[world.a, world.b]), 4, 2)
    check(sorted(edge["relation"] for edge in found["edges"]) == ["call", "call", "holds", "holds"], "edges", found)
    watch = world.once("--act", "cancel", servers=[world.a, world.b])
    check("its statement was cancelled; the cycle is gone" in watch.said, "resolved", watch.said)
    wait_until("the others to go on", lambda: world.waiting(world.a) + world.waiting(world.b) == 0)


@case
def maria_rows(world):
    one, two = (world.client(world.maria.address()) for _ in range(2))
    for client in (one, two):
        client.run("BEGIN")
    one.run("UPDATE t1 SET v = 1 WHERE id = 1")
    two.run("UPDATE t1 SET v = 1 WHERE id = 2")
    one.send("UPDATE t1 SET v = 1 WHERE id = 2")
    two.send("UPDATE t1 SET v = 1 WHERE id = 1")
    world.await_waits(2, world.maria)
    found = must_find(world.once(servers=[world.maria]), 2)
    check({edge["row"] for edge in found["edges"]} == {"PRIMARY: 1", "PRIMARY: 2"}, "rows", found)
    check(found["advice"]["cancel"].startswith("KILL QUERY "), "SQL", found)
    watch = Watch(GORDIAN, "--once", f"mysql://weak@127.0.0.1:{world.maria.port}")
    check("GRANT PROCESS ON *.*" in watch.said and watch.code != 1, "the grant", watch.code, watch.said)
    check(found["advice"]["cancel"].startswith("KILL QUERY ID "), "SQL", found)
    watch = world.once("--act", "cancel", servers=[world.maria])
    check("cancel sent" in watch.said and "the cycle is gone" in watch.said, "resolved", watch.said)
    check("terminate sent" not in watch.said, "the transaction is its client's", watch.said)


@case
def maria_order_that_comes_late(world):
    """The order is on its way while the deadlock ends otherwise, and the victim goes on: by the number of the
    statement nothing is hit."""
    one, two = (world.client(world.maria.address()) for _ in range(2))
    for client, row in ((one, 1), (two, 2)):
        client.run("BEGIN")
        client.run(f"UPDATE t1 SET v = 1 WHERE id = {row}")
    numbers = [client.run("SELECT CONNECTION_ID()") for client in (one, two)]
    one.send("UPDATE t1 SET v = 1 WHERE id = 2")
    two.send("UPDATE t1 SET v = 1 WHERE id = 1")
    world.await_waits(2, world.maria)
    relay = Relay(world.maria, b"KILL QUERY")
    log = os.path.join(world.scratch.folder, "late.log")
    with open(log, "wb") as out:
        watch = subprocess.Popen([GORDIAN, "watch", "--act", "cancel", f"mysql://root@127.0.0.1:{relay.port}"],
                                 stdout=out, stderr=out, stdin=subprocess.DEVNULL)
    world.scratch.running.append(watch)
    wait_until("the order", relay.kept.is_set)
    with open(log, encoding="utf-8") as file:
        victim = 0 if f"victim: 127.0.0.1:{relay.port}/{numbers[0]}:" in file.read() else 1
    world.admins["maria"].run(f"KILL {numbers[1 - victim]}")
    check((one, two)[victim].answer().startswith("ok"), "the victim goes on")
    (one, two)[victim].send("SELECT SLEEP(1)")
    wait_until("its next statement", lambda: world.admins["maria"].run(
        f"SELECT STATE FROM information_schema.PROCESSLIST WHERE ID = {numbers[victim]}") == "User sleep")
    relay.go.set()
    answer = (one, two)[victim].answer()
    check(answer == "ok 0", "it sleeps to the end", answer)
    wait_until("what happened", lambda: "no longer waits in the cycle: nothing was done" in open(log).read())
    watch.terminate()
    watch.wait()
    world.scratch.running.remove(watch)


@case
def maria_twice(world):
    """By its port and by its socket: one finding."""
    one, two = (world.client(world.maria.address()) for _ in range(2))
    for client, row in ((one, 1), (two, 2)):
        client.run("BEGIN")
        client.run(f"UPDATE t1 SET v = 1 WHERE id = {row}")
    one.send("UPDATE t1 SET v = 1 WHERE id = 2")
    two.send("UPDATE t1 SET v = 1 WHERE id = 1")
    world.await_waits(2, world.maria)
    watch = Watch(GORDIAN, "--once", world.maria.uri(), f"mysql://root@/?socket={world.maria.socket}")
    must_find(watch, 2)
    check(watch.said.count("the same server as") == 1, "said once", watch.said)


@case
def maria_definitions(world):
    """Rows and definitions of tables are two kinds of locks: a cycle through both is seen by neither part of the
    server."""
    reader, changer, writer = (world.client(world.maria.address()) for _ in range(3))
    changer.run("CREATE TABLE IF NOT EXISTS t3(id int)")
    reader.run("BEGIN")
    reader.run("SELECT * FROM t3")
    changer.send("ALTER TABLE t3 COMMENT 'changed'")
    await_definitions(world, 1)
    writer.run("BEGIN")
    writer.run(UPDATE)
    writer.send("SELECT * FROM t3")
    await_definitions(world, 2)
    must_not_find(world.once(servers=[world.maria]))
    reader.send(UPDATE)
    world.await_waits(1, world.maria)
    found = must_find(world.once(servers=[world.maria]), 3)
    check(sorted(edge["relation"] for edge in found["edges"]) == ["holds", "holds", "queued"], "edges", found)
    check("definition of `test`.`t3`" in {edge["object"] for edge in found["edges"]}, "objects", found)


@case
def maria_queue_for_definition(world):
    reader, writer, later = (world.client(world.maria.address()) for _ in range(3))
    reader.run("BEGIN")
    reader.run("SELECT * FROM t1")
    writer.send("ALTER TABLE t1 COMMENT 'changed'")
    await_definitions(world, 1)
    later.send("SELECT * FROM t1")
    await_definitions(world, 2)
    summary = must_not_find(world.once(servers=[world.maria]))
    check(summary["waiting"] == 2, "both wait", summary)
    check(len(summary["roots"]) == 1 and summary["roots"][0]["behind"] == 2, "the root", summary)


@case
def postgres_and_maria_definition(world):
    """A client that holds a table's definition there waits here for one who wants to change it."""
    one, two = (world.client(world.a.address(tcp=True), world.maria.address(tcp=True)) for _ in range(2))
    for client in (one, two):
        client.run("BEGIN", 0)
    one.run("BEGIN", 1)
    one.run("SELECT * FROM t1", 1)
    two.run(UPDATE, 0)
    two.send("ALTER TABLE t1 COMMENT 'changed'", 1)
    await_definitions(world, 1)
    one.send(UPDATE, 0)
    world.await_waits(1, world.a)
    found = must_find(world.once(servers=[world.a, world.maria]), 4, 2)
    check("definition of `test`.`t1`" in {edge["object"] for edge in found["edges"]}, "objects", found)


@case
def postgres_and_maria(world):
    two_clients(world, lambda i: world.a.address(tcp=True), lambda i: world.maria.address(tcp=True), UPDATE,
                UPDATE)
    world.await_waits(1, world.a)
    world.await_waits(1, world.maria)
    both = [world.a, world.maria]
    must_find(world.once(servers=both), 4, 2)
    watch = world.once("--act", "cancel", servers=both)
    check("cancel sent" in watch.said and "the cycle is gone" in watch.said, "resolved", watch.said)


@case
def threads_and_rows(world):
    """thread -> mutex -> thread -> query -> session -> row -> session -> thread, over TCP and a Unix socket."""
    for tcp in (True, False):
        process = subprocess.Popen([POOL, world.a.address(tcp=tcp), "UPDATE t1 SET v = 1 WHERE id = 9"])
        world.scratch.running.append(process)
        world.await_waits(1)
        wait_until("threads to sleep", lambda: all(
            open(f"/proc/{process.pid}/task/{task}/stat").read().rsplit(")", 1)[1].split()[0] == "S"
            for task in os.listdir(f"/proc/{process.pid}/task")))
        must_not_find(world.once())
        watch = world.once("--inspect", str(process.pid))
        check(watch.code == 1 and len(watch.deadlocks) == 1, "found", watch.text, watch.said)
        found = watch.deadlocks[0]
        check([len(found["edges"]), len(servers_of(found))] == [4, 2], "the whole cycle", found)
        witness = " ".join(found["cycle"])
        for part in ("mutex ledger", "client pool-", "t1(0,9)", "its query"):
            check(part in witness, part, found)
        check({edge["waiter"]["user"] for edge in found["edges"]} == {"one", "two", "postgres"}, "threads", found)
        process.kill()
        process.wait()
        world.scratch.running.remove(process)
        world.clean()


@case
def metrics(world):
    """What Prometheus would read, while two sessions wait for each other."""
    crosswise(world, "UPDATE t1 SET v = 1 WHERE id = 1", "UPDATE t1 SET v = 1 WHERE id = 2")
    process = subprocess.Popen([GORDIAN, "watch", "--listen", "0", *world.addresses(world.a, world.b)],
                               text=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    world.scratch.running.append(process)
    place = re.search(r"http://\S+", process.stderr.readline())[0]

    def values():
        text = urllib.request.urlopen(place).read().decode()
        return dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))

    wait_until("the deadlock", lambda: values()["gordian_watch_deadlocks"] == "1")
    wait_until("both servers", lambda: values()['gordian_watch_up{server="pgb"}'] == "1")
    found = values()
    check(found['gordian_watch_waiting_sessions{server="pga"}'] == "2", "waits", found)
    check(found['gordian_watch_waiting_sessions{server="pgb"}'] == "0", "no waits", found)
    check(found["gordian_watch_deadlocks_total"] == "1", "so far", found)
    check(float(found['gordian_watch_oldest_wait_seconds{server="pga"}']) > 0, "their age", found)
    try:
        urllib.request.urlopen(place.replace("metrics", "other"))
        check(False, "another page")
    except urllib.error.HTTPError as error:
        check(error.code == 404, "another page", error.code)
    process.terminate()
    check(process.wait() == 1, "exit status")
    process.stderr.close()
    world.scratch.running.remove(process)


@case
def into_a_service(world):
    """A system of its own, with the deadlock as an incident; gone when the sessions are."""
    folder = os.path.join(world.scratch.folder, "service")
    os.mkdir(folder)
    place = os.path.join(folder, "s")
    log = open(os.path.join(folder, "log"), "wb")
    port = free_port()
    for name, text in ("tokens", "watch write very-secret-token-0123456789\n"), ("token", "very-secret-token-0123456789\n"):
        with open(os.path.join(folder, name), "w") as file:
            os.fchmod(file.fileno(), 0o600)
            file.write(text)
    service = subprocess.Popen([GORDIAN, "serve", "--socket", place, "--data", os.path.join(folder, "data"), "--listen",
                                f"127.0.0.1:{port}", "--http", "none", "--token-file",
                                os.path.join(folder, "tokens")],
                               stdout=log, stderr=log)
    world.scratch.running.append(service)
    wait_until("the service", lambda: b"ready" in open(log.name, "rb").read())

    def systems():
        with socket.socket(socket.AF_UNIX) as talk:
            talk.connect(place)
            talk.sendall(b"systems\nquit\n")
            answer = json.loads(talk.makefile().readline())
        return {system["name"]: system for system in answer["systems"]}

    crosswise(world, "UPDATE t1 SET v = 1 WHERE id = 1", "UPDATE t1 SET v = 1 WHERE id = 2")
    third = world.sessions(1)[0]
    third.send("UPDATE t1 SET v = 1 WHERE id = 1")
    world.await_waits(3)
    bad = os.path.join(world.scratch.folder, "no token")
    watch = Watch(GORDIAN, "--once", "--to", "unix:" + place, "--token-file", bad, world.a.address())
    check(watch.code == 2 and "no token" in watch.said, "no such file", watch.code, watch.said)
    watch = Watch(GORDIAN, "--once", "--to", f"tcp://127.0.0.1:{port}", world.a.address())
    check(watch.code not in (0, 1) and "--token-file" in watch.said, "no token", watch.code, watch.said)
    watch = subprocess.Popen([GORDIAN, "watch", "--to", f"tcp://127.0.0.1:{port}", "--token-file",
                              os.path.join(folder, "token"), world.a.address()],
                             stdout=log, stderr=log)
    world.scratch.running.append(watch)
    wait_until("the sessions", lambda: systems().get("databases", {}).get("waiting") == 3)
    check(systems()["databases"]["processes"] == 3, "processes", systems())
    check(systems()["databases"]["open_incidents"] == 1, "incidents", systems())
    world.admins["pga"].run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                            "WHERE wait_event_type = 'Lock'")
    wait_until("nobody", lambda: systems()["databases"]["waiting"] == 0)
    wait_until("the names to go", lambda: systems()["databases"]["processes"] == 0)
    check(systems()["databases"]["resources"] == 0, "resources", systems())
    check(systems()["databases"]["incidents"] == 1, "history", systems())
    for process in (watch, service):
        process.terminate()
        process.wait()
        world.scratch.running.remove(process)
    log.close()


def make_certificate(world):
    """One for "localhost" that signs itself; the folder has cert.pem and key.pem, readable by the servers' user alone."""
    folder = os.path.join(world.scratch.folder, "tls")
    os.mkdir(folder)
    cert, key = (os.path.join(folder, name) for name in ("cert.pem", "key.pem"))
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", key,
                    "-out", cert], check=True, capture_output=True)
    for path in cert, key:
        os.chmod(path, 0o600)
    return cert, key


@case
def over_tls(world):
    """To the server as libpq does it, and to the service; neither to somebody else."""
    cert, key = make_certificate(world)
    admin = world.admins["pga"]
    for setting, path in ("ssl_cert_file", cert), ("ssl_key_file", key):
        copy = os.path.join(world.a.data, os.path.basename(path))
        with open(path) as source, open(copy, "w") as file:
            os.fchmod(file.fileno(), 0o600)
            file.write(source.read())
        if world.scratch.other:
            os.chown(copy, world.scratch.other.pw_uid, world.scratch.other.pw_gid)
        admin.run(f"ALTER SYSTEM SET {setting} = '{copy}'")
    admin.run("ALTER SYSTEM SET ssl = on")
    admin.run("SELECT pg_reload_conf()")
    wait_until("TLS", lambda: admin.run("SELECT current_setting('ssl')") == "on")
    crosswise(world, "UPDATE t1 SET v = 1 WHERE id = 1", "UPDATE t1 SET v = 1 WHERE id = 2")
    secure = (f"host=localhost hostaddr=127.0.0.1 port={world.a.port} user=postgres dbname=postgres "
              f"sslmode=verify-full sslrootcert='{cert}'")
    must_find(Watch(GORDIAN, "--once", secure), 2)
    watch = Watch(GORDIAN, "--once", secure.replace("host=localhost", "host=elsewhere"))
    check(watch.code == 5 and "elsewhere" in watch.said, "another's certificate", watch.code, watch.said)

    port = free_port()
    token = os.path.join(world.scratch.folder, "tls", "token")
    for path, text in (token, "very-secret-token-0123456789\n"), (token + "s", "watch write very-secret-token-0123456789\n"):
        with open(path, "w") as file:
            os.fchmod(file.fileno(), 0o600)
            file.write(text)
    place, log = (os.path.join(world.scratch.folder, "tls", name) for name in ("s", "log"))
    with open(log, "wb") as out:
        service = subprocess.Popen([GORDIAN, "serve", "--socket", place, "--data", os.path.join(world.scratch.folder, "tls", "data"),
                                    "--listen", f"127.0.0.1:{port}", "--http", "none", "--token-file", token + "s",
                                    "--tls-cert", cert, "--tls-key", key], stdout=out, stderr=out)
    world.scratch.running.append(service)
    wait_until("the service", lambda: b"ready" in open(log, "rb").read())
    to = ["--once", "--to", f"tls://127.0.0.1:{port}", "--token-file", token]
    watch = Watch(GORDIAN, *to, "--tls-ca", cert, "--tls-name", "localhost", world.a.address())
    check(watch.code == 1, "to the service", watch.code, watch.said)
    with socket.socket(socket.AF_UNIX) as talk:
        talk.connect(place)
        talk.sendall(b"systems\nquit\n")
        systems = json.loads(talk.makefile().readline())["systems"]
    check([system["incidents"] for system in systems if system["name"] == "databases"] == [1], "an incident", systems)
    for wrong in (["--tls-ca", cert, "--tls-name", "elsewhere"], ["--tls-name", "localhost"]):
        watch = Watch(GORDIAN, *to, *wrong, world.a.address())
        check(watch.code not in (0, 1) and "certificate" in watch.said, "another's certificate", watch.code, watch.said)
    service.terminate()
    service.wait()
    world.scratch.running.remove(service)
    admin.run("ALTER SYSTEM RESET ssl")
    admin.run("SELECT pg_reload_conf()")


@case
def several_hosts(world):
    """Of an address with several places the one that answers."""
    crosswise(world, "UPDATE t1 SET v = 1 WHERE id = 1", "UPDATE t1 SET v = 1 WHERE id = 2")
    must_find(Watch(GORDIAN, "--once", f"postgresql://postgres@127.0.0.1:1,127.0.0.1:{world.a.port}/postgres"), 2)
    must_find(Watch(GORDIAN, "--once",
                    f"host=127.0.0.1,127.0.0.1 port=1,{world.a.port} user=postgres dbname=postgres"), 2)


class Terminal:
    """`gordian watch --top` on a terminal of 80 by 24."""

    def __init__(self, world, *addresses):
        self.world = world
        self.own, self.its = pty.openpty()
        self.resize(24, 80)
        self.before = termios.tcgetattr(self.its)
        addresses = addresses or world.addresses(world.a, world.b)
        self.process = subprocess.Popen([GORDIAN, "watch", "--top", *addresses],
                                        stdin=self.its, stdout=self.its, stderr=self.its,
                                        env={**os.environ, "LC_ALL": "C.UTF-8"}, preexec_fn=os.setpgrp)
        world.scratch.running.append(self.process)
        os.set_blocking(self.own, False)
        self.text = ""

    def resize(self, rows, columns):
        fcntl.ioctl(self.its, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self):
        try:
            self.text += os.read(self.own, 65536).decode()
        except BlockingIOError:
            pass
        return self.text

    def shows(self, *parts):
        """On a screen that is drawn from now on."""
        self.text = ""
        wait_until(parts, lambda: all(part in self.read() for part in parts))

    def press(self, keys):
        os.write(self.own, keys.encode())

    def close(self):
        """It is given back as it was."""
        self.process.wait()
        wait_until("the screen", lambda: "\033[?1049l" in self.read())
        while len(self.text) < len(self.read()):
            pass
        wait_until("the modes", lambda: termios.tcgetattr(self.its) == self.before)
        self.world.scratch.running.remove(self.process)
        os.close(self.own)
        os.close(self.its)
        return self.process.returncode


@case
def live_view(world):
    crosswise(world, "UPDATE t1 SET v = 1 WHERE id = 1", "UPDATE t1 SET v = 1 WHERE id = 2")
    top = Terminal(world)
    top.shows("2 servers, 2 wait, 1 deadlock; by most behind", "!", "pga/", "app1", "t1(0,", "q: quit")
    top.press("s")
    top.shows("by oldest")
    top.press("\033[B\n")
    top.shows("application", "waits for", "behind", "UPDATE t1 SET v = 1", "enter: back")
    top.press("\n")
    top.shows("enter: inspect")
    top.resize(6, 40)
    top.process.send_signal(signal.SIGWINCH)
    top.shows("\033[J")
    top.shows("\033[J")
    screens = top.text.replace("\033[H", "\r\n")
    for line in re.sub("\033\\[[0-9;?]*[A-Za-z]", "", screens).split("\r\n"):
        check(len(line) <= 40, "a narrow terminal", line)
    top.resize(24, 80)
    top.press("c")
    top.shows("cancel the statement of pga/", "y: yes")
    top.press("n")
    top.shows("enter: inspect")
    check(world.waiting(world.a) == 2, "nobody was cancelled")
    top.press("c")
    top.shows("y: yes")
    top.press("y")
    world.await_waits(0)
    top.shows("none waiting")
    top.press("q")
    check(top.close() == 1, "exit status: there was a deadlock")
    top = Terminal(world)
    top.shows("2 servers, 0 wait")
    top.press("q")
    check(top.close() == 0 and "not seen: " not in top.text, "exit status: everything was seen", top.text)
    port = free_port()
    top = Terminal(world, world.a.address(), f"host=127.0.0.1 port={port} user=x")
    top.shows("2 servers (1 not seen), 0 wait")
    top.press("q")
    check(top.close() == 5, "exit status: a server was not reached")
    check("nothing found, but not everything was seen" in top.text and f"not seen: 127.0.0.1:{port}: " in top.text,
          "what was not seen", top.text)
    top = Terminal(world)
    top.shows("none waiting")
    top.process.send_signal(signal.SIGTSTP)
    wait_until("the stop", lambda: open(f"/proc/{top.process.pid}/stat").read().rsplit(") ", 1)[1][0] == "T")
    wait_until("the modes", lambda: termios.tcgetattr(top.its) == top.before)
    check("\033[?1049l" in top.read(), "the screen is given back", top.text)
    top.process.send_signal(signal.SIGCONT)
    top.shows("\033[?1049h", "none waiting")
    check(termios.tcgetattr(top.its) != top.before, "the modes are its own again")
    top.process.kill()
    check(top.close() == -signal.SIGKILL, "killed")
    done = subprocess.run([GORDIAN, "watch", "--top", world.a.address()], stdin=subprocess.DEVNULL,
                          capture_output=True)
    check(done.returncode == 2 and b"terminal" in done.stderr, "no terminal", done)


@case
def slow_name_server(world):
    """A name that is looked up for ever holds up nobody."""
    crosswise(world, "UPDATE t1 SET v = 1 WHERE id = 1", "UPDATE t1 SET v = 1 WHERE id = 2")
    slow = ["host=slow.invalid dbname=postgres"] + ["mysql://root@slow.invalid"] * bool(world.maria)
    log = os.path.join(world.scratch.folder, "slow.log")
    with open(log, "wb") as out:
        process = subprocess.Popen(
            [GORDIAN, "watch", *slow, world.a.address()], stdout=out, stderr=out,
            env={**os.environ, "LD_PRELOAD": os.path.join(os.path.dirname(POOL), "libslow_names.so"),
                 "ASAN_OPTIONS": "verify_asan_link_order=0:detect_leaks=0"})
    world.scratch.running.append(process)
    wait_until("the deadlock", lambda: "deadlock 1: 2 sessions wait for each other" in open(log).read())
    process.terminate()
    check(process.wait() == 1, "ends at once", open(log).read())
    world.scratch.running.remove(process)


@case
def stopped_server(world):
    """One goes and comes back; the other is watched all the time."""
    log = os.path.join(world.scratch.folder, "watch.log")
    with open(log, "wb") as out:
        process = subprocess.Popen([GORDIAN, "watch", *world.addresses(world.a, world.b)], stdout=out,
                                   stderr=out)
    world.scratch.running.append(process)

    def said(text):
        return wait_until(text, lambda: re.search(text, open(log).read()))

    wait_until("connections", lambda: world.admins["pgb"].run(
        "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'gordian watch'") == "1")
    world.admins.pop("pgb").close()
    world.b.stop()
    said(f"(pgb|local:{world.b.port}): ")  # by its place, if it had not said yet what it is called
    crosswise(world, "UPDATE t1 SET v = 1 WHERE id = 1", "UPDATE t1 SET v = 1 WHERE id = 2")
    said("deadlock 1: 2 sessions wait for each other")
    world.b.start()
    world.admins["pgb"] = Client(world.scratch, world.b.address())
    said("pgb: available again")
    world.admins["pga"].run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event_type = 'Lock'")
    said("deadlock 1 is gone")
    crosswise(world, "UPDATE t1 SET v = 1 WHERE id = 1", "UPDATE t1 SET v = 1 WHERE id = 2", world.b)
    said("deadlock 2: 2 sessions wait for each other")
    process.terminate()
    check(process.wait() == 1, "exit status")
    world.scratch.running.remove(process)
    watch = Watch(GORDIAN, "--once", "host=127.0.0.1 port=1 user=x", world.a.address())
    check(watch.code == 5 and "127.0.0.1:1: " in watch.said, "a server that is not there", watch.code, watch.said)


# Cases in files of their own, which use the servers and the helpers of this one.
sys.modules["databases"] = sys.modules[__name__]
import clients  # noqa: E402,F401
import storms  # noqa: E402,F401
import unseen  # noqa: E402,F401


def main():
    if not postgres_folder():
        print("skipped: PostgreSQL is not installed")
        return 77
    wanted = sys.argv[3:] or list(CASES)
    world = World()
    failed = 0
    for name in wanted:
        if "maria" in name and not world.maria:
            print(f"{name}: skipped, MariaDB is not installed")
            continue
        try:
            began = time.monotonic()
            CASES[name](world)
            world.clean()
            print(f"{name}: {time.monotonic() - began:.1f} s", flush=True)
        except Exception:
            failed += 1
            print(f"failed: {name}", file=sys.stderr)
            traceback.print_exc()
            world.clean()
    print(f"{checks} checks of {len(wanted)} cases, {failed} failed")
    return 1 if failed or not checks else 0


sys.exit(main())
