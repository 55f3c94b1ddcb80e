"""Servers for the tests of `gordian watch`, and clients of them: two of PostgreSQL, one of MariaDB, on
loopback, in a folder that goes away with them. Nobody waits a fixed time: every wait is for the thing itself.
"""
import atexit
import fcntl
import glob
import json
import os
import pwd
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import findings  # noqa: E402
from ports import free_port  # noqa: E402

PATIENCE = int(os.environ.get("GORDIAN_TEST_PATIENCE", "600"))  # seconds after which something hangs, however slow the machine is
HERE = os.path.dirname(os.path.abspath(__file__))


def find(program, *patterns):
    """Where a program is, or None."""
    found = [path for pattern in patterns for path in sorted(glob.glob(pattern))]
    return shutil.which(program) or (found[-1] if found else None)


def postgres_folder():
    """Where all its programs are: some of them may be linked to elsewhere."""
    postgres = find("postgres", "/usr/lib/postgresql/*/bin/postgres")
    if postgres and not os.path.exists(os.path.join(os.path.dirname(postgres), "pg_isready")):
        postgres = os.path.realpath(postgres)
    return os.path.dirname(postgres) if postgres else None


def mariadb_program():
    return find("mariadbd", "/usr/sbin/mariadbd", "/usr/sbin/mysqld")


def pooler_program():
    return find("pgbouncer", "/usr/sbin/pgbouncer")


def wait_until(what, condition, pause=0.02):
    until = time.monotonic() + PATIENCE
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > until:
            raise RuntimeError(f"waited for {what} in vain")
        time.sleep(pause)


class Scratch:
    """The folder, and everything that runs."""

    def __init__(self):
        self.running = []
        self.folder = tempfile.mkdtemp(prefix="gw-")
        atexit.register(self.close)
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            signal.signal(number, lambda *_: sys.exit(1))
        # Servers refuse to run as root.
        self.other = pwd.getpwnam("nobody") if os.getuid() == 0 else None
        if self.other:
            os.chown(self.folder, self.other.pw_uid, self.other.pw_gid)

    def start(self, command, log=None, **more):
        out = open(os.path.join(self.folder, log), "ab") if log else None
        as_other = {"user": self.other.pw_uid, "group": self.other.pw_gid,
                    "extra_groups": []} if self.other else {}
        # The other one may write here, but perhaps not where this one's temporary files are.
        more.setdefault("env", {**os.environ, "TMPDIR": self.folder})
        process = subprocess.Popen(command, cwd=self.folder, stdout=out, stderr=out,
                                   stdin=subprocess.DEVNULL, **as_other, **more)
        self.running.append(process)
        return process

    def run(self, command):
        process = self.start(command, "setup.log")
        if process.wait() != 0:
            print(open(os.path.join(self.folder, "setup.log")).read(), file=sys.stderr)
            raise RuntimeError(f"{command[0]} failed")
        self.running.remove(process)

    def close(self):
        for process in self.running:
            if process.poll() is None:
                # At once; but PostgreSQL must take its children and its shared memory with it.
                own = "postgres" in process.args[0]
                process.send_signal(signal.SIGQUIT if own else signal.SIGKILL)
        for process in self.running:
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


