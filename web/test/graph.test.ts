import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Effect, GraphData } from '../src/api';
import { ahead, behind, Graph, neighbours, type Node } from '../src/graph';
import { picture, plainlyLeft, Random, randomHistory } from './tools';

function empty(processes: number, resources: number, units: (i: number) => number): Graph {
    const graph = new Graph();
    for (let i = 0; i < processes; i++) {
        graph.addProcess(i, `p${i}`);
    }
    for (let i = 0; i < resources; i++) {
        graph.addResource(i, `q${i}`, units(i));
    }
    return graph;
}

/** Two who wait for each other, one behind them, one who runs. */
function knot(): Graph {
    const graph = empty(4, 3, () => 1);
    graph.apply(['+h', 0, 0, 1]);
    graph.apply(['+h', 1, 1, 1]);
    graph.apply(['+w', 0, 1, 1]);
    graph.apply(['+h', 3, 2, 1]);
    graph.apply(['+w', 2, 0, 1]);
    return graph;
}

test('a deadlock is found when it closes and is gone when somebody gives way', () => {
    const graph = knot();
    assert.equal(graph.judge(), 0);
    graph.apply(['+w', 1, 0, 1]);
    assert.deepEqual(
        graph.dead().map((one) => one.name),
        ['p0', 'p1', 'p2'],
    );
    graph.apply(['-w', 1, 0, 1]);
    assert.equal(graph.judge(), 0);
});

test('those in the knot are told apart from those behind it', () => {
    const graph = knot();
    graph.apply(['+w', 1, 0, 1]);
    graph.judge();
    const core = [...graph.processes.values(), ...graph.resources.values()].filter((one) => one.core);
    assert.deepEqual(core.map((one) => one.name).sort(), ['p0', 'p1', 'q0', 'q1']);
    assert.equal(graph.processes.get(2)!.dead, true);
    assert.equal(graph.processes.get(2)!.core, false);
});

test('the same answers as plain reduction, on random histories of several units', () => {
    let deadlocks = 0;
    for (let seed = 1; seed <= 400; seed++) {
        const random = new Random(seed * 2654435761);
        const graph = empty(2 + random.below(8), 1 + random.below(6), () => 1 + random.below(3));
        for (let i = 0; i < 30; i++) {
            randomHistory(graph, random, 1);
            const expected = [...plainlyLeft(graph)].map((one) => one.name);
            assert.deepEqual(
                graph.dead().map((one) => one.name),
                expected,
                `seed ${seed}, event ${i}`,
            );
            deadlocks += expected.length > 0 ? 1 : 0;
        }
    }
    assert.ok(deadlocks > 500, `only ${deadlocks} states had a deadlock`);
});

/** Can one get from a node back to itself, along waits and holders among the dead? By trying. */
function comesBack(graph: Graph, start: Node): boolean {
    const seen = new Set<Node>();
    const queue: Node[] = [start];
    for (let node = queue.pop(); node; node = queue.pop()) {
        const next: (Node | undefined)[] =
            node.kind === 'process'
                ? [...node.waits.keys()].map((id) => graph.resources.get(id))
                : [...node.holders].map((id) => graph.processes.get(id));
        for (const one of next) {
            if (one === start) {
                return true;
            }
            if (one?.dead && !seen.has(one)) {
                seen.add(one);
                queue.push(one);
            }
        }
    }
    return false;
}

test('a knot is whoever can be reached from itself, on random histories', () => {
    let cores = 0;
    for (let seed = 1; seed <= 300; seed++) {
        const random = new Random(seed * 40503 + 7);
        const graph = empty(3 + random.below(9), 2 + random.below(5), () => 1 + random.below(2));
        randomHistory(graph, random, 40);
        graph.judge();
        for (const node of [...graph.processes.values(), ...graph.resources.values()]) {
            assert.equal(node.core, node.dead && comesBack(graph, node), `seed ${seed}, ${node.name}`);
            cores += node.core ? 1 : 0;
        }
    }
    assert.ok(cores > 100);
});

