#!/usr/bin/env python3
"""What `gordian watch --act` ends, and what it leaves alone, on two real PostgreSQL servers.

    ending.py GORDIAN [CASE...]

Cases that make one situation each, and a soak (see soak.py). Skipped (77) where PostgreSQL is not installed.
"""
import os
import re
import select
import subprocess
import sys
import time
import traceback

sys.dont_write_bytecode = True
from servers import Client, PostgresServer, Relay, Scratch, Watch, postgres_folder, wait_until
from soak import Soak

GORDIAN = os.path.abspath(sys.argv[1])
CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


def check(condition, what, *shown):
    if not condition:
        raise AssertionError(f"{what}: {shown}")


class World:
    def __init__(self):
        self.scratch = Scratch()
        self.a = PostgresServer(self.scratch, "pga")
        self.b = PostgresServer(self.scratch, "pgb", self.a)
        for server in (self.a, self.b):
            # The watcher takes the setting of its own session as the server's: cases choose it by its address.
            server.start(deadlock_timeout="100ms", logging_collector="on", log_destination="csvlog",
                         log_directory="log", log_filename="all.log", log_rotation_size="0", log_min_messages="error",
                         log_timezone="UTC")
        self.clients = []
        self.admins = {server: Client(self.scratch, server.address()) for server in (self.a, self.b)}
        for admin in self.admins.values():
            for sql in (
                    "CREATE TABLE t(id int PRIMARY KEY, v int)",
                    "INSERT INTO t SELECT i, 0 FROM generate_series(1, 1000) i",
                    "CREATE DATABASE other",
                    "CREATE ROLE plain LOGIN", "GRANT ALL ON t TO plain",
                    "CREATE ROLE watcher LOGIN IN ROLE pg_monitor, pg_signal_backend",
                    # A statement that is cancelled and waits again.
                    "CREATE FUNCTION stubborn(row_id int) RETURNS void LANGUAGE plpgsql AS $$ BEGIN LOOP "
                    "BEGIN UPDATE t SET v = v + 1 WHERE id = row_id; RETURN; "
                    "EXCEPTION WHEN query_canceled THEN NULL; END; END LOOP; END $$"):
                admin.run(sql)

    def client(self, *addresses):
        client = Client(self.scratch, *addresses)
        self.clients.append(client)
        return client

    def sessions(self, count, server=None, user="postgres", timeout="600s"):
        """Each in a transaction, with a detector of its own."""
        made = [self.client((server or self.a).address(user=user, application=f"app{i}")) for i in range(count)]
        for session in made:
            if user == "postgres":
                session.run(f"SET deadlock_timeout = '{timeout}'")
            session.run("BEGIN")
        return made

    def waiting(self, server=None):
        return int(self.admins[server or self.a].run(
            "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"))

    def await_waits(self, count, server=None):
        wait_until(f"{count} waits", lambda: self.waiting(server) == count)

    def watch(self, *arguments):
        """In the background; its log is `said`."""
        return Background(self.scratch, [GORDIAN, "watch", "--interval", "50", *arguments])

    def clean(self):
        for client in self.clients:
            client.close()
        self.clients = []
        for admin in self.admins.values():
            wait_until("sessions to end", lambda: admin.run(
                "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE pid <> pg_backend_pid() "
                "AND backend_type = 'client backend'") == "0")


class Background:
    count = 0

    def __init__(self, scratch, command):
        Background.count += 1
        self.scratch, self.log = scratch, os.path.join(scratch.folder, f"watch{Background.count}.log")
        with open(self.log, "wb") as out:
            self.process = subprocess.Popen(command, stdout=out, stderr=out, stdin=subprocess.DEVNULL)
        scratch.running.append(self.process)

    def said(self):
        with open(self.log, encoding="utf-8") as file:
            return file.read()

    def await_text(self, pattern):
        return wait_until(pattern, lambda: re.search(pattern, self.said()))

    def stop(self):
        self.process.terminate()
        self.process.wait()
        self.scratch.running.remove(self.process)
        return self.said()


def relayed(relay, user):
    return f"host=127.0.0.1 port={relay.port} user={user} dbname=postgres sslmode=disable gssencmode=disable"


def crosswise(world, **how):
    """Two sessions, a row each, then the other's. The second one is the younger: the victim."""
    one, two = world.sessions(2, **how)
    one.run("UPDATE t SET v = 1 WHERE id = 1")
    two.run("UPDATE t SET v = 1 WHERE id = 2")
    one.send("UPDATE t SET v = 2 WHERE id = 2")
    two.send("UPDATE t SET v = 2 WHERE id = 1")
    world.await_waits(2)
    return one, two


