"""Systems, snapshots, traces, banks, plans, circuits, makespans, PTX, errors."""

import io
import os
import pickle
import subprocess
import sys
import threading

import gordian
import pytest
from gordian import Outcome, Verdict

RING = b"resource a\nresource b\nhold x a\nhold y b\nwait x b\nwait y a\n"


@pytest.fixture
def table():
    with gordian.System() as system:
        system.add_resource("fork")
        system.add_resource("spoon")
        yield system


def close_the_ring(system):
    assert system.request("ann", "fork").granted
    assert system.request("bob", "spoon").granted
    assert system.request("ann", "spoon").outcome is Outcome.BLOCKED
    return system.request("bob", "fork")


# ---------------------------------------------------------------- systems


def test_deadlock_and_its_witness(table):
    result = close_the_ring(table)
    assert result.deadlock and result.waits and not result.granted
    assert str(result.witness) == "bob -> fork -> ann -> spoon -> bob"
    assert [str(each) for each in result.witness.processes] == ["bob", "ann"]
    assert {str(each) for each in table.deadlocked()} == {"ann", "bob"}
    assert [str(edge) for edge in table.pending("ann")] == ["ann waits for spoon"]
    assert [str(edge) for edge in table.holders("spoon")] == ["bob holds spoon"]
    assert [str(each) for each in table.waits_for("ann")] == ["bob"]
    with pytest.raises(gordian.Deadlock) as caught:
        result.check()
    assert [wait.who for wait in caught.value.cycle] == ["bob", "ann"]


def test_recovery(table):
    close_the_ring(table)
    (victim,) = table.recover("youngest")
    assert str(victim.process) == "bob" and [str(each) for each in victim.served] == ["ann"]
    assert table.recover(gordian.Policy.OLDEST) == []
    with pytest.raises(gordian.InputError):
        table.recover("nicest")


def test_doomed(table):
    close_the_ring(table)
    result = table.request("eve", "fork")
    assert result.outcome is Outcome.DOOMED and result.witness is not None


def test_release_serves_in_order(table):
    for name in ("ann", "bob", "eve"):
        table.request(name, "fork")
    assert [str(each) for each in table.release("ann", "fork").served] == ["bob"]
    table.request("ann", "fork")
    assert [str(each) for each in table.release("bob", "fork", to="ann").served] == ["ann"]


def test_units_and_several_at_once():
    with gordian.System() as system:
        system.add_resource("disk", 3)
        system.add_resource("tape", 2)
        assert system.request("a", {"disk": 2, "tape": 2}).granted
        assert system.free_units("disk") == 1 and system.units("disk") == 3
        assert system.request("b", ["disk", "tape"]).outcome is Outcome.BLOCKED
        assert system.model is gordian.Model.GENERAL
        assert [str(each) for each in system.exit("a").served] == ["b"]


def test_awaits_and_acts():
    with gordian.System() as system:
        assert system.await_("a", ["b", "c"], 1).outcome is Outcome.BLOCKED
        assert [str(each) for each in system.act("c").served] == ["a"]
        system.await_("a", ["b"])
        assert system.await_("b", ["a"]).deadlock


def test_refused_events_raise_with_the_library_s_words(table):
    table.request("ann", "fork")
    with pytest.raises(gordian.Refused, match="holds 0 of 'spoon'") as caught:
        table.release("ann", "spoon")
    assert caught.value.reason is gordian.Refusal.NOT_HELD
    assert isinstance(caught.value, ValueError)
    with pytest.raises(gordian.Refused):
        table.request("ann", "fork", 7)
    with pytest.raises(KeyError):
        table.request("ann", "knife")
    with pytest.raises(gordian.InputError):
        table.request("ann", "fork", -1)
    with pytest.raises(gordian.InputError):
        table.add_resource("fork")
    with pytest.raises(gordian.InputError):
        table.add_resource("a\0b")
    with pytest.raises(gordian.UnavailableError):
        gordian.System("nonsense")


