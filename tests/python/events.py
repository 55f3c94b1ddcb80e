"""Events a second from Python, beside the same in C.

    events.py [C-PROGRAM [EVENTS]]

The best of five counts, as the machine may be busy.
"""

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


def main():
    program = sys.argv[1] if len(sys.argv) > 1 else None
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 1_000_000
    rates = [by_columns(count) for _ in range(5)]
    best = max(rate for rate, _ in rates)
    ready = max(by_array(count)[0] for _ in range(5))
    print(f"Python, columns:    {best / 1e6:8.2f} million events a second, {rates[0][1]} granted")
    print(f"Python, an array:   {ready / 1e6:8.2f} million events a second, made before")
    print(f"Python, one by one: {one_by_one(count // 20) / 1e6:8.2f} million events a second")
    if program:
        told = [subprocess.check_output([program, str(count)], text=True) for _ in range(5)]
        in_c = max(float(re.match(r"\d+", each)[0]) for each in told)
        assert told[0].split()[4] == str(rates[0][1]), told[0]
        print(f"C, one batch:       {in_c / 1e6:8.2f} million events a second")
        print(f"Python has {best / in_c:.2f} of it")


if __name__ == "__main__":
    main()
