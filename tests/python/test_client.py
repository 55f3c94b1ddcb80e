"""The clients of `gordian serve`, blocking and for asyncio."""

import asyncio
import os
import select
import shutil
import socket
import subprocess
import sys
import threading
import types

import gordian
import pytest
from conftest import serving
from gordian import aio
from ports import free_port


def both(uri, **options):
    return gordian.Client(uri, **options), gordian.Client(uri, **options)


def test_events_by_name(service):
    with gordian.Client(service.uri, name="test") as client:
        client.resource("fork")
        client.resource("spoon")
        assert client.request("ann", "fork").granted
        assert client.request("bob", "spoon").granted
        assert client.request("ann", "spoon").waits
        assert client.what_if("bob", "fork") == "deadlock"
        reply = client.request("bob", "fork")
        assert reply.result == "deadlock"
        with pytest.raises(gordian.Deadlock) as caught:
            reply.check()
        assert [(wait.who, wait.wants, wait.holder) for wait in caught.value.cycle] == [
            ("bob", "fork", "ann"),
            ("ann", "spoon", "bob"),
        ]
        assert client.state()["deadlocked_count"] == 2
        assert client.exit("bob").served == ("ann",)
        assert client.state("ann")["holds"] == {"fork": 1, "spoon": 1}
        with pytest.raises(gordian.Refused, match="never declared"):
            client.request("ann", "knife")
        with pytest.raises(gordian.InputError):
            client.request("ann bob", "fork")
        with pytest.raises(gordian.InputError):
            client.line("nonsense")
        assert client.systems()[0]["name"] == "default"
        client.ping()
        assert client.server_version == gordian.version()
        replies = client.lines(["request eve fork", "release eve fork", "cancel eve"])
        assert [reply.result for reply in replies] == ["blocked", "error", "cancelled"]


def test_acquire_waits(service):
    one, two = both(service.uri)
    with one, two:
        one.resource("r")
        assert one.acquire("a", "r")
        assert not two.acquire("b", "r", timeout=0.05)
        assert not two.state("b")["waiting"]
        releasing = threading.Thread(target=one.release, args=("a", "r"))
        releasing.start()
        assert two.acquire("b", "r")
        releasing.join()
        with pytest.raises(TimeoutError), one.holding("a", "r", timeout=0.05):
            pass
        two.release("b", "r")
        with one.holding("a", {"r": 1}):
            assert one.state("r")["holders"] == {"a": 1}
        assert one.state("r")["free"] == 1


def test_labels(service):
    with gordian.Client(service.uri) as client:
        client.resource("r")
        client.process("a")
        client.label({"team": "pay", "env": "prod"}, process="a")
        client.label({"kind": "table"}, resource="r")
        assert client.state("a")["labels"] == ["team:pay", "env:prod"]
        client.label({"team": None}, process="a")
        assert client.state("a")["labels"] == ["env:prod"]
        assert client.state("r")["labels"] == ["kind:table"]
        for wrong in {"a:b": "c"}, {"a": ""}, {"a": "b c"}:
            with pytest.raises(gordian.InputError):
                client.label(wrong, process="a")
        with pytest.raises(gordian.InputError):
            client.label({"a": "b"})


def test_two_threads_at_one_client(service):
    with gordian.Client(service.uri) as client:
        client.resource("r")
        assert client.acquire("a", "r")
        granted = []
        waiting = threading.Thread(target=lambda: granted.append(client.acquire("b", "r")))
        waiting.start()
        while not client.state("r")["waiters"]:
            pass
        client.release("a", "r")
        waiting.join()
        assert granted == [True]


def test_acquire_tells_of_deadlocks(service):
    one, two = both(service.uri)
    with one, two:
        one.resource("fork")
        one.resource("spoon")
        two.subscribe("deadlocks")
        one.acquire("ann", "fork")
        two.acquire("bob", "spoon")
        one.request("ann", "spoon")
        with pytest.raises(gordian.Deadlock):
            two.acquire("bob", "fork")
        assert not two.state("bob")["waiting"]
        notices = []
        for notice in two.notices(60):
            notices.append(notice)
            if notice.json["incident"]["ended"]:
                break
        assert sorted(notices[0].json["incident"]["processes"]) == ["ann", "bob"]


def test_victims(service):
    options = {"system": "cut", "open": "detect recover=cheapest"}
    one, two = both(service.uri, **options)
    with one, two:
        one.resource("fork")
        one.resource("spoon")
        one.process("ann", cost=1)
        two.process("bob", cost=9)
        one.acquire("ann", "fork")
        two.acquire("bob", "spoon")
        raised = []

        def wait():
            try:
                one.acquire("ann", "spoon")
            except gordian.Victim as error:
                raised.append(error)

        waiting = threading.Thread(target=wait)
        waiting.start()
        while not two.state("spoon")["waiters"]:
            pass
        two.request("bob", "fork")
        waiting.join()
        assert raised and two.state("fork")["holders"] == {"bob": 1}


