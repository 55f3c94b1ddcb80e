"""Cases of databases.py: which client a session has, and what that says about its other sessions."""
import os
import re
import subprocess
import urllib.request

from databases import GORDIAN, POOL, UPDATE, case, check, crosswise, must_find, must_not_find
from servers import Pooler, Watch, pooler_program, wait_until


class Live:
    """`gordian watch` that goes on, with its metrics."""

    def __init__(self, world, *arguments):
        self.world = world
        self.log = os.path.join(world.scratch.folder, "live.log")
        with open(self.log, "wb") as out:
            self.process = subprocess.Popen([GORDIAN, "watch", "--listen", "0", *arguments], stdout=out, stderr=out,
                                            stdin=subprocess.DEVNULL)
        world.scratch.running.append(self.process)
        self.place = wait_until("the metrics", lambda: re.search(r"http://\S+/metrics(?=\n)", self.said()))[0]

    def said(self):
        with open(self.log, encoding="utf-8") as file:
            return file.read()

    def value(self, name):
        text = urllib.request.urlopen(self.place).read().decode()
        values = [line.rsplit(" ", 1) for line in text.splitlines() if line.startswith(name)]
        return sum(float(value) for _, value in values)

    def looks_again(self, times=3):
        """Something that is there now has been looked at, and judged, after this."""
        until = self.value("gordian_watch_looks_total") + times
        wait_until("looks", lambda: self.value("gordian_watch_looks_total") >= until)

    def close(self):
        self.process.terminate()
        code = self.process.wait()
        self.world.scratch.running.remove(self.process)
        return code


@case
def shared_socket(world):
    """After a fork two processes have the connections. While one waits in one of them, the other can go on."""
    client = world.client(world.a.address(tcp=True), world.a.address(tcp=True))
    client.run("BEGIN", 0)
    client.run(UPDATE, 0)
    client.run("!" + UPDATE, 1)  # the child waits
    world.await_waits(1)
    must_not_find(world.once())
    # Without the parent the child alone has them, and waits for itself.
    client.close()
    world.clients.remove(client)
    must_find(world.once(), 2)


@case
def shared_socket_of_threads(world):
    """The same with an inspected process: its child could go on with the connection that nobody uses."""
    for more, found in ((["fork"], 0), ([], 1)):
        process = subprocess.Popen([POOL, world.a.address(tcp=True), "UPDATE t1 SET v = 1 WHERE id = 9", *more])
        world.scratch.running.append(process)
        world.await_waits(1)
        wait_until("threads to sleep", lambda: all(
            open(f"/proc/{process.pid}/task/{task}/stat").read().rsplit(")", 1)[1].split()[0] == "S"  # noqa: B023
            for task in os.listdir(f"/proc/{process.pid}/task")))  # noqa: B023
        watch = world.once("--inspect", str(process.pid))
        check(watch.code == found and len(watch.deadlocks) == found, "found", more, watch.text, watch.said)
        process.kill()
        process.wait()
        world.scratch.running.remove(process)
        world.clean()


@case
def client_with_new_thread(world):
    """A client that was seen with one thread has two when it waits: the other one can go on."""
    fifo = os.path.join(world.scratch.folder, "fifo")
    os.mkfifo(fifo)
    holder, waiter = world.sessions(2)
    client = world.client(world.a.address(tcp=True), world.a.address(tcp=True))
    client.run("BEGIN", 0)
    client.run(UPDATE, 0)
    live = Live(world, world.a.address())
    holder.run("UPDATE t2 SET v = 1 WHERE id = 1")
    waiter.send("UPDATE t2 SET v = 1 WHERE id = 1")
    world.await_waits(1)
    live.looks_again()
    client.run("+" + fifo)
    with open(fifo, "wb"):  # the thread reads it
        client.send(UPDATE, 1)
        world.await_waits(2)
        live.looks_again(4)
        check("deadlock" not in live.said(), "another thread can go on", live.said())
    # The thread has ended: the client waits for itself.
    wait_until("the deadlock", lambda: "deadlock 1: 2 sessions" in live.said())
    check(live.close() == 1, "exit status", live.said())
    os.unlink(fifo)


@case
def through_a_pooler(world):
    """What the watcher sets for its questions stays with them: the pooler gives the connection to others."""
    if not pooler_program():
        print("through_a_pooler: skipped, pgbouncer is not installed")
        return
    pooler = Pooler(world.scratch, world.a)
    settings = ("SELECT coalesce(string_agg(name || ' = ' || setting, ', ' ORDER BY name), '') FROM pg_settings "
                "WHERE source = 'session' OR name = 'application_name'")
    other = world.client(pooler.address())
    before = other.run(settings)
    crosswise(world, "UPDATE t1 SET v = 1 WHERE id = 1", "UPDATE t1 SET v = 1 WHERE id = 2")
    must_find(Watch(GORDIAN, "--once", pooler.address()), 2)
    check(other.run("SELECT count(*) FROM pg_stat_activity WHERE pid <> pg_backend_pid() "
                    "AND application_name = 'gordian watch'") == "0", "one connection for all")
    check(other.run(settings) == before, "settings of another client", before, other.run(settings))
    live = Live(world, pooler.address())
    live.looks_again()
    check(other.run(settings) == before, "settings, meanwhile", before, other.run(settings))
    check(world.client(pooler.address()).run(settings) == before, "settings of a new client")
    check(live.close() == 1, "exit status", live.said())
    pooler.stop(world.scratch)


