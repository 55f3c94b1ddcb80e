#!/usr/bin/env python3
"""Dumps of flight recorders, written as PyTorch writes them: what `gordian collectives` must report,
and above all what it must not.

    dumps.py GORDIAN [CASE...]
"""
import json
import os
import pickle
import random
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import findings  # noqa: E402

GORDIAN = os.path.abspath(sys.argv[1])
LARGE = [[1024, 1024, 8]]  # 32 MiB of floats: no buffer of NCCL holds it
SMALL = [[64]]
CASES = {}
faults = []


def case(function):
    CASES[function.__name__] = function
    return function


class Rank:
    """The recorder of one rank. Sequence numbers are counted as PyTorch counts them since 2.6."""

    def __init__(self, rank, groups, version="2.9", record=0):
        self.rank, self.groups, self.version, self.record = rank, groups, version, record
        self.entries, self.counts, self.status = [], {}, {}

    def count(self, group, which):
        counts = self.counts.setdefault(group, [0, 0])
        counts[which] += 1

    def entry(self, group, name, state, is_p2p, sizes):
        collective, p2p = self.counts[group]
        now = 1758610500000000000 + 1000000 * self.record
        self.entries.append({
            "record_id": self.record, "pg_id": list(self.groups).index(group), "process_group": (group, "desc" + group),
            "collective_seq_id": collective, "p2p_seq_id": p2p, "op_id": collective + p2p, "profiling_name": "nccl:" + name,
            "input_sizes": sizes, "input_dtypes": ["Float"] * len(sizes),
            "output_sizes": sizes, "output_dtypes": ["Float"] * len(sizes), "state": state,
            "time_created_ns": now, "time_discovered_started_ns": None,
            "time_discovered_completed_ns": now + 500 if state == "completed" else None,
            "retired": state == "completed", "timeout_ms": 600000, "is_p2p": is_p2p})
        self.record += 1
        return self

    def work(self, group, is_p2p, state):
        """The status of the group: members of a coalesced group do not count."""
        status = self.status.setdefault(str(list(self.groups).index(group)), {
            "last_enqueued_collective": -1, "last_started_collective": -1, "last_completed_collective": -1})
        status["last_enqueued_collective"] = self.counts[group][is_p2p]
        if state == "completed":
            status["last_completed_collective"] = self.counts[group][is_p2p]
        return self

    def collective(self, group, name, state="completed", sizes=SMALL):
        self.count(group, 0)
        return self.entry(group, name, state, False, sizes).work(group, False, state)

    def transfer(self, group, way, peer, state="completed", sizes=LARGE, alone=True):
        if alone:
            self.count(group, 1)
        place = self.groups[group].index(self.rank)
        other = self.groups[group].index(peer)
        name = f"send {place}->{other}" if way == "send" else f"recv {place}<-{other}"
        self.entry(group, name, state, True, sizes)
        return self.work(group, True, state) if alone else self

    def send(self, group, peer, state="completed", sizes=LARGE):
        return self.transfer(group, "send", peer, state, sizes)

    def recv(self, group, peer, state="completed", sizes=LARGE):
        return self.transfer(group, "recv", peer, state, sizes)

    def batch(self, group, transfers, state="completed", closed=True, counter=1, closing_is_p2p=True, sizes=LARGE):
        """batch_isend_irecv: the members stay scheduled, the closing entry has the state."""
        self.count(group, counter)
        for way, peer in transfers:
            self.transfer(group, way, peer, "scheduled", sizes, alone=False)
        if closed:
            self.entry(group, "coalesced", state, closing_is_p2p, []).work(group, counter == 1, state)
        return self

    def coalesced(self, group, names, state="completed", closing="coalesced", sizes=SMALL):
        self.count(group, 0)
        for name in names:
            self.entry(group, name, "scheduled", False, sizes)
        return self.entry(group, closing, state, False, []).work(group, False, state)

    def dump(self, active=False, keep=None):
        """The recorder keeps the last entries; a dump of active ones leaves out what is completed."""
        entries = [e for e in self.entries[-keep if keep else 0:] if not active or e["state"] != "completed"]
        return {
            "version": self.version, "nccl_version": "2.27.3",
            "pg_config": {g: {"name": g, "desc": "desc" + g, "ranks": str(r)} for g, r in self.groups.items()},
            "pg_status": self.status, "entries": entries}