class PostgresServer:
    def __init__(self, scratch, name, template=None, primary=None):
        self.scratch, self.name = scratch, name
        self.bin = postgres_folder()
        self.data = os.path.join(scratch.folder, name)
        self.port = free_port()
        if primary:
            self.follow(primary)
        elif template:
            scratch.run(["cp", "-r", template.data, self.data])
        else:
            self.make()
        self.process = None

    def make(self):
        """A new one; or the one that was made by the first test of a `make check`, again."""
        templates = os.environ.get("GORDIAN_TEST_TEMPLATES")
        if not templates:
            self.initialise()
            return
        archive = os.path.join(templates, "postgres.tar")
        with open(archive + ".lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not os.path.exists(archive):
                self.initialise()
                # By this process, not by the other one: it may not get at that folder.
                subprocess.run(["tar", "-C", self.data, "-cf", archive + ".new", "."], check=True)
                os.rename(archive + ".new", archive)
                return
        os.mkdir(self.data)
        subprocess.run(["tar", "-C", self.data, "-xpf", archive], check=True)

    def follow(self, primary):
        """A standby, whose replay waits for sessions as long as it takes."""
        self.scratch.run([f"{self.bin}/pg_basebackup", "-D", self.data, "-h", self.scratch.folder, "-p",
                          str(primary.port), "-U", "postgres", "-R", "-X", "stream", "-c", "fast", "--no-sync"])
        with open(os.path.join(self.data, "postgresql.auto.conf"), "a", encoding="utf-8") as file:
            file.write("max_standby_streaming_delay = -1\nmax_standby_archive_delay = -1\n")

    def initialise(self):
        self.scratch.run([f"{self.bin}/initdb", "-D", self.data, "-A", "trust", "-U", "postgres",
                          "--no-sync", "--no-instructions", "-E", "UTF8", "--locale", "C"])

    def start(self, **settings):
        """The servers' own search for deadlocks is put off: what is there stays there."""
        more = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        self.process = self.scratch.start(
            [f"{self.bin}/postgres", "-D", self.data, "-k", self.scratch.folder, "-p", str(self.port),
             "-c", "listen_addresses=127.0.0.1", "-c", f"cluster_name={self.name}", "-c", "fsync=off",
             "-c", "deadlock_timeout=600s", "-c", "max_connections=240", "-c", "shared_buffers=16MB",
             "-c", "max_prepared_transactions=4", "-c", "autovacuum=off", "-c",
             "postgres_fdw.application_name=" + ("fdw %c" if self.name == "pgb" else "fdw:%C:%p"), *more],
            self.name + ".log")
        wait_until(self.name, self.answers)

    def answers(self):
        return subprocess.run([f"{self.bin}/pg_isready", "-q", "-h", self.scratch.folder, "-p",
                               str(self.port)]).returncode == 0

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        self.process.wait()
        self.scratch.running.remove(self.process)

    def address(self, user="postgres", application=None, tcp=False):
        host = "127.0.0.1" if tcp else self.scratch.folder
        name = f" application_name='{application}'" if application else ""
        return f"host='{host}' port={self.port} user={user} dbname=postgres{name}"


class Pooler:
    """pgbouncer in front of a PostgreSQL, in transaction mode: all clients share one connection to it."""

    def __init__(self, scratch, server):
        self.port = free_port()
        config = os.path.join(scratch.folder, "pooler.ini")
        with open(config, "w", encoding="utf-8") as file:
            file.write(f"[databases]\npostgres = host='{scratch.folder}' port={server.port} user=postgres\n"
                       f"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {self.port}\nunix_socket_dir =\n"
                       "auth_type = any\npool_mode = transaction\ndefault_pool_size = 1\n"
                       "min_pool_size = 0\nreserve_pool_size = 0\n")
        self.process = scratch.start([pooler_program(), config], "pooler.log")
        wait_until("the pooler", self.answers)

    def answers(self):
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def address(self):
        return f"host=127.0.0.1 port={self.port} user=postgres dbname=postgres"

    def stop(self, scratch):
        self.process.terminate()
        self.process.wait()
        scratch.running.remove(self.process)


class MariaServer:
    def __init__(self, scratch):
        self.scratch, self.name = scratch, "maria"
        self.data = os.path.join(scratch.folder, "maria")
        self.socket = os.path.join(scratch.folder, "m.sock")
        self.port = free_port()
        # Without its scripts, which take seconds: the tables of rights, and a user each.
        scratch.run(["mariadb-install-db", "--no-defaults", f"--datadir={self.data}",
                     "--auth-root-authentication-method=normal", "--skip-test-db",
                     "--innodb-log-file-size=8M", "--innodb-buffer-pool-size=16M",
                     "--innodb-flush-method=nosync"])
        self.process = None

    def start(self):
        self.process = self.scratch.start(
            [mariadb_program(), "--no-defaults", f"--datadir={self.data}", f"--socket={self.socket}",
             f"--port={self.port}", "--bind-address=127.0.0.1", "--innodb-deadlock-detect=OFF",
             "--innodb-lock-wait-timeout=3600", "--innodb-log-file-size=8M",
             "--innodb-buffer-pool-size=16M", "--innodb-flush-log-at-trx-commit=0", "--skip-log-bin",
             "--performance-schema=ON", "--performance-schema-instrument=wait/lock/metadata/sql/mdl=ON",
             f"--pid-file={self.data}/pid"], "maria.log")
        wait_until(self.name, lambda: os.path.exists(self.socket))

    def address(self, user="root", tcp=False):
        return f"mysql:{self.port if tcp else self.socket}:{user}"

    def uri(self, user="root"):
        return f"mysql://{user}@127.0.0.1:{self.port}"


class Client:
    """A process with connections: see client.py."""

    def __init__(self, scratch, *addresses):
        self.scratch = scratch
        self.process = subprocess.Popen([sys.executable, "-I", "-S", f"{HERE}/client.py", *addresses], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        scratch.running.append(self.process)
        self.waits = 0
        if self.process.stdout.readline() != "ready\n":
            raise RuntimeError(f"no connection to {addresses}")

    def send(self, sql, number=0):
        """Begins; `answer` has what comes of it."""
        self.process.stdin.write(f"{number} {sql}\n")
        self.process.stdin.flush()
        self.waits += 1

    def sleeps(self):
        with open(f"/proc/{self.process.pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] == "S"

    def answer(self):
        self.waits -= 1
        return self.process.stdout.readline().rstrip("\n")

    def run(self, sql, number=0):
        self.send(sql, number)
        answer = self.answer()
        if not answer.startswith("ok "):
            raise RuntimeError(f"{sql}: {answer}")
        return answer[3:]

    def close(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()
        self.scratch.running.remove(self.process)


class Relay:
    """A way to a server that keeps back the first message with a word in it, until it is let go."""

    def __init__(self, server, word):
        self.server, self.word, self.port = server, word, free_port()
        self.kept, self.go = threading.Event(), threading.Event()
        self.drop = False  # the message, and its connection
        self.listener = socket.create_server(("127.0.0.1", self.port))
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            far = socket.create_connection(("127.0.0.1", self.server.port))
            threading.Thread(target=self.relay, args=(near, far), daemon=True).start()

    def relay(self, near, far):
        ends = {near: far, far: near}
        while True:
            for end in select.select(list(ends), [], [])[0]:
                data = end.recv(65536)
                first = end is near and self.word in data and not self.kept.is_set()
                if first:
                    self.kept.set()
                    self.go.wait()
                if not data or (first and self.drop):
                    near.close()
                    far.close()
                    return
                ends[end].sendall(data)


class Watch:
    """`gordian watch --json`, once."""

    def __init__(self, gordian, *arguments):
        done = subprocess.run([gordian, "watch", "--json", *arguments], text=True, capture_output=True,
                              stdin=subprocess.DEVNULL)
        self.code, self.said, self.text = done.returncode, done.stderr, done.stdout
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        found = findings.check_lines(lines)
        for finding in found:
            parties = {party["name"]: party for party in finding["parties"]}
            resources = {resource["name"]: resource for resource in finding["resources"]}
            for edge in finding["edges"]:
                edge.update({side: parties[edge[side]] for side in ("waiter", "holder") if side in edge})
                edge.update({key: resources[edge["resource"]].get(key, "") for key in ("object", "row")})
        self.deadlocks = [finding for finding in found if finding["kind"] == "deadlock"]
        self.stalls = [finding for finding in found if finding["kind"] == "stall"]
        self.summary = lines[-1]["summary"] if lines and "summary" in lines[-1] else None