def await_call(world, text):
    """Until the session that runs something with this in it sleeps, and waits for no lock."""
    def sleeps():
        pid = world.admins["pga"].run(
            f"SELECT pid FROM pg_stat_activity WHERE query LIKE '%{text}%' AND state = 'active' "
            "AND pid <> pg_backend_pid() AND wait_event_type IS DISTINCT FROM 'Lock'")
        if not pid:
            return False
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rpartition(")")[2].split()[0] == "S"
    wait_until("the caller to sleep", sleeps)


@case
def loopback(world):
    """A session that reaches its own server through postgres_fdw waits for itself."""
    admin = world.admins["pga"]
    for sql in (f"CREATE SERVER same FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '127.0.0.1', "
                f"port '{world.a.port}', dbname 'postgres')",
                "CREATE USER MAPPING FOR PUBLIC SERVER same OPTIONS (user 'postgres')",
                "CREATE FOREIGN TABLE near(id int, v int) SERVER same OPTIONS (table_name 't1')"):
        admin.run(sql)
    try:
        caller = world.sessions(1)[0]
        caller.run("UPDATE t1 SET v = 1 WHERE id = 7")
        caller.send("UPDATE near SET v = 2 WHERE id = 7")
        world.await_waits(1)
        found = must_find(world.once(), 2)
        check(sorted(edge["relation"] for edge in found["edges"]) == ["call", "holds"], "edges", found)
        world.clean()
        # Without a name: by the process, which is a session itself.
        caller = world.sessions(1)[0]
        caller.run("SET postgres_fdw.application_name = 'none'")
        caller.run("UPDATE t1 SET v = 1 WHERE id = 7")
        caller.send("UPDATE near SET v = 2 WHERE id = 7")
        world.await_waits(1)
        await_call(world, "near")
        found = must_find(world.once(), 2)
        check(sorted(edge["relation"] for edge in found["edges"]) == ["call", "holds"], "edges", found)
    finally:
        world.clean()
        admin.run("DROP SERVER same CASCADE")


@case
def dblink(world):
    """A session that waits for a query of its own in another one, over TCP and a Unix socket; by dblink, and by
    dblink_send_query and dblink_get_result."""
    change = "UPDATE t1 SET v = v + 1 WHERE id = 8"
    for host in ("127.0.0.1", world.scratch.folder):
        address = f"host=''{host}'' port={world.a.port} user=postgres dbname=postgres"
        caller = world.sessions(1)[0]
        caller.run(change)
        caller.send(f"SELECT dblink_exec('{address}', '{change}')")
        world.await_waits(1)
        await_call(world, "dblink_exec")
        found = must_find(world.once(), 2)
        check(sorted(edge["relation"] for edge in found["edges"]) == ["call", "holds"], "edges", found)
        world.clean()

        caller = world.sessions(1)[0]
        caller.run(change)
        caller.run(f"SELECT dblink_connect('c', '{address}')")
        caller.run(f"SELECT dblink_send_query('c', '{change}')")
        world.await_waits(1)
        # It does something else, and will end its transaction.
        caller.send("SELECT pg_sleep(600) /* not dblink */")
        await_call(world, "pg_sleep")
        watch = world.once()
        check(watch.code != 1 and not watch.deadlocks, "it can go on", watch.text)
        world.clean()

        caller = world.sessions(1)[0]
        caller.run(change)
        caller.run(f"SELECT dblink_connect('c', '{address}')")
        caller.run(f"SELECT dblink_send_query('c', '{change}')")
        caller.send("SELECT * FROM dblink_get_result('c') AS t(x text)")
        world.await_waits(1)
        await_call(world, "dblink_get_result")
        must_find(world.once(), 2)
        world.clean()

        # The other way round: its session there is idle, and holds what another one waits for.
        caller, other = world.sessions(2)
        caller.run(f"SELECT dblink_connect('{address}')")
        caller.run("SELECT dblink_exec('BEGIN')")
        caller.run(f"SELECT dblink_exec('{change}')")
        other.run("UPDATE t2 SET v = 1 WHERE id = 8")
        other.send(change)
        caller.send("UPDATE t2 SET v = 1 WHERE id = 8")
        world.await_waits(2)
        found = must_find(world.once(), 3)
        check(sorted(edge["relation"] for edge in found["edges"]) == ["client", "holds", "holds"], "edges", found)
        world.clean()