WORLD = {"0": [0, 1, 2, 3]}


def ranks(count=4, groups=None, **options):
    groups = groups or {"0": list(range(count))}
    return [Rank(r, groups, **options) for r in range(count)]


def write(folder, dumps, form="json", name="dump_{}"):
    for rank, dump in enumerate(dumps):
        if dump is None:
            continue
        dump = dump if isinstance(dump, (dict, list, bytes)) else dump.dump()
        path = os.path.join(folder, name.format(rank))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            if isinstance(dump, bytes):
                file.write(dump)
            else:
                file.write(json.dumps(dump).encode() if form == "json" else pickle.dumps(dump, protocol=form))


BLAMES = {"absent-rank": "absent", "silent-rank": "silent", "stuck-device": "stuck", "mismatch": "mismatch"}


class Answer:
    def __init__(self, *arguments):
        text = subprocess.run([GORDIAN, "collectives", *arguments], capture_output=True, text=True, check=False)
        done = subprocess.run([GORDIAN, "collectives", "--json", *arguments], capture_output=True, text=True, check=False)
        self.text, self.said, self.code = text.stdout, text.stderr, text.returncode
        self.lines = [json.loads(line) for line in done.stdout.splitlines()]
        self.code_json = done.returncode
        found = findings.check_lines(self.lines)
        self.blame = {party["rank"]: BLAMES[finding["kind"]] for finding in found for party in finding["parties"]
                      if party["role"] == "blamed"}
        self.cycles = [sorted(party["rank"] for party in finding["parties"]) for finding in found
                       if finding["kind"] == "deadlock"]
        self.unreadable = {line["unreadable"].get("rank", line["unreadable"].get("file")): line["unreadable"]["message"]
                           for line in self.lines if "unreadable" in line}
        summaries = [line["summary"] for line in self.lines if "summary" in line]
        self.summary = summaries[0] if summaries else {}


def judge(dumps, *arguments, form="json", name="dump_{}"):
    folder = tempfile.mkdtemp()
    try:
        write(folder, dumps, form, name)
        return Answer(*arguments, folder)
    finally:
        shutil.rmtree(folder)


def expect(answer, code, blame=None, cycles=None, what=""):
    blame, cycles = blame or {}, cycles or []
    said = (answer.code, answer.blame, answer.cycles)
    if said != (code, blame, cycles) or answer.code_json != code:
        faults.append(what)
        print(f"{CASE}: {what}: exit status {code}, {blame}, {cycles} expected; {said} reported, "
              f"{answer.code_json} with --json\n{answer.text}{answer.said}", file=sys.stderr)


def must(condition, what):
    if not condition:
        faults.append(what)
        print(f"{CASE}: {what}", file=sys.stderr)


# ---------------------------------------------------------------- coalesced operations

@case
def healthy_batches():
    """A pipeline of four that exchanges with batch_isend_irecv and has ended."""
    for active in (False, True):
        job = ranks()
        for _ in range(3):
            for r, rank in enumerate(job):
                rank.batch("0", [("send", (r + 1) % 4), ("recv", (r - 1) % 4)])
        for rank in job:
            rank.collective("0", "all_reduce")
        expect(judge([rank.dump(active) for rank in job]), 0, what=f"ring of batches, active {active}")
    job = ranks()
    for step in range(2):
        job[0].batch("0", [("send", 1)])
        job[1].batch("0", [("recv", 0)]).batch("0", [("send", 2)])
        job[2].batch("0", [("recv", 1)]).batch("0", [("send", 3)])
        job[3].batch("0", [("recv", 2)])
    expect(judge(job), 0, what="one transfer a batch")