test('undoing every effect backwards brings the graph back', () => {
    for (let seed = 1; seed <= 200; seed++) {
        const random = new Random(seed * 97 + 13);
        const graph = empty(6, 5, () => 1 + random.below(4));
        randomHistory(graph, random, 20);
        const before = picture(graph);
        const events = randomHistory(graph, random, 25);
        for (const effects of events.reverse()) {
            for (const effect of [...effects].reverse()) {
                graph.undo(effect);
            }
        }
        assert.equal(picture(graph), before, `seed ${seed}`);
    }
});

test('in a graph that is not complete the service’s marks count, and end with the wait', () => {
    const data: GraphData = {
        system: 's',
        seq: 5,
        processes: [{ id: 7, name: 'a', waiting: true, deadlocked: true, since_ms: 1000 }],
        resources: [{ id: 3, name: 'q', units: 1, free: 0 }],
        edges: [{ process: 7, resource: 3, units: 1, waits: true }],
        truncated: true,
    };
    const graph = Graph.from(data);
    assert.deepEqual(
        graph.dead().map((one) => one.name),
        ['a'],
    );
    graph.apply(['-w', 7, 3, 1]);
    assert.equal(graph.judge(), 0);
    graph.apply(['+w', 7, 3, 1]);
    assert.equal(graph.judge(), 0);
    // Complete, and the holder of q is nobody: whoever it was must run.
    assert.equal(Graph.from({ ...data, truncated: false }).judge(), 0);
});

test('effects that name somebody unknown are counted', () => {
    const graph = knot();
    graph.apply(['+h', 99, 2, 1]);
    assert.equal(graph.strangers, 1);
    assert.equal(graph.processes.get(99)!.name, 'process #99');
    graph.learn({ processes: { 99: 'late' }, resources: { 8: { name: 'new', units: 4 } } });
    assert.equal(graph.find('late')!.id, 99);
    assert.equal(graph.resources.get(8)!.free, 4);
});

test('what lies ahead of and behind a node', () => {
    const graph = knot();
    const names = (nodes: Set<Node>) => [...nodes].map((one) => one.name).sort();
    assert.deepEqual(names(ahead(graph, graph.processes.get(2)!)), ['p0', 'p1', 'p2', 'q0', 'q1']);
    assert.deepEqual(names(behind(graph, graph.processes.get(1)!)), ['p0', 'p1', 'p2', 'q0', 'q1']);
    assert.deepEqual(names(behind(graph, graph.processes.get(3)!)), ['p3']);
});

test('a chain of a hundred thousand does not overflow anything', () => {
    const n = 100000;
    const graph = empty(n, n, () => 1);
    for (let i = 0; i < n; i++) {
        graph.apply(['+h', i, i, 1], null);
        graph.apply(['+w', i, (i + 1) % n, 1], null);
    }
    assert.equal(graph.judge(), n);
    assert.equal(
        [...graph.processes.values()].every((one) => one.core),
        true,
    );
});

test('an await is acts of others: it comes, lessens with each act, and goes; back and forth', () => {
    const graph = empty(4, 0, () => 1);
    const steps: Effect[] = [
        ['+h', 1, 7, 1, 1], // p0 awaits 2 of p1, p2, p3
        ['+h', 2, 7, 1, 1],
        ['+h', 3, 7, 1, 1],
        ['+w', 0, 7, 2, 1],
        ['-h', 1, 7, 1, 1], // p1 acts
        ['-w', 0, 7, 1, 1],
        ['+h', 0, 8, 1, 1], // p2 and p3 await p0: nobody is left to act
        ['+w', 2, 8, 1, 1],
        ['+h', 0, 9, 1, 1],
        ['+w', 3, 9, 1, 1],
    ];
    const dead = steps.map((step) => {
        graph.apply(step);
        return graph.judge();
    });
    assert.deepEqual(dead, [0, 0, 0, 0, 0, 0, 0, 0, 0, 3]);
    assert.deepEqual(
        neighbours(graph, graph.processes.get(0)!).map((one) => one.name),
        ['p2', 'p3', 'p2', 'p3'],
    );
    assert.equal(graph.strangers, 0);
    assert.deepEqual(
        graph.circles().map((circle) => circle.length),
        [],
    );
    for (const step of [...steps].reverse()) {
        graph.undo(step);
    }
    assert.equal(graph.resources.size, 0);
    assert.equal([...graph.processes.values()].filter((one) => one.waits.size + one.holds.size > 0).length, 0);
});
