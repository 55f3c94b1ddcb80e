import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Forces, Rank, weights } from '../src/layout/forces';
import { Random } from './tools';

function scatter(count: number, options = {}): Forces {
    const random = new Random(count + 1);
    const forces = new Forces(options);
    forces.resize(count);
    for (let i = 0; i < count; i++) {
        forces.rank[i] = i % 2 ? Rank.alone : Rank.connected;
        forces.x[i] = random.below(100000) / 50;
        forces.y[i] = random.below(100000) / 50;
    }
    forces.setEdges(new Uint32Array(0));
    return forces;
}

/** What every other node does to node i, one by one. */
function exactly(forces: Forces, i: number): [number, number] {
    let [fx, fy] = [0, 0];
    for (let j = 0; j < forces.count; j++) {
        if (j !== i && forces.rank[j]) {
            const dx = forces.x[i]! - forces.x[j]!;
            const dy = forces.y[i]! - forces.y[j]!;
            const d2 = dx * dx + dy * dy;
            const force =
                (forces.options.repulsion * weights[forces.rank[j]!]!) / (d2 < 1 ? Math.sqrt(d2) : d2);
            fx += dx * force;
            fy += dy * force;
        }
    }
    return [fx, fy];
}

/** The velocities after one step are the forces but for friction. */
function compare(forces: Forces): number {
    const expected = Array.from({ length: forces.count }, (_, i) => exactly(forces, i));
    forces.step(1);
    let error = 0;
    let whole = 0;
    expected.forEach(([fx, fy], i) => {
        let [vx, vy] = [fx * 0.62, fy * 0.62];
        const speed = Math.hypot(vx, vy);
        if (speed > 60) {
            vx *= 60 / speed;
            vy *= 60 / speed;
        }
        error += Math.hypot(forces.vx[i]! - vx, forces.vy[i]! - vy);
        whole += Math.hypot(vx, vy);
    });
    return error / whole;
}

test('with every group opened the tree gives the exact forces', () => {
    assert.ok(compare(scatter(300, { theta: 0, gravity: 0 })) < 1e-4);
});

test('with groups the error stays small', () => {
    const error = compare(scatter(2000, { gravity: 0 }));
    assert.ok(error < 0.06, `${(error * 100).toFixed(1)} %`);
});

test('nodes that are not there neither push nor move', () => {
    const forces = scatter(50, { gravity: 0 });
    for (let i = 0; i < 50; i += 2) {
        forces.rank[i] = Rank.none;
    }
    const still = forces.x[0]!;
    assert.ok(compare(scatter(50, { theta: 0, gravity: 0 })) < 1e-4);
    forces.step(1);
    assert.equal(forces.x[0], still);
});

test('many nodes at one place part', () => {
    const forces = new Forces();
    forces.resize(200);
    forces.rank.fill(Rank.connected, 0, 200);
    forces.setEdges(new Uint32Array(0));
    for (let i = 0; i < 100; i++) {
        forces.step(0.5);
    }
    const places = new Set(
        Array.from({ length: 200 }, (_, i) => `${forces.x[i]!.toFixed(2)},${forces.y[i]!.toFixed(2)}`),
    );
    assert.equal(places.size, 200);
    assert.ok(Array.from(forces.x.subarray(0, 200)).every(Number.isFinite));
});

test('an edge settles near its length, and a ring opens', () => {
    const n = 12;
    const forces = scatter(n);
    const edges = new Uint32Array(2 * n);
    for (let i = 0; i < n; i++) {
        edges[2 * i] = i;
        edges[2 * i + 1] = (i + 1) % n;
    }
    forces.setEdges(edges);
    for (let i = 0, alpha = 1; i < 500; i++, alpha *= 0.985) {
        forces.step(alpha);
    }
    const lengths = Array.from({ length: n }, (_, i) =>
        Math.hypot(forces.x[i]! - forces.x[(i + 1) % n]!, forces.y[i]! - forces.y[(i + 1) % n]!),
    );
    assert.ok(
        Math.min(...lengths) > forces.options.length * 0.6 &&
            Math.max(...lengths) < forces.options.length * 2.5,
        lengths.join(' '),
    );
    const across = Math.hypot(forces.x[0]! - forces.x[6]!, forces.y[0]! - forces.y[6]!);
    assert.ok(across > Math.max(...lengths) * 1.5, `${across} across`);
});

test('a node that is held stays', () => {
    const forces = scatter(20);
    forces.fixed[3] = 1;
    const [x, y] = [forces.x[3], forces.y[3]];
    for (let i = 0; i < 20; i++) {
        forces.step(1);
    }
    assert.deepEqual([forces.x[3], forces.y[3]], [x, y]);
});

test('the cost of a step grows about as the number of nodes, not as its square', () => {
    const looks = (count: number) => {
        const forces = scatter(count);
        forces.step(1);
        return forces.looks;
    };
    const [few, many] = [looks(1000), looks(8000)];
    assert.ok(many / few < 14, `8 times the nodes take ${(many / few).toFixed(1)} times as much`);
    assert.ok(many < 8000 * 300, `${many / 8000} cells a node`);
});