@case
def healthy_batches_counted_as_collectives():
    """PyTorch 2.4 and 2.5: a batch raises the number of collectives, on its ranks alone."""
    for closing_is_p2p in (False, True):
        job = ranks(version="2.4")
        for _ in range(2):
            job[0].batch("0", [("send", 1)], counter=0, closing_is_p2p=closing_is_p2p)
            job[1].batch("0", [("recv", 0)], counter=0, closing_is_p2p=closing_is_p2p)
        for rank in job:
            rank.collective("0", "all_reduce")
        expect(judge(job), 0, what=f"closed as p2p {closing_is_p2p}")


@case
def uneven_numbers_are_not_compared():
    """As above, and a collective is in flight: its number differs from rank to rank."""
    job = ranks(version="2.4")
    for _ in range(2):
        job[0].batch("0", [("send", 1)], counter=0)
        job[1].batch("0", [("recv", 0)], counter=0)
    for rank in job:
        rank.collective("0", "all_reduce", "scheduled")
    answer = judge(job)
    expect(answer, 5, what="not comparable")
    must("group 0" in answer.text, "the group that was not judged is not named")
    must(answer.summary.get("unjudged") == ["0"], f"summary: {answer.summary}")


@case
def healthy_coalesced_collectives():
    for active in (False, True):
        job = ranks()
        for rank in job:
            rank.coalesced("0", ["all_reduce", "all_reduce"])
            rank.coalesced("0", ["_broadcast_oop"] * 4, closing="ALLGATHER_coalesced")
            rank.collective("0", "all_gather_into_tensor_coalesced")
        expect(judge([rank.dump(active) for rank in job]), 0, what=f"members, active {active}")
    job = ranks(version="2.6")  # no members before 2.7
    for rank in job:
        rank.coalesced("0", [])
    expect(judge(job), 0, what="without members")


@case
def absent_from_a_batch():
    """Ranks 0 to 2 are in a batch each, rank 3 never came."""
    for active in (False, True):
        for closed in (True, False):
            job = ranks()
            for r, rank in enumerate(job):
                rank.batch("0", [("send", (r + 1) % 4), ("recv", (r - 1) % 4)])
                rank.collective("0", "all_reduce")
                if r < 3:
                    rank.batch("0", [("send", (r + 1) % 4), ("recv", (r - 1) % 4)], "scheduled", closed)
            expect(judge([rank.dump(active) for rank in job]), 1, {3: "absent"},
                   what=f"active {active}, closed {closed}")


@case
def absent_from_coalesced_collectives():
    for names in (["all_reduce", "all_reduce"], ["all_reduce", "all_gather"], []):
        job = ranks()
        for r, rank in enumerate(job):
            rank.collective("0", "all_reduce")
            if r != 1:
                rank.coalesced("0", names, "started")
        expect(judge(job), 1, {1: "absent"}, what=str(names))


@case
def mismatch_in_coalesced_collectives():
    job = ranks()
    for r, rank in enumerate(job):
        rank.coalesced("0", ["all_reduce", "all_reduce" if r != 2 else "all_gather"], "scheduled")
    expect(judge(job), 1, {2: "mismatch"}, what="another operation")
    job = ranks(record=70)  # the recorder of rank 0 has forgotten a member
    for rank in job:
        rank.coalesced("0", ["all_reduce", "all_gather"], "scheduled")
    answer = judge([rank.dump(keep=2 if r == 0 else None) for r, rank in enumerate(job)])
    must(answer.summary.get("mismatches") == 0, f"a forgotten member is a mismatch: {answer.text}")


