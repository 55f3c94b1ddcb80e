"""The package against the command: the same outcomes, event by event, on traces by chance."""

import json
import subprocess

import gordian
import pytest
from conftest import scale

KINDS = ["random", "multi", "general", "hot", "philosophers", "chains"]


def told(command, verb, trace, *options):
    done = subprocess.run(
        [command, verb, "--json", *options, "-"], input=trace, stdout=subprocess.PIPE
    )
    lines = [json.loads(line) for line in done.stdout.decode().splitlines()]
    return [line for line in lines if "seq" in line]


@pytest.mark.parametrize("kind", KINDS)
def test_detect(command, kind):
    for seed in range(1, 1 + scale(6)):
        arguments = ["--seed", str(seed), "--quiet"]
        trace = subprocess.run(
            [command, "gen", *arguments, kind], check=True, stdout=subprocess.PIPE
        ).stdout[:200000]
        trace = trace[: trace.rindex(b"\n") + 1]
        expected = told(command, "detect", trace, "--all")
        with gordian.System() as system:
            steps = list(system.replay(trace))
        assert [(step.seq, step.op.word, step.process, step.outcome.word) for step in steps] == [
            (line["seq"], line["op"], line["process"], line["result"]) for line in expected
        ]
        assert [[str(each) for each in step.result.served] for step in steps] == [
            line.get("granted_to", []) for line in expected
        ]


def random_events(chance, count):
    """Events of a few processes, sensible or not."""
    lines = [f"resource r{each} {chance.choice([1, 1, 2])}" for each in range(5)]
    for _ in range(count):
        who, what = f"p{chance.randrange(6)}", f"r{chance.randrange(5)}"
        verb = chance.choice(["request"] * 5 + ["release"] * 3 + ["cancel", "exit"])
        lines.append(f"{verb} {who}" + (f" {what}" if verb in ("request", "release") else ""))
    return lines


def by_calls(lines):
    """The same through the calls, one by one."""
    outcomes = []
    with gordian.System() as system:
        for line in lines:
            verb, *rest = line.split()
            if verb == "resource":
                system.add_resource(rest[0], int(rest[1]))
                continue
            try:
                outcomes.append(getattr(system, verb)(*rest).outcome.word)
            except (gordian.Refused, KeyError):
                outcomes.append("error")
    return outcomes


def by_batch(lines):
    """And as one batch, by number."""
    operations = {"request": 1, "release": 2, "cancel": 3, "exit": 4}
    events = []
    with gordian.System() as system:
        for each in range(6):
            system.add_process(f"p{each}")
        for line in lines:
            verb, *rest = line.split()
            if verb == "resource":
                system.add_resource(rest[0], int(rest[1]))
            else:
                numbers = [int(name[1:]) for name in rest]
                events.append((operations[verb], *numbers))
        return [gordian.Outcome(each).word for each in system.feed(events).outcome]


def test_calls_and_batches(command, chance):
    for _ in range(scale(30)):
        lines = random_events(chance, 120)
        expected = [
            line["result"]
            for line in told(command, "detect", "\n".join(lines + [""]).encode(), "--all")
        ]
        assert by_calls(lines) == expected
        # An exit of somebody who was never there is an error in a trace, and nothing here.
        batch = by_batch(lines)
        differ = [i for i in range(len(batch)) if batch[i] != expected[i]]
        assert all(expected[i] == "error" and batch[i] == "exited" for i in differ)


def test_snapshots(command, chance):
    for _ in range(scale(40)):
        lines = [f"resource r{each}" for each in range(6)]
        with gordian.Snapshot() as snapshot:
            free = list(range(6))
            chance.shuffle(free)
            for what in free[:5]:
                who = chance.randrange(4)
                lines.append(f"hold p{who} r{what}")
                snapshot.hold(f"p{who}", f"r{what}")
            for who in range(4):
                what = chance.randrange(6)
                lines.append(f"wait p{who} r{what}")
                snapshot.wait(f"p{who}", f"r{what}")
            report = snapshot.check()
        done = subprocess.run(
            [command, "check", "--quiet", "-"],
            input="\n".join(lines + [""]).encode(),
            stdout=subprocess.PIPE,
        )
        assert bool(report) == (done.returncode == 0)
        again = gordian.check("\n".join(lines + [""]).encode())
        assert {str(each) for each in report.deadlocked} == {str(each) for each in again.deadlocked}
