import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Graph } from '../src/graph';
import { ring } from '../src/view/ring';

const near = (a: number, b: number) => Math.abs(a - b) < 1e-6;

test('a ring that is one already stays', () => {
    for (const way of [1, -1]) {
        const at = Array.from({ length: 6 }, (_, i) => 0.7 + (way * 2 * Math.PI * i) / 6);
        const [x, y] = [at.map((turn) => 5 + 48 * Math.cos(turn)), at.map((turn) => 9 + 48 * Math.sin(turn))];
        ring(x, y, 48).forEach(([px, py], i) =>
            assert.ok(near(px, x[i]!) && near(py, y[i]!), `${i} of ${way}`),
        );
    }
});

test('a twisted one opens: neighbours are as far apart as they should be', () => {
    const places = ring([0, 10, 0, 10], [0, 10, 10, 0], 48);
    places.forEach(([x, y], i) => {
        const [nx, ny] = places[(i + 1) % 4]!;
        assert.ok(near(Math.hypot(nx - x, ny - y), 48));
    });
});

test('circles are found, and only where there is one way on', () => {
    const graph = new Graph();
    for (let i = 0; i < 6; i++) {
        graph.addProcess(i, `p${i}`);
        graph.addResource(i, `q${i}`, i === 5 ? 2 : 1);
    }
    for (let i = 0; i < 3; i++) {
        graph.apply(['+h', i, i, 1]);
    }
    for (let i = 0; i < 3; i++) {
        assert.equal(graph.circles().length, 0);
        graph.apply(['+w', i, (i + 1) % 3, 1]);
    }
    graph.apply(['+w', 3, 0, 1]); // behind it
    assert.deepEqual(
        graph.circles().map((circle) => circle.map((one) => one.name)),
        [['p0', 'q1', 'p1', 'q2', 'p2', 'q0']],
    );
    // Two hold what one waits for, and wait for it: a knot, not a circle.
    graph.apply(['+h', 4, 5, 1]);
    graph.apply(['+h', 5, 5, 1]);
    graph.apply(['+h', 3, 4, 1]);
    graph.apply(['-w', 3, 0, 1]);
    graph.apply(['+w', 4, 4, 1]);
    graph.apply(['+w', 5, 4, 1]);
    graph.apply(['+w', 3, 5, 1]);
    assert.equal(graph.dead().length, 6);
    assert.equal(graph.circles().length, 1);
});