@case
def stuck_in_a_coalesced_collective():
    job = ranks()
    for r, rank in enumerate(job):
        rank.coalesced("0", ["all_gather", "all_gather"], "scheduled" if r == 3 else "completed")
    expect(judge(job), 1, {3: "stuck"}, what="one device")


# ---------------------------------------------------------------- sends and receives

@case
def receive_never_posted():
    """Rank 0 sends, rank 1 never receives; the others wait for both."""
    for sizes in (SMALL, LARGE):
        job = ranks()
        for rank in job:
            rank.collective("0", "all_reduce")
        job[0].send("0", 1, "scheduled", sizes)
        answer = judge(job)
        expect(answer, 1, {1: "absent"}, what=f"alone, {sizes}")
        must("never posted the receive" in answer.text, f"text: {answer.text}")
        for r in (2, 3):
            job[r].collective("0", "all_reduce", "scheduled")
        expect(judge(job), 1, {1: "absent"}, what=f"with others behind, {sizes}")
        job = ranks()
        for rank in job:
            rank.collective("0", "all_reduce")
        job[3].send("0", 0, "scheduled", sizes)
        job[0].send("0", 1, "scheduled", sizes)
        job[2].collective("0", "all_reduce", "scheduled")
        expect(judge(job), 1, {1: "absent"}, what=f"a chain of senders, {sizes}")
        job = ranks()
        for rank in job:
            rank.collective("0", "all_reduce")
        job[0].batch("0", [("send", 1)], "scheduled", sizes=sizes)
        job[2].collective("0", "all_reduce", "scheduled")
        job[3].collective("0", "all_reduce", "scheduled")
        expect(judge(job), 1, {1: "absent"}, what=f"a batch, {sizes}")
    job = ranks()
    job[0].send("0", 1, "scheduled")
    expect(judge([job[0], None, job[2], job[3]]), 1, {1: "silent"}, what="without a dump")


@case
def sender_behind_another_culprit():
    """Rank 0 sends to rank 1, which waits for rank 2, which never came: rank 0 waits as well."""
    job = ranks(groups={"0": [0, 1, 2, 3], "1": [1, 2]})
    for rank in job:
        rank.collective("0", "all_reduce")
    job[0].send("0", 1, "scheduled")
    job[1].collective("1", "all_reduce", "scheduled")
    job[3].collective("0", "all_reduce", "scheduled")
    expect(judge(job), 1, {2: "absent"}, what="the receiver waits")
    job[1].recv("0", 0, "scheduled")
    expect(judge(job), 1, {2: "absent"}, what="the receiver waits before its receive")


@case
def absent_with_a_send():
    """Rank 0 never came to the collective that all others are in: its send does not excuse it."""
    job = ranks()
    job[0].send("0", 1, "scheduled")
    for r in (1, 2, 3):
        job[r].collective("0", "all_reduce", "scheduled")
    expect(judge(job), 1, {0: "absent"}, what="a send in flight")


@case
def crosswise_sends():
    for posted in (False, True):
        for others in (False, True):
            job = ranks()
            for rank in job:
                rank.collective("0", "all_reduce")
            for a, b in ((0, 1), (1, 0)):
                job[a].send("0", b, "scheduled")
                if posted:
                    job[a].recv("0", b, "scheduled")
            for r in (2, 3):
                if others:
                    job[r].collective("0", "all_reduce", "scheduled")
            expect(judge(job), 1, {}, [[0, 1]], what=f"two, receives posted {posted}, others {others}")
    job = ranks()
    for r in range(4):
        job[r].send("0", (r + 1) % 4, "scheduled")
    expect(judge(job), 1, {}, [[0, 1, 2, 3]], what="a ring")
    job = ranks()
    for a, b in ((0, 1), (1, 0)):
        job[a].send("0", b, "scheduled", SMALL)
    must(not judge(job).cycles, "a buffer holds what is small: no cycle")
    job = ranks()
    for a, b in ((0, 1), (1, 0)):
        job[a].batch("0", [("send", b), ("recv", b)], "scheduled")
    must(not judge(job).cycles, "a batch sends and receives at once: no cycle")