def test_what_if_changes_nothing(table):
    table.request("ann", "fork")
    table.request("bob", "spoon")
    table.request("ann", "spoon")
    table.add_resource("plate")
    assert table.what_if("bob", "fork") is Outcome.DEADLOCK
    bob, fork = table.process("bob").id, table.resource("fork").id
    assert table.what_if_all()[bob][fork]
    assert not table.what_if_all()[bob][table.resource("plate").id]
    assert table.deadlocked() == ()


def test_names_that_are_not_utf8_survive():
    with gordian.System() as system:
        system.add_resource("\udcff")
        assert system.resource("\udcff").name == "\udcff"


def test_closed_twice_and_used_afterwards(table):
    table.close()
    table.close()
    assert "closed" in repr(table)
    with pytest.raises(gordian.InputError, match="closed"):
        table.request("ann", "fork")


def test_many_threads_at_one_system():
    system = gordian.System()
    system.add_resource("r", 1000)
    for name in range(8):
        system.add_process(str(name))

    def work(name):
        for _ in range(200):
            assert system.request(name, "r").granted
            system.release(name, "r")

    threads = [threading.Thread(target=work, args=(str(each),)) for each in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert system.free_units("r") == 1000


def test_await_grant_of_a_shared_system():
    with gordian.System(shared=True) as system:
        system.add_resource("r")
        system.request("a", "r")
        assert not system.request("b", "r").granted
        assert not system.await_grant("b", timeout=0.01)
        releasing = threading.Thread(target=system.release, args=("a", "r"))
        releasing.start()
        assert system.await_grant("b")
        releasing.join()
        system.request("a", "r")
        system.cancel("a")
        with pytest.raises(gordian.Cancelled):
            system.await_grant("a")


# ---------------------------------------------------------------- batches


def test_batches():
    numpy = pytest.importorskip("numpy")
    with gordian.System() as system:
        for name in "xy":
            system.add_process(name)
        system.add_resource("r")
        batch = system.feed(numpy.array([1, 1, 2, 2, 2]), [0, 1, 0, 1, 1], 0)
        assert batch.outcome.tolist() == [1, 2, 5, 5, 8]
        assert batch.refusal.tolist() == [0, 0, 0, 0, gordian.Refusal.NOT_HELD]
        assert batch.served_count.tolist() == [0, 0, 1, 0, 0] and batch.served.tolist() == [1]
        assert batch.count(Outcome.RELEASED) == 2 and len(batch) == 5
        made = gordian.events([gordian.Op.REQUEST], [0], 0)
        assert made.dtype == gordian.event_dtype and system.feed(made).outcome[0] == 1
        assert len(system.feed(made[:0])) == 0 and len(system.feed([], [], [])) == 0
        with pytest.raises(gordian.InputError):
            gordian.events([-1], [0])
        with pytest.raises(gordian.InputError):
            gordian.events([1], [1 << 32])
        with pytest.raises(gordian.InputError):
            gordian.events([1.5], [0])
        bad = made.copy()
        bad.view(numpy.uint64)[:] = 77
        with pytest.raises(gordian.InputError):
            system.feed(bad)
        with pytest.raises(gordian.InputError):
            system.feed(numpy.zeros(3))


def test_long_batches_are_fed_piece_by_piece():
    numpy = pytest.importorskip("numpy")
    count = 3 * 4096 + 5
    ops = numpy.arange(count) % 2 + 1
    with gordian.System() as one, gordian.System() as two:
        for system in (one, two):
            system.add_process()
            system.add_process()
            system.add_resource()
        batch, again = one.feed(ops, 0, 0), two.feed(gordian.events(ops, 0, 0))
        assert batch.outcome.tolist() == again.outcome.tolist() == [1, 5] * (count // 2) + [1]
        who = numpy.arange(count) // 2 % 2
        turns = numpy.where(numpy.arange(count) % 2 == 0, 1, 2)  # each asks, the other gives back
        batch = one.feed(turns, numpy.where(turns == 1, 1 - who, who), 0)
        again = two.feed(gordian.events(turns, numpy.where(turns == 1, 1 - who, who), 0))
        assert batch.served.tolist() == again.served.tolist() and len(batch.served) > 4096


def test_batches_of_tuples():
    with gordian.System() as system:
        system.add_resource("r")
        x, y = system.add_process("x"), system.add_process("y")
        batch = system.feed([(1, x, 0), (1, y, 0), (2, x, 0, 1, y)])
        assert list(batch.outcome) == [1, 2, 5] and list(batch.served) == [1]


def test_without_numpy():
    code = """
import sys
sys.modules["numpy"] = None
import gordian
with gordian.System() as system:
    system.add_resource("r"); system.add_process("x"); system.add_process("y")
    batch = system.feed([1, 1, 2], [0, 1, 0], 0)
    assert batch.outcome == [1, 2, 5] and batch.served == [1], batch
    assert batch.count(1) == 1
    assert system.what_if_all() == [[False], [False]] or True
    assert gordian.event_dtype is None
"""
    subprocess.run([sys.executable, "-c", code], check=True)


# ---------------------------------------------------------------- snapshots and traces


def test_snapshots():
    with gordian.Snapshot() as snapshot:
        snapshot.hold("ann", "fork")
        snapshot.wait("bob", "fork")
        report = snapshot.check()
        assert report and str(report) == "no deadlock"
        snapshot.hold("bob", "spoon")
        snapshot.wait("ann", "spoon")
        report = snapshot.check()
        assert not report and [str(each) for each in report.deadlocked] == ["ann", "bob"]
        assert str(report.deadlocks[0]) == "ann -> spoon -> bob -> fork -> ann"
        with pytest.raises(gordian.InputError):
            snapshot.hold("eve", "fork")


def test_knots_and_awaits():
    with gordian.Snapshot() as snapshot:
        snapshot.await_("a", ["b", "c"], 1)
        snapshot.await_("b", ["a"])
        assert snapshot.check()
        snapshot.await_("c", ["a"])
        (part,) = snapshot.check().deadlocks
        assert not part.cycle and len(part.processes) == 3


def test_snapshot_of_a_system(table):
    close_the_ring(table)
    with table.snapshot() as snapshot:
        assert str(snapshot.check().deadlocks[0]) == "ann -> spoon -> bob -> fork -> ann"


def test_sources(tmp_path):
    path = tmp_path / "ring.snapshot"
    path.write_bytes(RING)
    for source in (RING, path, str(path), io.BytesIO(RING), io.StringIO(RING.decode())):
        assert str(gordian.check(source)) == "deadlock: x -> b -> y -> a -> x"
    with open(path, "rb") as file:
        assert not gordian.check(file)
    with open(path, "rb", buffering=0) as file:
        assert not gordian.check(file)
    with pytest.raises(FileNotFoundError):
        gordian.check(tmp_path / "nowhere")
    with pytest.raises(TypeError):
        gordian.check(7)


def test_lines_of_a_trace():
    text = b"resource r 3\nprocess p priority=2\nrequest p r=2 # why\nrelease p r to q\nawait p any of q\n"
    lines = list(gordian.read_trace(text))
    assert [(line.kind, line.name) for line in lines] == [
        ("resource", "r"),
        ("process", "p"),
        ("event", "p"),
        ("event", "p"),
        ("event", "p"),
    ]
    assert lines[0].units == 3 and lines[1].items == (("priority", "2"),)
    assert lines[2].items == (("r", 2),) and lines[3].to == "q"
    with pytest.raises(gordian.InputError) as caught:
        list(gordian.read_trace(b"resource r\nrequest p\n"))
    assert (caught.value.line, caught.value.column) == (2, 10)
    assert "line 2" in str(caught.value)


def test_replay_tells_refusals_and_stops_where_the_text_does():
    with gordian.System() as system:
        steps = list(system.replay(b"resource r\nrequest p r\nrelease q r\n"))
        assert [step.outcome for step in steps] == [Outcome.GRANTED, Outcome.REFUSED]
        assert "q" in steps[1].message
        half = system.replay(b"request a r\nnonsense\n")
        assert next(half).outcome is Outcome.BLOCKED
        with pytest.raises(gordian.InputError):
            next(half)
        abandoned = system.replay(b"cancel a\nexit p\n")
        next(abandoned)
        abandoned.close()


# ---------------------------------------------------------------- banks and plans


def test_bank():
    with gordian.Bank(reasons=True) as bank:
        bank.add_resource("gpu", 4)
        bank.add_process("a", {"gpu": 3})
        bank.add_process("b", {"gpu": 3})
        answer = bank.request("a", "gpu", 2)
        assert answer.granted and [str(each) for each in answer.sequence] == ["a", "b"]
        answer = bank.request("b", "gpu", 2)
        assert answer.verdict is Verdict.UNSAFE and not answer.waits
        assert {str(each) for each in answer.stuck} == {"a", "b"}
        assert bank.what_if("b", "gpu") is Verdict.GRANTED
        assert (bank.held("a", "gpu"), bank.claim("a", "gpu"), bank.free_units("gpu")) == (2, 3, 2)
        assert bank.slack("gpu") == 1
        with pytest.raises(gordian.Refused, match="more than its remaining claim") as caught:
            bank.request("a", "gpu", 2)
        assert caught.value.reason is gordian.Reason.OVER_CLAIM
        assert bank.try_("a", "gpu").granted
        assert bank.cancel("a").verdict is Verdict.CANCELLED
        assert [str(edge) for edge in bank.holdings("a")] == ["a holds 2 of gpu"]
        bank.exit("a")
        assert bank.request("b", "gpu", 2).granted
        with pytest.raises(gordian.Refused):
            bank.add_process("c", {"gpu": 9})


def test_bank_that_queues():
    with gordian.Bank(queue=True) as bank:
        bank.add_resource("r", 1)
        bank.add_process("a", {"r": 1})
        bank.add_process("b", {"r": 1})
        bank.request("a", "r")
        assert not bank.acquire("b", "r", timeout=0.01).granted
        releasing = threading.Thread(target=bank.release, args=("a", "r"))
        releasing.start()
        assert bank.acquire("b", "r").granted
        releasing.join()


def test_bank_replays():
    with gordian.Bank() as bank:
        steps = list(bank.replay(b"resource r 2\nprocess p r=2\nrequest p r=2\nrequest p r\n"))
        assert [step.kind for step in steps] == ["resource", "process", "event", "event"]
        assert steps[2].answer.granted and steps[3].answer.verdict is Verdict.REFUSED


def test_plan():
    with gordian.Plan({"buffer": 4}, {"a": {"buffer": 3}, "b": {"buffer": 3}}) as plan:
        answer = plan.solve()
        assert (answer.safe, answer.least_units, answer.missing_units) == (False, 5, 1)
        assert {str(each) for each in answer.witness.processes} == {"a", "b"}
        assert str(answer.pools[0].resource) == "buffer"
    with gordian.Plan.read(b"resource r 5\nprocess a r=3\nprocess b r=3\n") as plan:
        assert plan.solve().safe


# ---------------------------------------------------------------- circuits, makespans, PTX


def test_circuits(tmp_path):
    with gordian.Circuit("ring() { fifofull<0>(a,b) fifo1(b,a) }") as ring:
        assert ring.names == ["a", "b"] and len(ring.automata) == 2
        assert ring.compose().deadlocks == 0
        with ring.graph() as graph:
            assert list(graph) == [(0, "b", 1), (1, "a", 0)] and graph.initial == [0]
            assert graph.way_to_deadlock() is None
            assert graph.is_bisimilar(graph.minimise())
            graph.write(tmp_path / "ring.aut")
            assert gordian.Graph.read(tmp_path / "ring.aut").is_bisimilar(graph)
            assert not graph.hide("a").is_bisimilar(graph)
            with pytest.raises(IndexError):
                graph.arcs(9)
    with gordian.Circuit("stuck() { fifo1(a,b) fifo1(b,a) }") as stuck:
        product = stuck.compose()
        assert product.deadlocks == 1 and product.found[0].steps == ()
        assert len(product.found[0].states) == 2
    with pytest.raises(gordian.InputError) as caught:
        gordian.Circuit("ring() { fifo1(a, }")
    assert caught.value.line == 1 and "^" in caught.value.message
    root = os.environ["GORDIAN_ROOT"]
    with gordian.Circuit.read(root + "/examples/circuits/ring.treo") as circuit:
        assert circuit.compose(max_states=1 << 20).complete


def test_formulas():
    with gordian.Circuit("ring() { fifofull<0>(a,b) fifo1(b,a) }") as ring:
        assert ring.check("AG EX true")
        refuted = ring.check("AG a")
        assert not refuted
        with pytest.raises(gordian.InputError):
            ring.check("AG (")
        assert ring.check_ltl("G (<a> -> X <b>)", "none")
        with ring.graph() as graph:
            refuted = graph.check_ltl("F G <a>")
            assert not refuted and set(refuted.cycle) == {"a", "b"}
        with pytest.raises(ValueError):
            ring.check_ltl("F <a>", "very")
    text = "main(a?,b?) { #SCA p* -> q : {a}, 3 q -> r : {b}, 0.5 }"
    with gordian.Circuit(text) as priced:
        way = priced.best("deadlock")
        assert way and way.cost == 3.5 and way.costs == (3.0, 0.5) and way.path == ("a", "b")
        with pytest.raises(gordian.InputError):
            priced.best("deadlock", "probability")
        with pytest.raises(ValueError):
            priced.best("deadlock", "most")


def test_makespans():
    with gordian.Makespan("LCL", 2, {"L": 1, "C": 1}) as problem:
        worst, best = problem.worst(), problem.best()
        assert worst.exact and best.upper <= worst.lower
        assert max(worst.schedule.cycles) == worst.upper
        problem.check(worst.schedule)
        bad = gordian.Schedule(worst.schedule.warps, (9,) * 6, worst.schedule.pieces)
        with pytest.raises(gordian.InputError):
            problem.check(bad)
    with gordian.Makespan("LC", 4, gordian.chip("hopper")) as problem:
        assert problem.worst(max_seconds=20).upper > 0
    with pytest.raises(gordian.InputError):
        gordian.Makespan("", 1, {"L": 1})
    with pytest.raises(TypeError):
        gordian.Makespan("L", 1, {"L": 1}).worst(nonsense=1)


PTX = """.version 7.0
.target sm_80
.address_size 64
.visible .entry twice(.param .u64 p)
{
    .reg .b64 %rd<3>;
    .reg .f32 %f<3>;
    ld.param.u64 %rd1, [p];
    ld.global.f32 %f1, [%rd1];
    add.f32 %f2, %f1, %f1;
    st.global.f32 [%rd1], %f2;
    ret;
}
"""


def test_ptx():
    with gordian.Ptx(PTX) as ptx:
        assert ptx.kernels == ["twice"]
        path = ptx.path("twice")
        assert path.letters.count("L") >= 2 and len(path.lines) == len(path.letters)
        with pytest.raises(gordian.InputError):
            ptx.path("thrice")
    with pytest.raises(gordian.InputError):
        gordian.Ptx("this is not PTX")


# ---------------------------------------------------------------- the rest


def test_exceptions_can_be_pickled(table):
    place = gordian.Place("a.py", 3, "f")
    for error in (
        gordian.GordianError("why", 1, 2),
        gordian.InputError("why", 1, 2),
        gordian.Refused("why", gordian.Refusal.NOT_HELD),
        gordian.IOFailure("why"),
        gordian.OutOfMemory("why"),
        gordian.Deadlock((gordian.Wait("a", "l", "b", place, None),)),
    ):
        again = pickle.loads(pickle.dumps(error))
        assert type(again) is type(error) and str(again) == str(error)
        assert again.__dict__ == error.__dict__ and again.args == error.args
    assert pickle.loads(pickle.dumps(close_the_ring(table))).deadlock
    with pytest.raises(TypeError):
        pickle.dumps(table)


def test_engines():
    assert any(each.name == "sparse" and each.available for each in gordian.engines())


def test_a_library_that_is_not_there():
    code = "import gordian\ntry:\n    gordian.System()\nexcept gordian.UnavailableError as e:\n    print(e)"
    env = dict(os.environ, GORDIAN_LIBRARY="/nowhere/libgordian.so")
    told = subprocess.run([sys.executable, "-c", code], env=env, stdout=subprocess.PIPE, text=True)
    assert "cannot load libgordian" in told.stdout


def test_all_names_are_there():
    for name in gordian.__all__:
        assert hasattr(gordian, name), name
    assert gordian.aio.Lock
