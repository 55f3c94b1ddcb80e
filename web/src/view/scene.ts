// A scene: the visible part of a graph with its positions, in flat arrays for the drawing loop. Each scene has its
// own layout, so that the whole graph keeps its positions while a part of it is in view.

import { keyOf, neighbours, type Graph, type Node, type Process } from '../graph';
import { defaults, Rank } from '../layout/forces';
import type { Order, Positions, Topology } from '../layout/worker';
import { ring } from './ring';

/** Style of a node; also the order of drawing. */
export const enum Look {
    idle,
    busy,
    waiting,
    doomed, // blocked behind a deadlock
    dead, // in a deadlock
}

/** Initial position of the i-th node of a group: a ring for few nodes, which fits a cycle; a spiral for many. */
function around(i: number, count: number): [number, number] {
    if (count <= 60) {
        const radius = count === 1 ? 0 : (count * 44) / (2 * Math.PI);
        const turn = (i / count) * 2 * Math.PI;
        return [radius * Math.cos(turn), radius * Math.sin(turn)];
    }
    const turn = Math.sqrt(4 * Math.PI * (i + 1));
    return [(44 * turn * Math.cos(turn)) / (2 * Math.PI), (44 * turn * Math.sin(turn)) / (2 * Math.PI)];
}

export type Filter = (node: Node) => boolean;

export class Scene {
    /** By slot; null where a slot is free. */
    nodes: (Node | null)[] = [];
    looks = new Uint8Array(0);
    round = new Uint8Array(0); // 1: a process
    /** Displayed positions, which glide towards those of the worker. */
    x = new Float32Array(0);
    y = new Float32Array(0);
    /** from, to by slot, in the direction of the arrow: resource to holder, process to resource. */
    links = new Uint32Array(0);
    linkWaits = new Uint8Array(0);
    /** 2: of a deadlock; 1: behind one. */
    linkDead = new Uint8Array(0);
    linkUnits: number[] = [];
    count = 0;
    moving = false;
    stepMs = 0;
    /** Called when a redraw is needed. */
    changed: () => void = () => {};
    private readonly slots = new Map<string, number>();
    private readonly free: number[] = [];
    private target = new Float32Array(0);
    private worker: Worker;
    private seen = -1;
    private shape = 0;
    private settled = false;
    private deadBefore = 0;
    private untangled = new Set<string>();

    constructor(
        public graph: Graph,
        private filter: Filter = () => true,
        private readonly seed?: Scene,
        /** Edges that shape the layout even if they do not exist now, as pairs of node keys. */
        private readonly lasting: [string, string][] = [],
    ) {
        this.worker = new Worker(new URL('../layout/worker.ts', import.meta.url), { type: 'module' });
        this.worker.onmessage = (event: MessageEvent<Positions>) => this.take(event.data);
        this.refresh(true);
    }

    close(): void {
        this.worker.terminate();
    }

    slotOf(node: Node | null): number {
        return node ? (this.slots.get(keyOf(node)) ?? -1) : -1;
    }

    setFilter(filter: Filter): void {
        this.filter = filter;
        this.refresh(true);
    }

    setGraph(graph: Graph): void {
        this.graph = graph;
        this.refresh(true);
    }

    /** Synchronizes with the graph; cheap when nothing has changed. */
    refresh(force = false): void {
        if (!force && this.seen === this.graph.version) {
            return;
        }
        this.seen = this.graph.version;
        this.graph.judge();
        const placed = this.place();
        this.look();
        this.connect();
        placed.push(...this.untangle());
        const shape = this.digest();
        if (placed.length > 0 || shape !== this.shape || force) {
            this.shape = shape;
            this.send(placed);
        }
        this.changed();
    }

    pin(slot: number, x: number, y: number): void {
        this.x[slot] = x;
        this.y[slot] = y;
        this.target[2 * slot] = x;
        this.target[2 * slot + 1] = y;
        this.order({ type: 'pin', slot, x, y });
        this.changed();
    }

    unpin(slot: number): void {
        this.order({ type: 'unpin', slot });
    }