@case
def transfers_that_are_through():
    """A send that fits a buffer completes before its receive: its sender is not missing."""
    job = ranks()
    job[0].send("0", 1, sizes=SMALL)
    job[1].recv("0", 0, "scheduled", SMALL)
    job[1].collective("0", "all_reduce", "scheduled")
    for r in (2, 3):
        job[r].collective("0", "all_reduce", "scheduled")
    answer = judge(job)
    must("0" not in str(answer.blame) or answer.blame == {0: "absent"}, f"blame: {answer.blame}")
    job = ranks()
    job[0].send("0", 1, sizes=SMALL)
    job[1].recv("0", 0, "scheduled", SMALL)
    must(0 not in judge(job).blame, "the sender is blamed for a message that it has sent")


@case
def healthy_transfers():
    job = ranks()
    for _ in range(3):
        for r in range(3):
            job[r].send("0", r + 1)
            job[r + 1].recv("0", r)
    expect(judge(job), 0, what="all completed")


@case
def reduce_of_different_sizes():
    for name in ("reduce", "_reduce_oop"):
        job = ranks()
        for r, rank in enumerate(job):
            rank.collective("0", name, "scheduled", [[8]] if r == 2 else [[16]])
        expect(judge(job), 1, {2: "mismatch"}, what=name)
    job = ranks()
    for rank in job:
        rank.collective("0", "reduce")
    expect(judge(job), 0, what="healthy")


# ---------------------------------------------------------------- jobs at random

JOBS = 80 * int(os.environ.get("GORDIAN_TEST_SCALE", "100")) // 100 + 1


def do_something(choose, job, groups, batches, members):
    """One step of a job, which all of its ranks complete."""
    group = choose.choice(list(groups))
    here = groups[group]
    kind = choose.random()
    if kind < 0.35:
        name = choose.choice(["all_reduce", "_all_gather_base", "reduce", "broadcast", "all_to_all"])
        for r in here:
            job[r].collective(group, name)
    elif kind < 0.5:
        names = [choose.choice(["all_reduce", "all_gather"]) for _ in range(choose.randint(2, 3))]
        for r in here:
            job[r].coalesced(group, names if members else [])
    elif batches and choose.random() < 0.5:
        for i, r in enumerate(here):
            job[r].batch(group, [("send", here[(i + 1) % len(here)]), ("recv", here[i - 1])])
    else:
        one, other = choose.sample(here, 2)
        if batches:
            job[one].batch(group, [("send", other)])
            job[other].batch(group, [("recv", one)])
        else:
            job[one].send(group, other, sizes=choose.choice([SMALL, LARGE]))
            job[other].recv(group, one)


def stop_one(choose, job, batches, members):
    """One rank does not come to what others are in; which one, or None."""
    victim = choose.randrange(len(job))
    others = [rank for rank in job if rank.rank != victim]
    kind = choose.choice(["none", "collective", "coalesced", "transfer"])
    if kind == "collective":
        for rank in others:
            rank.collective("0", "all_reduce", "scheduled")
    elif kind == "coalesced":
        for rank in others:
            rank.coalesced("0", ["all_reduce"] * 2 if members else [], "scheduled")
    elif kind == "transfer":
        way = choose.choice(["send", "recv"])
        if batches:
            choose.choice(others).batch("0", [(way, victim)], "scheduled")
        else:
            choose.choice(others).transfer("0", way, victim, "scheduled")
    return victim if kind != "none" else None