def client_cycle(world):
    """A session, and a client, by its name, with two of them: the first waits for what the client holds in one, and
    the client waits in the other. No detector of a server sees it."""
    one = world.sessions(1, user="plain")[0]
    third, fourth = (world.client(world.a.address(user="plain", application="shop-1")) for _ in range(2))
    pid = one.run("SELECT pg_backend_pid()")
    one.run("UPDATE t SET v = 1 WHERE id = 1")
    third.run("BEGIN")
    third.run("UPDATE t SET v = 1 WHERE id = 3")
    fourth.send("UPDATE t SET v = 2 WHERE id = 1")
    one.send("UPDATE t SET v = 2 WHERE id = 3")
    world.await_waits(2)
    return one, third, pid


@case
def order_that_comes_late(world):
    """The order is on its way while the deadlock ends otherwise, and the victim goes on: nothing may be hit.
    By a role that may signal but is no superuser."""
    one, third, pid = client_cycle(world)
    relay = Relay(world.a, b"pg_cancel_backend")
    watch = world.watch("--act", "cancel", "--prefer", "app0", "--link", "^shop-(.*)$", relayed(relay, "watcher"))
    wait_until("the order", relay.kept.is_set)
    third.run("ROLLBACK")
    check(one.answer().startswith("ok"), "the victim goes on")
    one.send("SELECT count(*) FROM t, pg_sleep(1)")
    wait_until("its next statement", lambda: world.admins[world.a].run(
        f"SELECT count(*) FROM pg_stat_activity WHERE pid = {pid} AND wait_event = 'PgSleep'") == "1")
    relay.go.set()
    watch.await_text(r"no longer waits in the cycle: nothing was done|what it held is free|gone")
    answer = one.answer()
    check(answer.startswith("ok"), "the statement after it was left alone", answer, watch.said())
    check("no longer waits in the cycle: nothing was done" in watch.stop(), "what happened", watch.said())


@case
def order_that_is_lost(world):
    """The connection breaks under the order: what came of it is not known, and said so; then it is tried again."""
    client_cycle(world)
    relay = Relay(world.a, b"pg_cancel_backend")
    relay.drop = True
    relay.go.set()
    watch = world.watch("--act", "cancel", "--link", "^shop-(.*)$", relayed(relay, "watcher"))
    watch.await_text("the connection broke: it is not known whether cancel was sent")
    watch.await_text("its statement was cancelled; the cycle is gone")
    check(watch.stop().count("cancel sent") == 1, "once", watch.said())


@case
def order_by_a_role(world):
    """A role that may signal, and no more, ends a session of another role; one that may not, does not."""
    client_cycle(world)
    world.admins[world.a].run("CREATE ROLE seer LOGIN IN ROLE pg_monitor")
    arguments = ["--once", "--act", "cancel", "--link", "^shop-(.*)$"]
    watch = Watch(GORDIAN, *arguments, world.a.address(user="seer"))
    check("the server refused" in watch.said and world.waiting() == 2, "no right", watch.said)
    watch = Watch(GORDIAN, *arguments, world.a.address(user="watcher"))
    check("cancel sent" in watch.said and "the cycle is gone" in watch.said, "the right", watch.said)


