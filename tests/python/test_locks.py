"""Locks for threads: a deadlock is always told, and nothing else ever is."""

import os
import queue
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import gordian
import pytest
from conftest import scale

PATIENCE = 600


def run_all(*functions):
    """Runs them in threads of their own; what each raised, or None."""
    raised = [None] * len(functions)

    def guarded(index):
        try:
            functions[index]()
        except Exception as error:
            raised[index] = error

    threads = [
        threading.Thread(target=guarded, args=(index,), name=f"thread-{index}")
        for index in range(len(functions))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
        assert not thread.is_alive(), gordian._domain.all_waits()
    return raised


def in_a_ring(locks):
    """Each thread takes a lock, waits for the others, and wants the next one."""
    barrier = threading.Barrier(len(locks))

    def diner(index):
        def dine():
            with locks[index]:
                barrier.wait()
                with locks[(index + 1) % len(locks)]:
                    pass

        return dine

    return run_all(*[diner(index) for index in range(len(locks))])


@pytest.mark.parametrize("count", [2, 3, 7])
@pytest.mark.parametrize("kind", [gordian.Lock, gordian.RLock, gordian.Semaphore])
def test_a_ring_is_told_once(kind, count):
    for _ in range(scale(20)):
        locks = [kind(name=f"lock-{each}") for each in range(count)]
        told = [error for error in in_a_ring(locks) if error is not None]
        assert len(told) == 1 and isinstance(told[0], gordian.Deadlock)
        cycle = told[0].cycle
        assert len(cycle) == count
        for wait, after in zip(cycle, cycle[1:] + cycle[:1]):
            assert wait.holder == after.who
            assert wait.at.file == __file__ and wait.at.function == "dine"
            assert wait.taken.file == __file__ and wait.taken.line == wait.at.line - 2
    assert gordian._domain.all_waits() == []


def test_one_thread_alone():
    lock = gordian.Lock("mine")
    with lock:
        with pytest.raises(gordian.Deadlock, match="mine"):
            lock.acquire()
        assert not lock.acquire(blocking=False)
        assert not lock.acquire(timeout=0.01)
    assert lock.acquire()
    lock.release()
    with pytest.raises(RuntimeError):
        lock.release()
    reentrant = gordian.RLock()
    with reentrant, reentrant:
        pass
    with pytest.raises(RuntimeError):
        reentrant.release()
    with pytest.raises(ValueError):
        lock.acquire(False, 1)
    with pytest.raises(ValueError):
        gordian.BoundedSemaphore(1).release()


def test_semaphores_deadlock_only_when_all_units_do():
    pool, lock = gordian.Semaphore(2, "pool"), gordian.Lock("lock")
    inside, go = threading.Barrier(3), threading.Event()

    def holder():  # runs, and will give its unit back
        with pool:
            inside.wait()
            go.wait(PATIENCE)

    def first():
        with pool:
            inside.wait()
            with lock:
                pass

    def second():
        with lock:
            inside.wait()
            go.set()
            with pool:
                pass

    assert run_all(holder, first, second) == [None, None, None]


def test_semaphores_as_signals_are_no_deadlock():
    slots = gordian.Semaphore(2)
    done = []

    def work():
        done.append(1)
        slots.release()

    with ThreadPoolExecutor(2) as pool:
        for _ in range(scale(200)):
            slots.acquire()  # by this thread; given back by another
            pool.submit(work)
    assert len(done) == scale(200)
    event = gordian.Semaphore(0)
    threading.Thread(target=event.release).start()
    assert event.acquire()


def test_locks_as_signals():
    signal = gordian.Lock(signals=True)
    signal.acquire()
    threading.Thread(target=signal.release).start()
    signal.acquire()  # until the other gives it back
    learned = gordian.Lock()
    learned.acquire()
    releasing = threading.Thread(target=learned.release)
    releasing.start()
    releasing.join()
    assert learned._signals


def test_waits_with_a_timeout_are_no_deadlock():
    a, b = gordian.Lock(), gordian.Lock()
    barrier = threading.Barrier(2)

    def patient():
        with a:
            barrier.wait()
            with b:
                pass

    def impatient():
        with b:
            barrier.wait()
            assert not a.acquire(timeout=0.05)

    assert run_all(patient, impatient) == [None, None]


def test_conditions():
    for lock in (gordian.Lock(), gordian.RLock(), None):
        condition = threading.Condition(lock)
        ready = []

        def wait():
            with condition:
                while not ready:
                    condition.wait()

        def tell():
            with condition:
                ready.append(1)
                condition.notify_all()

        assert run_all(wait, wait, tell) == [None] * 3
    owned = gordian.RLock()
    condition = threading.Condition(owned)
    with owned, condition:
        assert not condition.wait(0.01) and owned._count == 2


def test_sound_threads_are_left_alone(chance):
    locks = [gordian.Lock() for _ in range(6)] + [gordian.RLock() for _ in range(2)]
    pool, condition, counted = gordian.Semaphore(3), threading.Condition(gordian.RLock()), [0]
    seeds = [chance.random() for _ in range(8)]

    def worker(seed):
        mine = __import__("random").Random(seed)

        def work():
            for _ in range(scale(1500)):
                chosen = sorted(mine.sample(range(len(locks)), 3))
                for index in chosen:  # in one order: sound
                    assert locks[index].acquire()
                if mine.random() < 0.3:
                    with pool:
                        pass
                for index in mine.sample(chosen, 3):
                    locks[index].release()
                with condition:
                    counted[0] += 1
                    condition.notify_all()

        return work

    assert run_all(*[worker(seed) for seed in seeds]) == [None] * 8
    assert counted[0] == 8 * scale(1500)
    assert gordian._domain.all_waits() == []


def test_unsound_threads_go_on_when_they_give_way(chance):
    """Any order: deadlocks come, each is told to one, who gives everything back; all finish."""
    locks = [gordian.Lock(f"lock-{each}") for each in range(4)]
    told = []
    seeds = [chance.random() for _ in range(6)]

    def worker(seed):
        mine = __import__("random").Random(seed)

        def work():
            for _ in range(scale(400)):
                held = []
                try:
                    for index in mine.sample(range(4), 3):
                        locks[index].acquire()
                        held.append(index)
                except gordian.Deadlock as error:
                    told.append(error)
                finally:
                    for index in held:
                        locks[index].release()

        return work

    assert run_all(*[worker(seed) for seed in seeds]) == [None] * 6
    assert all(len({wait.wants for wait in error.cycle}) >= 2 for error in told)


def test_in_place_of_threading_s():
    before = threading.Lock
    with gordian.patched():
        assert threading.Lock is gordian.Lock
        with ThreadPoolExecutor(4) as pool:
            assert sum(pool.map(lambda each: each, range(300))) == 44850
        box = queue.Queue(2)
        filling = threading.Thread(target=lambda: [box.put(each) for each in range(50)])
        filling.start()
        assert [box.get() for _ in range(50)] == list(range(50))
        filling.join()
        told = [error for error in in_a_ring([threading.Lock(), threading.RLock()]) if error]
        assert len(told) == 1 and isinstance(told[0], gordian.Deadlock)
    assert threading.Lock is before


def test_domains_are_apart():
    mine = gordian.Domain("mine")
    lock = gordian.Lock("l", domain=mine)
    with lock, pytest.raises(gordian.Deadlock):
        lock.acquire()
    assert "mine" in repr(mine) and "l" in repr(lock)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_forked_children_begin_anew():
    code = """
import os, threading, gordian
a, b = gordian.Lock("a"), gordian.Lock("b")
a.acquire()
waiting = threading.Thread(target=a.acquire, daemon=True)
waiting.start()
while not gordian._domain.all_waits():
    pass
child = os.fork()
if child == 0:
    assert gordian._domain.all_waits() == []
    a.release()
    with b:
        try:
            b.acquire()
        except gordian.Deadlock:
            os._exit(7)
    os._exit(1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
a.release()
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=PATIENCE)
