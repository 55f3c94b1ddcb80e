"""Events a second from Python, beside the same in C.

    events.py [--json] [C-PROGRAM [EVENTS]]

With --json it prints a row as `gordian bench --json` does, for docs/lab/results: at least half of what C does.
The best of five counts, as the machine may be busy.
"""

import json
import re
import subprocess
import sys
import time

import gordian
import numpy

PROCESSES = RESOURCES = 1000


def table():
    system = gordian.System()
    for _ in range(PROCESSES):
        system.add_process()
    for _ in range(RESOURCES):
        system.add_resource()
    return system


def columns(count):
    index = numpy.arange(count, dtype=numpy.uint32)
    who = index % PROCESSES
    return 1 + index // PROCESSES % 2, who, who * 7 % RESOURCES


def by_columns(count):
    """What is timed is what C does: making the events, feeding them, counting the outcomes."""
    with table() as system:
        start = time.perf_counter()
        granted = system.feed(*columns(count)).count(gordian.Outcome.GRANTED)
        return count / (time.perf_counter() - start), granted


def by_array(count):
    """An array of events that is there already."""
    with table() as system:
        events = gordian.events(*columns(count))
        start = time.perf_counter()
        granted = system.feed(events).count(gordian.Outcome.GRANTED)
        return count / (time.perf_counter() - start), granted


def one_by_one(count):
    with table() as system:
        start = time.perf_counter()
        for index in range(count // 2):
            who = index % PROCESSES
            system.request(who, who)
            system.release(who, who)
        return count / (time.perf_counter() - start)


def rate_in_c(program, count, granted):
    told = [subprocess.check_output([program, str(count)], text=True) for _ in range(5)]
    assert told[0].split()[4] == str(granted), told[0]
    return max(float(re.match(r"\d+", each)[0]) for each in told)


def print_row(program, count):
    rates = [by_columns(count) for _ in range(5)]
    best = max(rate for rate, _ in rates)
    in_c = rate_in_c(program, count, rates[0][1])
    row = {"id": "python/events/columns", "value": best, "unit": "events/s", "baseline": "C", "baseline_value": in_c,
           "ratio": best / in_c, "bar": 0.5, "bar_is": "at least", "met": best >= in_c / 2,
           "note": f"{count} events through NumPy arrays, beside the same in C"}
    print(json.dumps(row))


def main():
    arguments = [each for each in sys.argv[1:] if each != "--json"]
    program = arguments[0] if arguments else None
    count = int(arguments[1]) if len(arguments) > 1 else 1_000_000
    if "--json" in sys.argv:
        print_row(program, count)
        return
    rates = [by_columns(count) for _ in range(5)]
    best = max(rate for rate, _ in rates)
    ready = max(by_array(count)[0] for _ in range(5))
    print(f"Python, columns:    {best / 1e6:8.2f} million events a second, {rates[0][1]} granted")
    print(f"Python, an array:   {ready / 1e6:8.2f} million events a second, made before")
    print(f"Python, one by one: {one_by_one(count // 20) / 1e6:8.2f} million events a second")
    if program:
        in_c = rate_in_c(program, count, rates[0][1])
        print(f"C, one batch:       {in_c / 1e6:8.2f} million events a second")
        print(f"Python has {best / in_c:.2f} of it")


if __name__ == "__main__":
    main()