    /** Moves the displayed positions towards their targets; false when they are reached. */
    glide(): boolean {
        let longest = 0;
        for (let i = 0; i < this.nodes.length; i++) {
            const dx = this.target[2 * i]! - this.x[i]!;
            const dy = this.target[2 * i + 1]! - this.y[i]!;
            this.x[i]! += dx * 0.35;
            this.y[i]! += dy * 0.35;
            longest = Math.max(longest, Math.abs(dx), Math.abs(dy));
        }
        return longest > 0.05;
    }

    /** The bounding box of all visible nodes, or of those for which `only` holds. */
    bounds(
        only?: (slot: number) => boolean,
    ): { left: number; top: number; right: number; bottom: number } | null {
        let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
        for (let i = 0; i < this.nodes.length; i++) {
            if (!this.nodes[i] || (only && !only(i))) {
                continue;
            }
            const x = this.target[2 * i]!;
            const y = this.target[2 * i + 1]!;
            left = Math.min(left, x);
            right = Math.max(right, x);
            top = Math.min(top, y);
            bottom = Math.max(bottom, y);
        }
        return left === Infinity ? null : { left, top, right, bottom };
    }

    private order(order: Order, transfer: Transferable[] = []): void {
        this.worker.postMessage(order, transfer);
    }

    private take({ positions, moving, stepMs }: Positions): void {
        const known = Math.min(this.nodes.length * 2, positions.length);
        this.target.set(positions.subarray(0, known));
        if (!this.settled) {
            // No animation for the first picture.
            for (let i = 0; i < known / 2; i++) {
                this.x[i] = positions[2 * i]!;
                this.y[i] = positions[2 * i + 1]!;
            }
            this.settled = true;
        }
        this.moving = moving;
        this.stepMs = stepMs;
        this.order({ type: 'spare', positions }, [positions.buffer]);
        this.changed();
    }

    /** Allocates slots for new nodes and frees those of removed nodes. Returns the initial positions. */
    private place(): number[] {
        const here = new Set<string>();
        const fresh: Node[] = [];
        for (const nodes of [this.graph.processes, this.graph.resources]) {
            for (const node of nodes.values()) {
                if (!this.filter(node) || (node.kind === 'resource' && node.await)) {
                    continue;
                }
                const key = keyOf(node);
                here.add(key);
                const slot = this.slots.get(key);
                if (slot === undefined) {
                    fresh.push(node);
                } else {
                    this.nodes[slot] = node;
                }
            }
        }
        for (const [key, slot] of this.slots) {
            if (!here.has(key)) {
                this.slots.delete(key);
                this.nodes[slot] = null;
                this.free.push(slot);
            }
        }
        this.count = here.size;
        const placed: number[] = [];
        let area = 0;
        for (const group of this.groups(fresh)) {
            // Each group gets its own disc; the discs are arranged on a spiral.
            const space = group.length * 44 * 44 * 1.6;
            const distance = area === 0 ? 0 : Math.sqrt((area + space / 2) / Math.PI);
            const turn = placed.length * 2.399963;
            area += space;
            const [x, y] = [distance * Math.cos(turn), distance * Math.sin(turn)];
            group.forEach((node, i) => {
                const [dx, dy] = around(i, group.length);
                placed.push(...this.settle(node, x + dx, y + dy));
            });
        }
        return placed;
    }

    /** Groups of connected nodes, with neighbors in sequence, so that they start close together. */
    private groups(fresh: Node[]): Node[][] {
        const left = new Set(fresh);
        const groups: Node[][] = [];
        for (const start of fresh) {
            const group: Node[] = [];
            const stack: Node[] = [start];
            for (let node = stack.pop(); node; node = stack.pop()) {
                if (!left.delete(node)) {
                    continue;
                }
                group.push(node);
                for (const next of neighbours(this.graph, node)) {
                    if (left.has(next)) {
                        stack.push(next);
                    }
                }
            }
            if (group.length > 0) {
                groups.push(group);
            }
        }
        return groups.sort((a, b) => b.length - a.length);
    }