def test_banks(service):
    with gordian.Client(service.uri, system="bank", open="avoid") as client:
        client.resource("gpu", 4)
        client.process("a", {"gpu": 3})
        client.process("b", {"gpu": 3})
        assert client.acquire("a", "gpu", 2)
        assert not client.acquire("b", "gpu", 2, timeout=0.05)
        client.exit("a")
        assert client.acquire("b", "gpu", 2)


def test_tcp(service):
    with gordian.Client(f"tcp://127.0.0.1:{service.port}") as client:
        client.ping()


def test_tls(command, tmp_path):
    openssl = shutil.which("openssl", path="/usr/bin:/bin:/usr/local/bin")
    if not openssl:
        pytest.skip("no openssl")
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    subprocess.run(
        [openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]
        + ["-nodes", "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"]
        + ["-keyout", key, "-out", certificate],
        check=True,
        stderr=subprocess.DEVNULL,
    )
    with serving(command, tmp_path, "--tls-cert", certificate, "--tls-key", key) as service:
        uri = f"tls://127.0.0.1:{service.port}"
        try:
            client = gordian.Client(uri, tls_ca=certificate)
        except gordian.UnavailableError as error:
            pytest.skip(str(error))
        with client:
            client.resource("r")
            assert client.acquire("a", "r")

        async def main():
            async with aio.Client(uri, tls_ca=certificate) as client:
                return await client.acquire("b", "r")

        assert asyncio.run(main())  # the first one's session has ended
        with pytest.raises(gordian.GordianError):  # an authority that nobody trusts
            gordian.Client(uri)


def test_nobody_there(tmp_path):
    with pytest.raises(gordian.IOFailure):
        gordian.Client(f"unix:{tmp_path}/nothing")
    with pytest.raises(gordian.InputError):
        gordian.Client("http://here")
    with pytest.raises(TypeError):
        gordian.Client("unix:/x", nonsense=1)