@case
def jobs_at_random():
    """Nobody but the rank that stops is to blame, and nobody if none does."""
    for seed in range(JOBS):
        choose = random.Random(seed)
        count = choose.choice([2, 4, 5, 6])
        groups = {"0": list(range(count))}
        if count > 2:
            groups.update({"1": [0, 1], "2": list(range(2, count))})
        version = choose.choice(["2.5", "2.7", "2.9", "2.10"])
        batches, active, members = choose.random() < 0.5, choose.random() < 0.5, version != "2.5"
        job = [Rank(r, {g: m for g, m in groups.items() if r in m}, version) for r in range(count)]
        if active:  # as after hours: what is left out must not be guessed from small numbers that coincide
            for rank in job:
                rank.record = 7000
                rank.counts = {group: [300, 5000] for group in rank.groups}
        for _ in range(choose.randint(1, 25)):
            do_something(choose, job, groups, batches, members)
        victim = stop_one(choose, job, batches, members)
        expect(judge([rank.dump(active) for rank in job]), 0 if victim is None else 1,
               {} if victim is None else {victim: "absent"},
               what=f"seed {seed}, batches {batches}, active {active}, version {version}")


# ---------------------------------------------------------------- a single entry is left of a coalesced group

def after_hours(job):
    for rank in job:
        rank.record = 7000
        rank.counts = {group: [300, 5000] for group in rank.groups}
    return job


@case
def last_member_of_a_collective():
    """Ranks 0 to 2 wait for rank 3 in what follows a coalesced group. Rank 0's recorder has its last member: that
    has been completed, and the device of rank 0 has not stopped."""
    for name in ("all_reduce", "all_gather", "reduce_scatter", "broadcast"):
        job = after_hours(ranks())
        for r, rank in enumerate(job):
            rank.coalesced("0", [name, name])
            if r < 3:
                rank.collective("0", "all_reduce", "scheduled")
        answer = judge([rank.dump(True, 3 if r == 0 else None) for r, rank in enumerate(job)])
        expect(answer, 1, {3: "absent"}, what=name)
        must(answer.summary.get("undecided") == [0], f"{name}: {answer.summary}")
        must("Whether rank 0 waits was not decided" in answer.text, f"{name}: {answer.text}")


@case
def closing_entry_of_a_collective():
    """Rank 0's recorder has forgotten the members: "coalesced" is no other operation than theirs."""
    job = ranks()
    for r, rank in enumerate(job):
        if r != 3:
            rank.coalesced("0", ["all_reduce", "all_reduce"], "scheduled")
    expect(judge([rank.dump(True, 1 if r == 0 else None) for r, rank in enumerate(job)]), 1, {3: "absent"},
           what="without members")


@case
def closing_entry_alone():
    """Rank 0 is in a batch, of which its recorder has the closing entry only: with which rank is not known."""
    for active in (False, True):
        job = after_hours(ranks())
        job[0].batch("0", [("recv", 3)], "scheduled")
        answer = judge([rank.dump(active, 1) for rank in job])
        expect(answer, 5, what=f"active {active}")
        must(answer.summary.get("undecided") == [0] and "rank 0" in answer.text, f"{answer.text}{answer.lines}")
        for r in (1, 2):
            job[r].collective("0", "all_reduce", "scheduled")
        answer = judge([rank.dump(active, 1) for rank in job])
        expect(answer, 1, {3: "absent"}, what=f"others wait, active {active}")


@case
def cut_jobs_at_random():
    """Recorders that keep a few entries: nobody but the rank that stops is to blame, or the report says that something
    was not decided."""
    for seed in range(3 * JOBS):
        choose = random.Random(seed)
        count = choose.choice([2, 4, 5])
        groups = {"0": list(range(count))}
        if count > 2:
            groups.update({"1": [0, 1], "2": list(range(2, count))})
        version = choose.choice(["2.5", "2.7", "2.10"])
        batches, members, first = choose.random() < 0.5, version != "2.5", [choose.randint(0, 9), choose.randint(0, 9)]
        job = [Rank(r, {g: m for g, m in groups.items() if r in m}, version, record=90) for r in range(count)]
        for rank in job:
            rank.counts = {group: list(first) for group in rank.groups}
        for _ in range(choose.randint(1, 9)):
            do_something(choose, job, groups, batches, members)
        victim, keep = stop_one(choose, job, batches, members), [choose.randint(1, 12) for _ in job]
        answer = judge([rank.dump(True, keep[r]) for r, rank in enumerate(job)])
        what = f"seed {seed}, batches {batches}, version {version}, {keep} entries"
        if answer.summary["undecided"] and answer.code == 5:
            expect(answer, 5, what=what)
        else:
            expect(answer, 0 if victim is None else 1, {} if victim is None else {victim: "absent"}, what=what)
        must(answer.summary["stalled"] == 0 and answer.summary["mismatches"] == 0, f"{what}: {answer.summary}")