    private settle(node: Node, x: number, y: number): [number, number, number] {
        const slot = this.free.pop() ?? this.nodes.length;
        this.nodes[slot] = node;
        this.slots.set(keyOf(node), slot);
        this.widen(slot + 1);
        [x, y] = this.known(node, slot) ?? [x, y];
        this.x[slot] = this.target[2 * slot] = x;
        this.y[slot] = this.target[2 * slot + 1] = y;
        return [slot, x, y];
    }

    /** Its position in the previous scene, or next to a neighbor that has a position. */
    private known(node: Node, slot: number): [number, number] | null {
        const before = this.seed?.slotOf(node) ?? -1;
        if (before >= 0 && this.seed) {
            return [this.seed.x[before]!, this.seed.y[before]!];
        }
        if (this.settled) {
            for (const near of neighbours(this.graph, node)) {
                const other = this.slotOf(near);
                if (other >= 0 && other !== slot) {
                    return this.outside(other, slot);
                }
            }
        }
        return null;
    }

    /** A place next to a node, on the side without neighbors. */
    private outside(near: number, slot: number): [number, number] {
        let [dx, dy] = [0.1 * Math.cos(slot * 2.4), 0.1 * Math.sin(slot * 2.4)];
        const [x, y] = [this.target[2 * near]!, this.target[2 * near + 1]!];
        for (let i = 0; i + 1 < this.links.length; i += 2) {
            const [a, b] = [this.links[i]!, this.links[i + 1]!];
            if (a === near || b === near) {
                const other = a === near ? b : a;
                dx += x - this.target[2 * other]!;
                dy += y - this.target[2 * other + 1]!;
            }
        }
        const far = Math.hypot(dx, dy) || 1;
        return [x + (dx / far) * defaults.length, y + (dy / far) * defaults.length];
    }

    private widen(count: number): void {
        if (count <= this.x.length) {
            return;
        }
        const room = Math.max(256, count * 2);
        const grow = <T extends Float32Array | Uint8Array>(old: T, length: number): T => {
            const wider = new (old.constructor as new (n: number) => T)(length);
            wider.set(old as never);
            return wider;
        };
        this.x = grow(this.x, room);
        this.y = grow(this.y, room);
        this.target = grow(this.target, room * 2);
        this.looks = grow(this.looks, room);
        this.round = grow(this.round, room);
    }

    private look(): void {
        for (let slot = 0; slot < this.nodes.length; slot++) {
            const node = this.nodes[slot];
            if (!node) {
                continue;
            }
            this.round[slot] = node.kind === 'process' ? 1 : 0;
            if (node.dead) {
                this.looks[slot] = node.core ? Look.dead : Look.doomed;
            } else if (node.kind === 'process') {
                this.looks[slot] =
                    node.waits.size > 0 ? Look.waiting : node.holds.size > 0 ? Look.busy : Look.idle;
            } else {
                this.looks[slot] =
                    node.waiters.size > 0 ? Look.waiting : node.holders.size > 0 ? Look.busy : Look.idle;
            }
        }
    }

    private connect(): void {
        const grade = (process: Process, other: Node | undefined) =>
            !process.dead || !other?.dead ? 0 : process.core && other.core ? 2 : 1;
        const links: number[] = [];
        const waits: number[] = [];
        const dead: number[] = [];
        this.linkUnits = [];
        const add = (
            from: number | undefined,
            to: number | undefined,
            isWait: boolean,
            isDead: number,
            units: number,
        ) => {
            if (from !== undefined && to !== undefined) {
                links.push(from, to);
                waits.push(isWait ? 1 : 0);
                dead.push(isDead);
                this.linkUnits.push(units);
            }
        };
        for (const process of this.graph.processes.values()) {
            const slot = this.slots.get('p' + process.id);
            if (slot === undefined) {
                continue;
            }
            for (const [id, units] of process.holds) {
                const resource = this.graph.resources.get(id);
                add(this.slots.get('r' + id), slot, false, grade(process, resource), units);
            }
            for (const [id, units] of process.waits) {
                const resource = this.graph.resources.get(id);
                if (!resource?.await) {
                    add(slot, this.slots.get('r' + id), true, grade(process, resource), units);
                    continue;
                }
                for (const other of resource.holders) {
                    const actor = this.graph.processes.get(other);
                    add(slot, this.slots.get('p' + other), true, grade(process, actor), units);
                }
            }
        }
        this.links = Uint32Array.from(links);
        this.linkWaits = Uint8Array.from(waits);
        this.linkDead = Uint8Array.from(dead);
    }

