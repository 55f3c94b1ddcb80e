"""Locks for tasks of asyncio."""

import asyncio
import random

import gordian
import pytest
from conftest import scale
from gordian import aio


def run(function, *arguments):
    return asyncio.run(function(*arguments))


async def in_a_ring(locks):
    """Each task takes a lock, lets the others do so, and wants the next one."""

    async def dine(index):
        async with locks[index]:
            await asyncio.sleep(0)
            async with locks[(index + 1) % len(locks)]:
                pass

    tasks = [asyncio.create_task(dine(each), name=f"task-{each}") for each in range(len(locks))]
    return await asyncio.gather(*tasks, return_exceptions=True)


@pytest.mark.parametrize("kind", [aio.Lock, aio.Semaphore])
@pytest.mark.parametrize("count", [2, 5])
def test_a_ring_is_told_once(kind, count):
    async def main():
        return await in_a_ring([kind(name=f"lock-{each}") for each in range(count)])

    told = [error for error in run(main) if error is not None]
    assert len(told) == 1 and isinstance(told[0], gordian.Deadlock)
    cycle = told[0].cycle
    assert len(cycle) == count
    for wait, after in zip(cycle, cycle[1:] + cycle[:1]):
        assert wait.holder == after.who and wait.who.startswith("task-")
        assert wait.at.file == __file__ and wait.taken.line == wait.at.line - 2


def test_one_task_alone():
    async def main():
        lock = aio.Lock("mine")
        async with lock:
            with pytest.raises(gordian.Deadlock, match="mine"):
                await lock.acquire()
        await lock.acquire()
        lock.release()
        with pytest.raises(RuntimeError):
            lock.release()
        with pytest.raises(ValueError):
            aio.BoundedSemaphore(1).release()

    run(main)


def test_signals_are_no_deadlock():
    async def main():
        slots, done = aio.Semaphore(2), []

        async def work():
            await asyncio.sleep(0)
            done.append(1)
            slots.release()

        tasks = []
        for _ in range(50):
            await slots.acquire()  # by this task; given back by another
            tasks.append(asyncio.create_task(work()))
        await asyncio.gather(*tasks)
        assert len(done) == 50
        signal = aio.Lock(signals=True)
        await signal.acquire()
        asyncio.get_running_loop().call_soon(signal.release)
        await signal.acquire()

    run(main)


def test_a_task_that_is_cancelled_does_not_count():
    async def main():
        a, b = aio.Lock(), aio.Lock()
        started = asyncio.Event()

        async def other():
            async with a:
                started.set()
                async with b:
                    pass

        async with b:
            task = asyncio.create_task(other())
            await started.wait()
            await asyncio.sleep(0)  # it waits for b now
            task.cancel()
            async with a:  # which it will give up
                pass
        with pytest.raises(asyncio.CancelledError):
            await task

    run(main)
    assert gordian._domain.all_waits() == []


def test_conditions():
    async def main():
        condition, ready = asyncio.Condition(aio.Lock()), []

        async def wait():
            async with condition:
                await condition.wait_for(lambda: ready)

        tasks = [asyncio.create_task(wait()) for _ in range(3)]
        await asyncio.sleep(0)
        async with condition:
            ready.append(1)
            condition.notify_all()
        await asyncio.gather(*tasks)

    run(main)


def test_sound_tasks_are_left_alone(chance):
    async def main():
        locks, pool, counted = [aio.Lock() for _ in range(6)], aio.Semaphore(3), [0]

        async def work(seed):
            mine = random.Random(seed)
            for _ in range(scale(200)):
                chosen = sorted(mine.sample(range(6), 3))
                for index in chosen:
                    await locks[index].acquire()
                    await asyncio.sleep(0)
                async with pool:
                    counted[0] += 1
                for index in chosen:
                    locks[index].release()

        await asyncio.gather(*[work(chance.random()) for _ in range(10)])
        assert counted[0] == 10 * scale(200)

    run(main)
    assert gordian._domain.all_waits() == []