# ---------------------------------------------------------------- versions

def hung(version="2.9"):
    job = ranks(version=version)
    for r, rank in enumerate(job):
        rank.collective("0", "all_reduce")
        if r != 2:
            rank.collective("0", "all_reduce", "scheduled")
    return job


@case
def versions():
    for version in [f"2.{minor}" for minor in range(11)]:
        expect(judge(hung(version)), 1, {2: "absent"}, what=version)
    for version in ("1.0", "1.5", "2.11", "3.0", "2", "2.x", "", "two"):
        answer = judge(hung(version))
        expect(answer, 2, what=f"version '{version}'")
        must(len(answer.unreadable) == 4 and all("version" in text for text in answer.unreadable.values()),
             f"version '{version}': {answer.unreadable}")
    without = [rank.dump() for rank in hung()]
    for dump in without:
        del dump["version"]
    answer = judge(without)
    expect(answer, 2, what="no version")
    must("version" in answer.text, "no version: not reported")


@case
def one_sequence_number():
    """seq_id for collectives and sends alike: PyTorch 2.3."""
    for version in ("1.5", "2.9"):
        dumps = [rank.dump() for rank in hung(version)]
        for dump in dumps:
            for entry in dump["entries"]:
                entry["seq_id"] = entry.pop("collective_seq_id")
                del entry["p2p_seq_id"]
        answer = judge(dumps)
        expect(answer, 2, what=version)
        must(all("version" in text or "collective_seq_id" in text for text in answer.unreadable.values()),
             f"{version}: {answer.unreadable}")
    answer = judge([rank.dump()["entries"] for rank in hung()], form=2)  # PyTorch 2.2: entries and nothing else
    expect(answer, 2, what="a list")


# ---------------------------------------------------------------- dumps that cannot be read

@case
def unreadable():
    answer = judge([b"\x80\x02garbage"] * 4)
    expect(answer, 2, what="all")
    must(len(answer.unreadable) == 4, f"JSON names {answer.unreadable}")
    must(all(f"rank {r}" in answer.text for r in range(4)), f"text: {answer.text}")
    must("nobody" not in answer.text and "Nobody" not in answer.text, f"text: {answer.text}")

    job = ranks()
    for rank in job:
        rank.collective("0", "all_reduce")
    answer = judge([job[0], job[1], b"", job[3]])
    expect(answer, 5, what="one of four, nothing in flight")
    must("rank 2" in answer.text, f"text: {answer.text}")
    must(list(answer.unreadable) == [2], f"JSON: {answer.lines}")
    quiet = judge([job[0], job[1], b"", job[3]], "--quiet")
    must(quiet.code == 5 and "rank 2" in quiet.text, f"quiet: {quiet.code}, {quiet.text}")

    answer = judge([job[0], job[1], None, job[3]])
    expect(answer, 5, what="no dump of one of four")
    must("rank 2" in answer.text and answer.summary.get("unseen") == [2], f"{answer.text}{answer.lines}")

    job = hung()
    answer = judge([b"", *job[1:]])
    expect(answer, 1, {0: "silent", 2: "absent"}, what="a finding and one unreadable")
    must("rank 0" in answer.text and list(answer.unreadable) == [0], f"text: {answer.text}")