    /** Moves new cycles onto rings. Returns their new positions. */
    private untangle(): number[] {
        const placed: number[] = [];
        const now = new Set<string>();
        for (const whole of this.graph.circles()) {
            const circle = whole.filter((node) => node.kind === 'process' || !node.await);
            const slots = circle.map((node) => this.slotOf(node));
            if (slots.includes(-1) || slots.length > 60) {
                continue;
            }
            const key = slots.join();
            now.add(key);
            if (!this.untangled.has(key)) {
                const x = slots.map((slot) => this.target[2 * slot]!);
                const y = slots.map((slot) => this.target[2 * slot + 1]!);
                const places = ring(x, y, defaults.length * 1.1);
                places.forEach(([px, py], i) => placed.push(slots[i]!, px, py));
                placed.push(...this.clearOut(circle, places));
            }
        }
        this.untangled = now;
        return placed;
    }

    /** Moves waiters inside a ring out of it, beyond the node that they wait for. */
    private clearOut(circle: Node[], places: [number, number][]): number[] {
        const placed: number[] = [];
        const mean = (axis: 0 | 1) => places.reduce((sum, place) => sum + place[axis], 0) / places.length;
        const [cx, cy] = [mean(0), mean(1)];
        const radius = Math.hypot(places[0]![0] - cx, places[0]![1] - cy);
        circle.forEach((node, i) => {
            for (const id of node.kind === 'resource' ? node.waiters : []) {
                const waiter = this.graph.processes.get(id);
                const slot = this.slotOf(waiter ?? null);
                const inside =
                    Math.hypot(this.target[2 * slot]! - cx, this.target[2 * slot + 1]! - cy) < radius * 1.2;
                if (slot >= 0 && waiter && !waiter.core && inside) {
                    const further = 1 + (defaults.length * (1 + 0.2 * placed.length)) / radius;
                    const [px, py] = places[i]!;
                    placed.push(slot, cx + (px - cx) * further, cy + (py - cy) * further);
                }
            }
        });
        return placed;
    }

    private ranks(edges: Uint32Array): Uint8Array<ArrayBuffer> {
        const rank = new Uint8Array(this.nodes.length);
        for (let i = 0; i < rank.length; i++) {
            const node = this.nodes[i];
            rank[i] = !node ? Rank.none : node.dead ? Rank.dead : Rank.alone;
        }
        for (const slot of edges) {
            rank[slot] = Math.max(rank[slot]!, Rank.connected);
        }
        return rank;
    }

    /** A hash of the edges, to detect changes. */
    private digest(): number {
        let hash = this.count;
        for (let i = 0; i < this.links.length; i++) {
            hash = (Math.imul(hash ^ this.links[i]!, 0x01000193) + 0x9e3779b9) | 0;
        }
        return hash;
    }

    private send(placed: number[]): void {
        const extra: number[] = [];
        for (const [from, to] of this.lasting) {
            const a = this.slots.get(from);
            const b = this.slots.get(to);
            if (a !== undefined && b !== undefined) {
                extra.push(a, b);
            }
        }
        const edges = extra.length > 0 ? Uint32Array.from(extra) : this.links.slice();
        const rank = this.ranks(edges);
        // A few changes heat the layout slightly, a deadlock more, so that it unfolds; a new picture starts hot.
        const share = placed.length / 3 / Math.max(1, this.count);
        const dead = rank.filter((one) => one === Rank.dead).length;
        const heat = share > 0.3 ? 1 : dead > this.deadBefore ? 0.6 : Math.min(0.3, 0.1 + share);
        this.deadBefore = dead;
        const order: Topology = { type: 'topology', rank, edges, placed: Float32Array.from(placed), heat };
        this.order(order, [rank.buffer, edges.buffer, order.placed.buffer]);
    }
}
