// Runs the layout in a worker, so that the page stays responsive while a large graph settles.

import { Forces } from './forces';

export interface Topology {
    type: 'topology';
    rank: Uint8Array;
    edges: Uint32Array;
    /** Initial positions of new nodes: slot, x, y. */
    placed: Float32Array;
    heat: number;
}

export type Order =
    | Topology
    | { type: 'pin'; slot: number; x: number; y: number }
    | { type: 'unpin'; slot: number }
    | { type: 'spare'; positions: Float32Array };

export interface Positions {
    positions: Float32Array; // x, y by slot
    moving: boolean;
    stepMs: number;
}

const forces = new Forces();
const spares: Float32Array[] = [];
let alpha = 0;
let running = false;
let pinned = 0;

const coldest = 0.004;

function take(order: Topology): void {
    forces.resize(order.rank.length);
    forces.rank.set(order.rank);
    for (let i = 0; i + 2 < order.placed.length; i += 3) {
        const slot = order.placed[i]!;
        forces.x[slot] = order.placed[i + 1]!;
        forces.y[slot] = order.placed[i + 2]!;
        forces.vx[slot] = 0;
        forces.vy[slot] = 0;
        forces.fixed[slot] = 0;
    }
    forces.setEdges(order.edges);
    alpha = Math.max(alpha, order.heat);
}

function report(moving: boolean, stepMs: number): void {
    let positions = spares.pop();
    if (!positions || positions.length < forces.count * 2) {
        positions = new Float32Array(forces.count * 2 + 64);
    }
    for (let i = 0; i < forces.count; i++) {
        positions[2 * i] = forces.x[i]!;
        positions[2 * i + 1] = forces.y[i]!;
    }
    const message: Positions = { positions, moving, stepMs };
    postMessage(message, { transfer: [positions.buffer] });
}

function turn(): void {
    const started = performance.now();
    let steps = 0;
    // Many cheap steps per report for a small graph, one step for a large one.
    do {
        forces.step(alpha);
        alpha += ((pinned > 0 ? 0.15 : 0) - alpha) * 0.022;
        steps++;
    } while (performance.now() - started < 6 && steps < 4 && alpha > coldest);
    running = alpha > coldest || pinned > 0;
    const spent = performance.now() - started;
    report(running, spent / steps);
    if (running) {
        setTimeout(turn, Math.max(0, 16 - spent));
    }
}

function wake(): void {
    if (!running) {
        running = true;
        setTimeout(turn, 0);
    }
}

onmessage = (event: MessageEvent<Order>) => {
    const order = event.data;
    switch (order.type) {
        case 'topology':
            take(order);
            wake();
            break;
        case 'pin':
            if (!forces.fixed[order.slot]) {
                pinned++;
            }
            forces.fixed[order.slot] = 1;
            forces.x[order.slot] = order.x;
            forces.y[order.slot] = order.y;
            alpha = Math.max(alpha, 0.12);
            wake();
            break;
        case 'unpin':
            if (forces.fixed[order.slot]) {
                pinned--;
            }
            forces.fixed[order.slot] = 0;
            break;
        case 'spare':
            if (spares.length < 3) {
                spares.push(order.positions);
            }
            break;
    }
};
