"""Hangs of Python, as hung.h has them.

    hung_python.py --list         NAME LIVE CORE VERDICT MEMBERS a line: what is expected
    hung_python.py NAME           hangs so, or goes on so
"""

import concurrent.futures
import ctypes
import queue
import signal
import sys
import threading

meeting = threading.Barrier(2)


def run_two(one, two):
    """Runs both, and joins the first."""
    first, second = threading.Thread(target=one), threading.Thread(target=two)
    first.start()
    second.start()
    first.join()


def run_beside(one, two):
    """Runs one in a thread, the other itself: there is nobody else."""
    threading.Thread(target=one).start()
    two()


def nest(outer, inner):
    with outer:
        meeting.wait()
        with inner:
            pass


def take(outer, inner):
    outer.acquire()
    meeting.wait()
    inner.acquire()


def cross(way, make, run=run_two):
    """Two threads, two locks, each in the other's order."""
    a, b = make(), make()

    def upwards():
        way(a, b)

    def downwards():
        way(b, a)

    run(upwards, downwards)


def lock_with():
    cross(nest, threading.Lock)


def lock_plain():
    cross(take, threading.Lock)


def lock_plain_quiet():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    cross(take, threading.Lock)


def lock_with_quiet():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    cross(nest, threading.Lock, run_beside)


def rlock():
    cross(nest, threading.RLock)


def rlock_plain():
    cross(take, threading.RLock)


def join_under_rlock():
    """Who is joined wants what the one who joins has."""
    lock = threading.RLock()

    def worker():
        with lock:
            pass

    thread = threading.Thread(target=worker)
    with lock:
        thread.start()
        thread.join()


def join_under_lock():
    lock = threading.Lock()

    def worker():
        with lock:
            pass

    thread = threading.Thread(target=worker)
    with lock:
        thread.start()
        thread.join()


class Bank:
    """Locks that are attributes, taken in functions that call each other, through `try`."""

    def __init__(self):
        self.accounts = [threading.Lock() for _ in range(2)]

    def move(self, source, target):
        for _ in range(3):
            try:
                with self.accounts[source]:
                    self.arrive(target)
            finally:
                pass

    def arrive(self, target):
        meeting.wait()
        for _ in "once":
            with self.accounts[target]:
                return


def lock_deep():
    bank = Bank()
    run_two(lambda: bank.move(0, 1), lambda: bank.move(1, 0))


def gil():
    """One has the GIL and wants a mutex of C, the other has that and wants the GIL."""
    mutex = ctypes.create_string_buffer(64)
    keeping, giving = ctypes.PyDLL(None), ctypes.CDLL(None)
    pipe = (ctypes.c_int * 2)()
    letter = ctypes.create_string_buffer(1)
    keeping.pipe(pipe)
    has_mutex = threading.Event()

    def worker():
        giving.pthread_mutex_lock(mutex)
        has_mutex.set()
        # In C, without the GIL, until the other has been here with it.
        giving.read(pipe[0], letter, ctypes.c_size_t(1))

    threading.Thread(target=worker).start()
    has_mutex.wait()
    keeping.write(pipe[1], letter, ctypes.c_size_t(1))
    keeping.pthread_mutex_lock(mutex)


def idle():
    """A server without work: everybody waits to be told, main for a signal."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    jobs = queue.Queue()
    for _ in range(4):
        threading.Thread(target=jobs.get, daemon=True).start()
    print("ready", flush=True)
    threading.Event().wait()


def passed_with():
    """What is left on a frame's stack by `with` blocks that are over is no hold."""
    a, b = threading.Lock(), threading.Lock()
    stop = threading.Event()

    def worker(outer, inner):
        for _ in "once":
            for _ in "once":
                with outer:
                    with inner if outer is a else threading.Lock():
                        pass
        stop.wait()

    run_ready(lambda: worker(a, b), lambda: worker(b, a))


def run_ready(*workers):
    for worker in workers:
        threading.Thread(target=worker, daemon=True).start()
    print("ready", flush=True)
    signal.pause()


def busy():
    """Contended locks, in one order, and a GIL that goes round."""
    a, b = threading.Lock(), threading.RLock()

    def worker():
        while True:
            with a:
                with b:
                    sum(range(100))

    run_ready(worker, worker, worker)


def idle_quiet():
    """The same without a handler: the word does not depend on it."""
    jobs = queue.Queue()
    for _ in range(4):
        threading.Thread(target=jobs.get, daemon=True).start()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    print("ready", flush=True)
    threading.Event().wait()


def starved_pool():
    """Every worker of the pool waits for a task that only another one could do."""
    pool = concurrent.futures.ThreadPoolExecutor(2)

    def outer():
        meeting.wait()
        return pool.submit(int).result()

    jobs = [pool.submit(outer) for _ in range(2)]
    jobs[0].result()


def starved_pool_quiet():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    starved_pool()


def semaphores():
    cross(take, threading.Semaphore)


def semaphores_quiet():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    semaphores()


def full_queues():
    """Each puts into the other's queue, and both are full."""
    first, second = queue.Queue(1), queue.Queue(1)

    def fill(full):
        full.put(1)
        meeting.wait()
        full.put(2)

    run_two(lambda: fill(first), lambda: fill(second))


def released_by_signal():
    """A lock as an event: somebody else gives it back, when a signal comes."""
    lock = threading.Lock()
    lock.acquire()
    signal.signal(signal.SIGTERM, lambda *_: lock.release())
    print("ready", flush=True)
    lock.acquire()


CASES = [
    ("lock-with", "likely", "likely", 2, lock_with),
    ("lock-with-quiet", "likely", "likely", 2, lock_with_quiet),
    ("lock-plain", "likely", "likely", 3, lock_plain),
    ("lock-plain-quiet", "likely", "likely", 3, lock_plain_quiet),
    ("lock-deep", "likely", "likely", 2, lock_deep),
    ("join-under-lock", "likely", "likely", 2, join_under_lock),
    ("rlock", "proved", "proved", 2, rlock),
    ("rlock-plain", "proved", "proved", 2, rlock_plain),
    ("join-under-rlock", "likely", "likely", 2, join_under_rlock),
    ("starved-pool", "likely", "likely", 3, starved_pool),
    ("starved-pool-quiet", "likely", "likely", 3, starved_pool_quiet),
    ("semaphores", "likely", "likely", 3, semaphores),
    ("semaphores-quiet", "likely", "likely", 3, semaphores_quiet),
    ("full-queues", "likely", "likely", 3, full_queues),
    ("gil", "proved", "proved", 2, gil),
    ("idle", "nothing", "nothing", 0, idle),
    ("idle-quiet", "nothing", "nothing", 0, idle_quiet),
    ("passed-with", "nothing", "nothing", 0, passed_with),
    ("busy", "nothing", "nothing", 0, busy),
    ("released-by-signal", "nothing", "unasked", 0, released_by_signal),
]


def main():
    if sys.argv[1] == "--list":
        for name, live, core, members, _ in CASES:
            print(name, live, core, "deadlock", members)
        return
    # Whoever starts tests in the background has it ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for name, _, _, _, run in CASES:
        if name == sys.argv[1]:
            run()


main()