@case
def operands_without_a_rank():
    """A file that was named and has no rank in its name was not seen; in a folder it is no dump."""
    folder = tempfile.mkdtemp()
    try:
        job, notes = ranks(), os.path.join(folder, "notes")
        with open(notes, "w", encoding="utf-8") as file:
            file.write("not a dump")
        answer = Answer(notes)
        expect(answer, 2, what="nothing else")
        must(notes in answer.text and list(answer.unreadable) == [notes], f"nothing else: {answer.text}{answer.lines}")
        dumps = os.path.join(folder, "dumps")
        write(dumps, job)
        for operands in ([notes, dumps], [dumps, os.path.join(folder, "n*s")], ["--quiet", dumps, notes]):
            answer = Answer(*operands)
            expect(answer, 5, what=f"nothing found: {operands}")
            must(notes in answer.text and list(answer.unreadable) == [notes], f"{operands}: {answer.text}{answer.lines}")
            must(answer.summary["unreadable"] == 1, f"{operands}: {answer.summary}")
        write(dumps, hung())
        answer = Answer(notes, dumps)
        expect(answer, 1, {2: "absent"}, what="a finding")
        must(notes in answer.text, f"a finding: {answer.text}")
        os.rename(notes, os.path.join(dumps, "notes"))
        write(dumps, job)
        expect(Answer(dumps), 0, what="in a folder")
    finally:
        shutil.rmtree(folder)


# ---------------------------------------------------------------- pickles, folders, names

@case
def protocols():
    for protocol in range(6):
        job = hung()
        job[0].entries[0]["frames"] = [{"name": "sch\u00f6n \u20ac \\ \n'\"", "filename": "/a/b.py", "line": 7}]
        job[0].entries[0]["big"] = [2 ** 40, -2 ** 70, -1, 2 ** 31, 1.5, True, False, None, (), (1,), "", [], {}]
        expect(judge(job, form=protocol), 1, {2: "absent"}, what=f"protocol {protocol}")


class Harm:
    def __reduce__(self):
        return (os.system, ("touch harmed",))


@case
def pickles_that_call():
    for protocol in range(6):
        dumps = [rank.dump() for rank in hung()]
        dumps[1]["entries"][0]["frames"] = Harm()
        answer = judge(dumps, form=protocol)
        must(list(answer.unreadable) == [1] and "refused" in answer.unreadable[1],
             f"protocol {protocol}: {answer.unreadable}")
    must(not os.path.exists("harmed"), "a dump was executed")


@case
def names():
    for name in ("rank{}_host7", "trace_rank_{}_host_12.json", "host3_rank{}", "_dump_{}", "RANK-{}.pickle", "run4/node2/rank{}",
                 "a/b/c/nccl_trace_rank_{}"):
        expect(judge(hung(), name=name), 1, {2: "absent"}, what=name)
    folder = tempfile.mkdtemp()
    try:
        job = hung()
        write(folder, job[:2], name="host0/rank{}_host0")
        write(folder, [None, None, *job[2:]], name="host1/deep/rank{}_host1")
        os.symlink("..", os.path.join(folder, "host0", "up"))
        os.makedirs(os.path.join(folder, "empty"))
        with open(os.path.join(folder, "host1", "notes"), "w", encoding="utf-8") as file:
            file.write("not a dump")
        expect(Answer(folder), 1, {2: "absent"}, what="folders of hosts")
        write(folder, [job[0]], name="host2/rank{}_host2")
        must(Answer(folder).code == 2, "two dumps of one rank")
    finally:
        shutil.rmtree(folder)


os.chdir(tempfile.mkdtemp())
for CASE in sys.argv[2:] or CASES:
    CASES[CASE]()
os.rmdir(os.getcwd()) if not os.listdir() else None
sys.exit(1 if faults else 0)
