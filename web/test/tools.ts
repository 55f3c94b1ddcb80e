// What the tests share: random numbers from a seed, and the plainest judge there is.

import type { Effect } from '../src/api';
import type { Graph, Process } from '../src/graph';

export class Random {
    constructor(private state: number) {}

    /** 0 .. n - 1 (xorshift, 32 bits) */
    below(n: number): number {
        this.state ^= this.state << 13;
        this.state ^= this.state >>> 17;
        this.state ^= this.state << 5;
        return (this.state >>> 0) % n;
    }
}

/** Lets everybody who can finish, round by round, and tells who is left. */
export function plainlyLeft(graph: Graph): Set<Process> {
    const work = new Map([...graph.resources.values()].map((one) => [one.id, one.free]));
    const left = new Set(graph.processes.values());
    for (let again = true; again;) {
        again = false;
        for (const process of left) {
            if ([...process.waits].every(([id, units]) => work.get(id)! >= units)) {
                left.delete(process);
                process.holds.forEach((units, id) => work.set(id, work.get(id)! + units));
                again = true;
            }
        }
    }
    return left;
}

/** A list of effects as events make them: units are free when taken, waits end when served or given up. */
export function randomHistory(graph: Graph, random: Random, length: number): Effect[][] {
    const events: Effect[][] = [];
    for (let i = 0; i < length; i++) {
        const process = graph.processes.get(random.below(graph.processes.size))!;
        const resource = graph.resources.get(random.below(graph.resources.size))!;
        const effects: Effect[] = [];
        const units = 1 + random.below(resource.units);
        if (process.waits.size > 0) {
            if (random.below(3) === 0) {
                process.waits.forEach((n, id) => effects.push(['-w', process.id, id, n]));
            }
        } else if (process.holds.has(resource.id) && random.below(2) === 0) {
            effects.push(['-h', process.id, resource.id, process.holds.get(resource.id)!]);
        } else if (resource.free >= units) {
            effects.push(['+h', process.id, resource.id, units]);
        } else {
            effects.push(['+w', process.id, resource.id, units]);
            const other = graph.resources.get(random.below(graph.resources.size))!;
            if (other !== resource && random.below(4) === 0) {
                effects.push(['+w', process.id, other.id, 1]);
            }
        }
        for (const effect of effects) {
            graph.apply(effect, null);
        }
        events.push(effects);
    }
    return events;
}

/** Everything about a graph that effects can change, as text. */
export function picture(graph: Graph): string {
    const sorted = (edges: Map<number, number>) => [...edges].sort((a, b) => a[0] - b[0]);
    return JSON.stringify([
        [...graph.processes.values()].map((one) => [one.id, sorted(one.holds), sorted(one.waits)]),
        [...graph.resources.values()].map((one) => [
            one.id,
            one.free,
            [...one.holders].sort(),
            [...one.waiters].sort(),
        ]),
    ]);
}
