#!/usr/bin/env python3
"""Two servers on one PostgreSQL: who leads, labels on both, how it was; and who follows what happens misses nothing
when the leader is killed. Run by postgres.py:

    servers.py GORDIAN
"""
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from ports import free_port  # noqa: E402

PATIENCE = 600  # seconds, far longer than it should take
TOKENS = {"app": ("write", "0123456789abcdef0123"), "look": ("read", "fedcba98765432100000")}
WRITES = {"Authorization": f"Bearer {TOKENS['app'][1]}"}


def until(what, told):
    """What `what()` gives as soon as that is true."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        got = what()
        if got:
            return got
        time.sleep(0.05)
    raise AssertionError(f"waited in vain: {told}")


def tokens_in(folder):
    """A file of them for servers; beside it one for whoever may only look."""
    path = os.path.join(folder, "tokens")
    all_of_them = "".join(f"{who} {rights} {token}\n" for who, (rights, token) in TOKENS.items())
    for name, content in (path, all_of_them), (path + ".look", TOKENS["look"][1] + "\n"):
        with open(os.open(name, os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="utf-8") as file:
            file.write(content)
    return path


class Server:
    def __init__(self, gordian, folder, name):
        self.socket = os.path.join(folder, name)
        self.port, listens = free_port(), free_port()
        self.tokens = tokens_in(folder)
        self.address = f"tcp://127.0.0.1:{listens}"
        command = [gordian, "serve", "--store", os.environ["GORDIAN_TEST_POSTGRES"], "--store-schema", "servers",
                   "--socket", self.socket, "--http", f"127.0.0.1:{self.port}", "--keep-history", "1h",
                   "--listen", f"127.0.0.1:{listens}", "--advertise", self.address, "--token-file", self.tokens]
        self.log = open(os.path.join(folder, name + ".log"), "w+", encoding="utf-8")
        self.process = subprocess.Popen(command, stdout=self.log, stderr=self.log)
        until(lambda: self.answers("systems"), f"{name} answers")

    def ask(self, path, body=None):
        """The status, and the answer."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/api/v1/{path}", data,
                                         {**WRITES, **({"Content-Type": "application/json"} if data else {})})
        try:
            with urllib.request.urlopen(request) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as refused:
            return refused.code, json.load(refused)
        except urllib.error.URLError:
            return 0, None

    def answers(self, path):
        status, answer = self.ask(path)
        return answer if status == 200 else None

    def say(self, *lines):
        """Lines of the protocol; the answers."""
        with socket.socket(socket.AF_UNIX) as link:
            link.connect(self.socket)
            stream = link.makefile("rw", encoding="utf-8")
            stream.write("\n".join(lines) + "\nping\n")
            stream.flush()
            return [line for line in iter(stream.readline, '{"pong":true}\n') if line]

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


class Feed:
    """Whoever follows /feed, of one server after the other, as a browser would: numbers of events, and gaps."""

    def __init__(self, servers):
        self.servers = servers
        self.seqs = []
        self.gaps = []
        self.last = 0
        self.ended = False
        self.thread = threading.Thread(target=self.follow, daemon=True)
        self.thread.start()

    def follow(self):
        turn = 0
        while not self.ended:
            try:
                self.read(self.servers[turn % len(self.servers)])
            except OSError:
                turn += 1
                time.sleep(0.05)

    def read(self, server):
        request = urllib.request.Request(f"http://127.0.0.1:{server.port}/api/v1/systems/default/feed?from=0", None,
                                         {**WRITES, **({"Last-Event-ID": str(self.last)} if self.last else {})})
        with urllib.request.urlopen(request) as stream:
            kind = None
            for line in stream:
                key, _, value = line.decode().strip().partition(": ")
                if key == "event":
                    kind = value
                elif key == "data" and kind == "event":
                    self.take(json.loads(value)["seq"])
                elif key == "data" and kind == "gap":
                    self.gaps.append(value)
        raise OSError("the stream ended")

    def take(self, seq):
        if seq > self.last:  # who stands by may be behind, and tell some again
            self.last = seq
            self.seqs.append(seq)