@case
def savepoint_and_on(world):
    """The victim rolls back to a savepoint and goes on working, while the other still waits for what it holds
    from before: it is no deadlock any more, and its session must live."""
    one, two = world.sessions(2)
    one.run("UPDATE t SET v = 1 WHERE id = 1")
    two.run("UPDATE t SET v = 1 WHERE id = 2")
    two.run("SAVEPOINT before")
    one.send("UPDATE t SET v = 2 WHERE id = 2")
    two.send("UPDATE t SET v = 2 WHERE id = 1")
    world.await_waits(2)
    watch = subprocess.Popen([GORDIAN, "watch", "--once", "--act", "cancel", "--prefer", "app1",
                              world.a.address() + " options='-c deadlock_timeout=100ms'"], text=True,
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    world.scratch.running.append(watch)
    check("canceling statement" in two.answer(), "the victim")
    two.run("ROLLBACK TO before")
    said = watch.communicate()[1]
    world.scratch.running.remove(watch)
    check(world.waiting() == 1, "the other one waits for its row", said)
    two.run("UPDATE t SET v = 3 WHERE id = 3")
    two.run("COMMIT")
    check(one.answer().startswith("ok"), "the other one goes on", said)
    check("1 of 1 sessions still wait for its locks" in said, "as observed", said)


@case
def statement_that_waits_again(world):
    """It catches the error and waits again: the same cycle stands after the cancel, and the session ends."""
    one, two = world.sessions(2)
    one.run("UPDATE t SET v = 1 WHERE id = 1")
    two.run("UPDATE t SET v = 1 WHERE id = 2")
    one.send("SELECT stubborn(2)")
    two.send("SELECT stubborn(1)")
    world.await_waits(2)
    watch = Watch(GORDIAN, "--once", "--act", "cancel", world.a.address() + " options='-c deadlock_timeout=100ms'")
    check("cancel sent" in watch.said and "terminate sent" in watch.said and "the cycle is gone" in watch.said,
          "escalation", watch.said)
    answers = sorted(session.answer()[:5] for session in (one, two))
    check(answers == ["error", "ok "], "one of them", answers)


@case
def own_detector_first(world):
    """A cycle that the server sees is the server's: its own error, and no cancel."""
    world.admins[world.a].run("ALTER ROLE plain SET deadlock_timeout = '10s'")  # long enough for a busy watcher
    watch = world.watch("--act", "cancel", world.a.address(user="watcher"))
    one, two = crosswise(world, user="plain")
    watch.await_text("deadlock 1")
    watch.await_text("deadlock 1 is gone")
    said = watch.stop()
    world.admins[world.a].run("ALTER ROLE plain RESET deadlock_timeout")
    check("sent" not in said, "nothing was done", said)
    wait_until("both to answer", lambda: all(select.select([session.process.stdout], [], [], 0)[0] for session in (one, two)))
    answers = sorted(session.answer() for session in (one, two))
    check(answers[0].startswith("error") and "deadlock detected" in answers[0] and answers[1].startswith("ok"),
          "the server's own", answers, said)


@case
def same_server_twice(world):
    """Two databases of it, a socket and a port: one finding, one action, said once."""
    crosswise(world)
    other = world.a.address().replace("dbname=postgres", "dbname=other")
    addresses = [world.a.address() + " options='-c deadlock_timeout=100ms'", other, world.a.address(tcp=True)]
    watch = Watch(GORDIAN, "--once", *addresses, world.b.address())
    check(len(watch.deadlocks) == 1 and watch.code == 1, "one finding", watch.text)
    check(watch.said.count("the same server as pga") == 2, "said", watch.said)
    check([server["waits"] for server in watch.summary["servers"]].count(2) == 1, "watched once", watch.summary)
    world.admins[world.a].run("REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC")
    watch = Watch(GORDIAN, "--once", addresses[0], world.a.address(user="watcher"), world.b.address())
    check(len(watch.deadlocks) == 1 and watch.said.count("the same server as pga") == 1, "by a role without the right",
          watch.text, watch.said)
    check(["same_as" in server for server in watch.summary["servers"]].count(True) == 1 and
          "same_as" not in watch.summary["servers"][2], "which", watch.summary)
    watch = Watch(GORDIAN, "--once", "--act", "cancel", addresses[0], addresses[0].replace("dbname=postgres", "dbname=other"))
    check(watch.said.count("cancel sent") == 1 and len(watch.deadlocks) == 1, "one action", watch.said)


@case
def one_client_seen_twice(world):
    """A client of two servers, of which one is given twice: its session there is one, not two that wait."""
    one, two = (world.client(world.a.address(application=f"shop-{i}"), world.b.address(application=f"shop-{i}"))
                for i in (1, 2))
    for client in (one, two):
        client.run("BEGIN", 0)
        client.run("BEGIN", 1)
    one.run("UPDATE t SET v = 1 WHERE id = 1", 0)
    two.run("UPDATE t SET v = 1 WHERE id = 1", 1)
    one.send("UPDATE t SET v = 2 WHERE id = 1", 1)
    two.send("UPDATE t SET v = 2 WHERE id = 1", 0)
    world.await_waits(1, world.a)
    world.await_waits(1, world.b)
    watch = Watch(GORDIAN, "--once", "--link", "^shop-(.*)$", world.a.address(), world.a.address(tcp=True),
                  world.b.address())
    check(watch.code == 1 and len(watch.deadlocks) == 1, "found", watch.code, watch.text, watch.said)


@case
def one_address_goes(world):
    """The other address of the same server takes over."""
    relay = Relay(world.a, b"pg_cancel_backend")
    watch = world.watch(relayed(relay, "postgres"), world.a.address().replace("dbname=postgres", "dbname=other"))
    watch.await_text("the same server as")
    relay.listener.close()
    world.admins[world.a].run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'postgres' "
                              "AND application_name = 'gordian watch'")
    crosswise(world)
    watch.await_text("deadlock 1: 2 sessions wait for each other")
    watch.stop()


@case
def soak(world):
    """Many deadlocks at a time, most of them across the servers: all are resolved, and nothing is hit but
    waiting members of standing cycles. All 2 000 of them with GORDIAN_TEST_SCALE=1000."""
    wanted = max(30, 2 * int(os.environ.get("GORDIAN_TEST_SCALE", "100")))
    result = Soak(world, GORDIAN, wanted).run()
    print(result.summary())
    check(not result.faults, f"{len(result.faults)} faults", *result.faults[:10])


def main():
    if not postgres_folder():
        print("skipped: PostgreSQL is not installed")
        return 77
    world, failed = World(), 0
    for name in sys.argv[2:] or list(CASES):
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
    return 1 if failed else 0


sys.exit(main())