def test_sessions_go_on(service):
    client = gordian.Client(service.uri, lease=60)
    client.resource("r")
    client.acquire("a", "r")
    session = client.session
    client.leave()
    with gordian.Client(service.uri, lease=60, session=session) as again:
        assert again.session == session
        assert again.state("a")["holds"] == {"r": 1}
        again.release("a", "r")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_client_is_not_for_children(service):
    code = f"""
import os, gordian
client = gordian.Client({service.uri!r})
client.resource("r"); client.acquire("a", "r")
child = os.fork()
if child == 0:
    try:
        client.ping()
    except gordian.InputError:
        client.close()
        os._exit(7)
    os._exit(1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
assert client.state("r")["holders"] == {{"a": 1}}
client.close()
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def lives_of(command, folder):
    """A service, on its port; when the caller goes on it is killed, and then there again."""
    listen, options = f"127.0.0.1:{free_port()}", ("--data", folder / "data")
    with serving(command, folder, *options, listen=listen) as service:
        yield service.port
        service.process.kill()
        service.process.wait()
    yield None
    with serving(command, folder, *options, listen=listen):
        yield service.port


def test_subscribed_anew(command, tmp_path):
    """Who had subscribed still is when the service is there again, and knows what it missed."""
    lives = lives_of(command, tmp_path)
    uri = f"tcp://127.0.0.1:{next(lives)},127.0.0.1:1"
    options = {"lease": 600, "timeout": 600}
    heard = {"system": "heard", "open": "detect"}
    with gordian.Client(uri, **options, **heard) as two, gordian.Client(uri, **options) as one:
        one.use("heard")
        one.subscribe("deadlocks", "events")
        two.resource("r")
        two.request("a", "r")
        told = one.notices(600)
        assert next(told).json["event"]["seq"] == 1
        assert not next(lives) and next(lives)
        two.release("a", "r")
        two.request("a", "r")
        assert next(told) == gordian.Notice("gap", {"gap": {"from": 1, "seq": 3}})
        two.release("a", "r")
        assert next(told).json["event"]["seq"] == 4
    lives.close()


# ---------------------------------------------------------------- asyncio


def test_asyncio_subscribed_anew(command, tmp_path):
    """The same, in a loop, which tries another address while the service is not there."""
    lives = lives_of(command, tmp_path)
    other = socket.create_server(("127.0.0.1", 0))
    other.setblocking(False)
    uri = f"tcp://127.0.0.1:{next(lives)},127.0.0.1:{other.getsockname()[1]}"
    options = {"lease": 600, "timeout": 600}
    heard = {"system": "heard", "open": "detect"}

    async def main():
        async with aio.Client(uri, **options, **heard) as two, aio.Client(uri, **options) as one:
            await one.use("heard")
            await one.subscribe("deadlocks")
            await two.resource("r", 2)
            await two.request("a", "r", 2)
            assert not next(lives)
            (await asyncio.get_running_loop().sock_accept(other))[0].close()
            other.close()
            assert next(lives)
            told = one.notices()
            assert await told.__anext__() == gordian.Notice("gap", {"gap": {}})
            assert (await two.request("a", "r")).result == "deadlock"
            assert (await told.__anext__()).json["incident"]["processes"] == ["a"]

    asyncio.run(main())
    lives.close()


@pytest.mark.parametrize("events", [select.POLLOUT, select.POLLIN | select.POLLOUT])
def test_asyncio_and_sockets_that_the_library_closes(monkeypatch, events):
    """Another may have the same number, as when one address is tried after the other, or there is none."""
    library = types.SimpleNamespace(client_events=lambda _: events, client_timeout=lambda _: -1)
    monkeypatch.setattr(aio, "lib", library)

    async def main():
        woken = asyncio.Event()
        client = aio.Client()
        client._loop, client._work = asyncio.get_running_loop(), woken.set
        client._core = types.SimpleNamespace(closed=False, _handle=None)
        sockets = [*socket.socketpair(), *socket.socketpair()]
        number = sockets[0].detach()
        library.client_fd = lambda _: number
        client._watch()
        os.close(number)
        if events & select.POLLIN:
            library.client_fd, library.client_events = (lambda _: -1), (lambda _: 0)
            client._watch()
            library.client_fd, library.client_events = (lambda _: number), (lambda _: events)
        assert os.dup2(sockets[2].fileno(), number) == number
        client._watch()
        await asyncio.wait_for(woken.wait(), 100)
        client._unwatch()
        os.close(number)
        for each in sockets:
            each.close()

    asyncio.run(main())


def test_asyncio(service):
    async def main():
        async with aio.Client(service.uri) as one, aio.Client(service.uri) as two:
            await one.resource("fork")
            await one.resource("spoon")
            await two.subscribe("deadlocks")
            assert await one.acquire("ann", "fork") and await two.acquire("bob", "spoon")
            waiting = asyncio.create_task(one.acquire("ann", "spoon"))
            while not (await two.state("spoon"))["waiters"]:
                pass
            with pytest.raises(gordian.Deadlock):
                await two.acquire("bob", "fork")
            async for notice in two.notices():
                assert sorted(notice.json["incident"]["processes"]) == ["ann", "bob"]
                break
            await two.release("bob", "spoon")
            assert await waiting
            assert not await two.acquire("bob", "spoon", timeout=0.05)
            giving_up = asyncio.create_task(two.acquire("bob", "spoon"))
            while not (await one.state("spoon"))["waiters"]:
                pass
            giving_up.cancel()
            with pytest.raises(asyncio.CancelledError):
                await giving_up
            assert not (await one.state("spoon"))["waiters"]
            with pytest.raises(gordian.Refused):
                await one.release("bob", "spoon")
            replies = await asyncio.gather(*[one.line("ping") for _ in range(500)])
            assert replies == [{"pong": True}] * 500

    asyncio.run(main())


@pytest.mark.parametrize("busy", [False, True])
def test_asyncio_cancelled_at_any_step(service, busy):
    """Also while the request or its answer is on its way: nothing is held or waited for afterwards."""

    async def main():
        async with aio.Client(service.uri) as one, aio.Client(service.uri) as two:
            await one.resource("ladle", 2)
            if busy:
                assert await one.acquire("ann", "ladle", 2)
            for steps in range(60):
                task = asyncio.create_task(two.acquire("bob", "ladle"))
                for _ in range(steps):
                    await asyncio.sleep(0)
                task.cancel()
                try:
                    assert await task
                    await two.release("bob", "ladle")
                except asyncio.CancelledError:
                    pass
                state = await two.state("ladle")
                assert "bob" not in state["waiters"] and "bob" not in state["holders"], steps

    asyncio.run(main())


def test_asyncio_tasks_take_turns(service):
    async def main():
        async with aio.Client(service.uri) as client:
            await client.resource("r")
            inside = []

            async def work(name):
                for _ in range(5):
                    assert await client.acquire(name, "r")
                    inside.append(name)
                    assert inside == [name]
                    await asyncio.sleep(0)
                    inside.remove(name)
                    await client.release(name, "r")

            await asyncio.gather(*[work(f"w{each}") for each in range(8)])

    asyncio.run(main())


def test_asyncio_and_a_service_that_ends(service, tmp_path):
    async def main():
        with pytest.raises(gordian.IOFailure):
            await aio.Client(f"unix:{tmp_path}/nothing").connect()

    asyncio.run(main())