class Tail:
    """gordian tail, told of all servers. It may only look: those who stand by let it in, too, and tell it nothing."""

    def __init__(self, gordian, servers, *options):
        self.told = []
        self.process = subprocess.Popen(
            [gordian, "tail", "--to", ",".join(server.address for server in servers), "--retry", "--json", "-v",
             "--token-file", servers[0].tokens + ".look", *options],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.connected = 0
        for target in self.listen, self.listen_to_words:
            threading.Thread(target=target, daemon=True).start()
        until(lambda: self.connected, "tail is connected")

    def listen(self):
        for line in self.process.stdout:
            self.told.append(json.loads(line))

    def listen_to_words(self):
        for line in self.process.stderr:
            self.connected += "connected to" in line

    def end(self):
        self.process.kill()
        self.process.wait()


def deadlock(server, number):
    """One forms, and ends with its client."""
    done = server.say(f"resource a{number}", f"resource b{number}", f"request x{number} a{number}",
                      f"request y{number} b{number}", f"request x{number} b{number}", f"request y{number} a{number}")
    return any('"deadlock"' in line for line in done)


def incidents_of(tail):
    return [one["incident"] for one in tail.told if "incident" in one]


def check_followers(gordian, leader, other):
    """Deadlocks before, while and after the leader is killed: who follows is told of each, once, and of every event,
    or that there is a gap. The leader is gone then."""
    feed = Feed([leader, other])
    tails = [Tail(gordian, (leader, other), "--deadlocks"), Tail(gordian, (other, leader))]
    before = max(one["id"] for one in leader.answers("incidents")["incidents"])
    for number in range(5):
        assert deadlock(leader, number)
    for tail in tails:
        until(lambda at=tail: any(one["id"] > before for one in incidents_of(at)), "tail tells of deadlocks")
        tail.process.send_signal(signal.SIGSTOP)  # what is kept meanwhile, it is not told
    for number in range(5, 10):
        assert deadlock(leader, number)
    leader.end()
    until(lambda: (other.answers("cluster") or {}).get("leads"), "the other leads")
    for number in range(10, 15):
        assert deadlock(other, number)
    for tail in tails:
        tail.process.send_signal(signal.SIGCONT)
        until(lambda at=tail: at.connected >= 2, "tail is connected to the other")
    assert deadlock(other, 15)
    kept = until(lambda: all_ended(other, before, 16), "all deadlocks have ended")
    for tail in tails:
        until(lambda at=tail: {one["id"] for one in incidents_of(at) if one["ended"]} >= kept, "tail tells of all")
        for id in kept:
            told = [one for one in incidents_of(tail) if one["id"] == id]
            assert len([one for one in told if one["witness"]]) == 1, told  # its beginning
            assert len([one for one in told if one["ended"]]) == 1, told
        tail.end()
    check_gaps(tails[1])
    seq = other.answers("systems/default/graph")["seq"]
    until(lambda: feed.last >= seq, "the feed has everything")
    feed.ended = True
    assert feed.seqs == list(range(1, len(feed.seqs) + 1)) and not feed.gaps, (feed.seqs, feed.gaps)


def all_ended(server, after, count):
    found = {one["id"] for one in server.answers("incidents?limit=500&ended=1")["incidents"] if one["id"] > after}
    return found if len(found) == count else None


def check_gaps(tail):
    """Every event's number follows the one before, or a gap says which do not."""
    last = None
    for one in tail.told:
        if "gap" in one:
            assert one["gap"]["from"] == last, (one, last)
            last = one["gap"]["seq"]
        elif "event" in one:
            assert last is None or one["event"]["seq"] == last + 1, (one, last)
            last = one["event"]["seq"]


def now():
    return int(time.time() * 1000)


def check(leader, other):
    """Both tell the same."""
    told = until(lambda: len((leader.answers("cluster") or {}).get("servers", [])) == 2 and leader.answers("cluster"),
                 "both are known")
    assert told["shared"] and told["leads"] and told["leader"] == leader.address, told
    assert [one["leads"] for one in told["servers"]] == [True, False], told
    assert told["servers"][0]["address"] == leader.address[:len(told["servers"][0]["address"])], told
    first = told["epoch"]
    told = other.answers("cluster")
    assert not told["leads"] and told["leader"] == leader.address and told["epoch"] == first, told

    leader.say("hello lease=3600 keep=yes", "resource a", "resource b", "request ann a", "request bob b",
               "label process ann team:pay", "label resource b kind:table")
    done = now()
    until(lambda: now() > done + 1, "the clock goes on")
    early = now()
    until(lambda: now() > early + 1, "the clock goes on")
    leader.say("hello lease=3600 keep=yes", "request ann b", "request bob a", "label process ann team:store")
    until(lambda: labels_of(other) == ["kind:table", "team:store"], "labels reach who stands by")
    for server in leader, other:
        until(lambda at=server: at.answers("incidents?label=team:pay")["incidents"], "the deadlock, by a label of then")
        assert not server.answers("incidents?label=team:store")["incidents"]
        graph = server.answers(f"systems/default/graph?at={early}")
        assert graph["at"] == early and [one["name"] for one in graph["processes"]] == ["ann", "bob"], graph
        assert graph["processes"][0]["labels"] == ["team:pay"], graph
        assert not any(edge["waits"] for edge in graph["edges"]), graph
        assert server.answers("past")["from"] <= early
    label = {"process": "bob", "labels": ["team:pay"]}
    assert other.ask("systems/default/label", label)[0] == 503
    assert leader.ask("systems/default/label", label)[0] == 200
    return first, early


def allow_connections(allowed):
    """Whether the database takes new connections; those that stand go on."""
    subprocess.run(["psql", os.environ["GORDIAN_TEST_POSTGRES"] + " dbname=template1", "-qc",
                    f"ALTER DATABASE postgres ALLOW_CONNECTIONS {allowed}"], check=True)


def check_refused(leader, other):
    """Each server answers what it knows of the cluster while the database takes no new connection."""
    allow_connections(False)
    for server in leader, other:
        status, told = server.ask("cluster")
        assert status == 200 and told["leads"] == (server == leader) and told["leader"] == leader.address, (status, told)
        assert [one["leads"] for one in told["servers"]] == [True] + [False] * (server == other), told
        assert told["servers"][-1]["address"] == server.address and "PostgreSQL" in told["error"], told
    allow_connections(True)
    told = leader.answers("cluster")
    assert len(told["servers"]) == 2 and "error" not in told, told


def labels_of(server):
    return sorted(one["label"] for one in server.answers("systems/default/labels")["labels"])


def main():
    gordian = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        servers = []
        try:
            servers = [Server(gordian, folder, "first")]
            until(lambda: servers[0].answers("cluster")["leads"], "the first leads")
            servers.append(Server(gordian, folder, "second"))
            epoch, early = check(*servers)
            check_refused(*servers)
            check_followers(gordian, *servers)
            told = until(lambda: (servers[1].answers("cluster") or {}).get("leads") and servers[1].answers("cluster"),
                         "the other leads")
            assert told["epoch"] == epoch + 1, told
            graph = servers[1].answers(f"systems/default/graph?at={early}")
            assert [one["name"] for one in graph["processes"]] == ["ann", "bob"], graph
            assert labels_of(servers[1]) == ["kind:table", "team:pay", "team:store"]
        except BaseException:
            for server in servers:
                server.log.seek(0)
                print(server.log.read(), file=sys.stderr)
            raise
        finally:
            for server in servers:
                server.end()
                server.log.close()
    print("good")


main()
