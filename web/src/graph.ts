// The page's resource-allocation graph: holders and waiters, changed by effects that can be undone, and the
// deadlocked processes.

import type { Effect, GraphData, Names } from './api';

export interface Process {
    readonly kind: 'process';
    readonly id: number;
    name: string;
    owner: string | null;
    /** KEY:VALUE. */
    labels: string[];
    /** Start of its wait, in ms since 1970; null: it runs, or the start is not known. */
    since: number | null;
    /** Units by resource id. */
    holds: Map<number, number>;
    waits: Map<number, number>;
    /** The service reports it as deadlocked. Reset when the wait ends. */
    marked: boolean;
    /** Can never run again, according to judge(). */
    dead: boolean;
    /** Part of a deadlock, not only blocked behind one. */
    core: boolean;
}

export interface Resource {
    readonly kind: 'resource';
    readonly id: number;
    name: string;
    units: number;
    free: number;
    labels: string[];
    /** Not a resource but an await: the waiter needs this many acts of the holders. Drawn as arrows from the waiter
     * to them. */
    await: boolean;
    holders: Set<number>;
    waiters: Set<number>;
    /** A deadlocked process waits for it. */
    dead: boolean;
    core: boolean;
}

export type Node = Process | Resource;

export const keyOf = (node: Node): string => (node.kind === 'process' ? 'p' : 'r') + node.id;

const unnamed = (kind: string, id: number) => `${kind} #${id}`;

export class Graph {
    system = '';
    seq = 0;
    truncated = false;
    /** Incremented by every change. */
    version = 0;
    readonly processes = new Map<number, Process>();
    readonly resources = new Map<number, Resource>();
    /** Number of effects that named a node unknown to this graph. */
    strangers = 0;
    private judged = -1;
    private deadCount = 0;

    static from(data: GraphData): Graph {
        const graph = new Graph();
        graph.system = data.system;
        graph.seq = data.seq;
        graph.truncated = data.truncated;
        for (const given of data.processes) {
            const process = graph.addProcess(given.id, given.name);
            process.owner = given.owner ?? null;
            process.labels = given.labels ?? [];
            process.marked = given.deadlocked ?? false;
            process.since = given.since_ms ?? null;
        }
        for (const given of data.resources) {
            const resource = graph.addResource(given.id, given.name);
            resource.units = given.units;
            resource.free = given.free;
            resource.labels = given.labels ?? [];
            resource.await = given.await ?? false;
        }
        for (const edge of data.edges) {
            const process = graph.processes.get(edge.process);
            const resource = graph.resources.get(edge.resource);
            if (process && resource) {
                graph.link(process, resource, edge.units, edge.waits);
            }
        }
        return graph;
    }

    /** Number of resources, without awaits. */
    get things(): number {
        return [...this.resources.values()].filter((one) => !one.await).length;
    }

    addProcess(id: number, name: string): Process {
        let process = this.processes.get(id);
        if (!process) {
            process = {
                kind: 'process',
                id,
                name,
                owner: null,
                labels: [],
                since: null,
                holds: new Map(),
                waits: new Map(),
                marked: false,
                dead: false,
                core: false,
            };
            this.processes.set(id, process);
            this.version++;
        } else if (process.name !== name) {
            process.name = name;
            this.version++;
        }
        return process;
    }

    addResource(id: number, name: string, units = 1): Resource {
        let resource = this.resources.get(id);
        if (!resource) {
            resource = {
                kind: 'resource',
                id,
                name,
                units,
                free: units,
                labels: [],
                await: false,
                holders: new Set(),
                waiters: new Set(),
                dead: false,
                core: false,
            };
            this.resources.set(id, resource);
            this.version++;
        } else if (resource.name !== name) {
            resource.name = name;
            this.version++;
        }
        return resource;
    }

    learn(names: Names | undefined): void {
        for (const [id, name] of Object.entries(names?.processes ?? {})) {
            this.addProcess(Number(id), name);
        }
        for (const [id, given] of Object.entries(names?.resources ?? {})) {
            if (typeof given === 'string') {
                this.addResource(Number(id), given);
            } else {
                this.addResource(Number(id), given.name, given.units);
            }
        }
    }

    find(name: string): Node | null {
        for (const process of this.processes.values()) {
            if (process.name === name) {
                return process;
            }
        }
        for (const resource of this.resources.values()) {
            if (resource.name === name && !resource.await) {
                return resource;
            }
        }
        return null;
    }

    node(key: string | null): Node | null {
        if (!key) {
            return null;
        }
        const id = Number(key.slice(1));
        return (key[0] === 'p' ? this.processes.get(id) : this.resources.get(id)) ?? null;
    }

    apply(effect: Effect, now: number | null = Date.now()): void {
        const [what, processId, resourceId, units, isAwait] = effect;
        const process = this.known(processId);
        const resource = isAwait ? this.knownAwait(resourceId) : this.knownResource(resourceId);
        const amount = what[0] === '+' ? units : -units;
        this.add(process, resource, amount, what[1] === 'w');
        if (what === '+w') {
            process.since ??= now;
        }
        if (process.waits.size === 0) {
            process.since = null;
            process.marked = false;
        }
    }

    undo(effect: Effect): void {
        const [what, process, resource, units, isAwait] = effect;
        const back = ((what[0] === '+' ? '-' : '+') + what[1]) as Effect[0];
        this.apply([back, process, resource, units, isAwait], null);
    }

    /** Finds the deadlocked processes by graph reduction: the processes that are left when all others have finished
     * and released everything. Units held by processes that are not loaded count as released; the marks of the
     * service fill this gap. */
    judge(): number {
        if (this.judged === this.version) {
            return this.deadCount;
        }
        const dead = this.leftOver();
        this.deadCount = 0;
        for (const process of this.processes.values()) {
            process.dead =
                process.waits.size > 0 && (dead.has(process) || (this.truncated && process.marked));
            process.core = false;
            this.deadCount += process.dead ? 1 : 0;
        }
        for (const resource of this.resources.values()) {
            resource.dead = [...resource.waiters].some((id) => this.processes.get(id)?.dead);
            resource.core = false;
        }
        if (this.deadCount > 0) {
            this.findKnots();
        }
        this.judged = this.version;
        return this.deadCount;
    }

    /** Next nodes on the paths of a deadlocked node: the resources that a process waits for, the holders of a
     * resource. */
    private onward(node: Node): Node[] {
        const next: (Node | undefined)[] =
            node.kind === 'process'
                ? [...node.waits.keys()].map((id) => this.resources.get(id))
                : [...node.holders].map((id) => this.processes.get(id));
        return next.filter((one): one is Node => one !== undefined && one.dead);
    }

    /** Marks processes that wait for each other: strongly connected components of more than one node (Tarjan's
     * algorithm, with an explicit stack because chains may be long). The other dead processes are blocked behind. */
    private findKnots(): void {
        const number = new Map<Node, number>();
        const low = new Map<Node, number>();
        const open: Node[] = [];
        const isOpen = new Set<Node>();
        const enter = (node: Node) => {
            number.set(node, number.size);
            low.set(node, number.size - 1);
            open.push(node);
            isOpen.add(node);
            return { node, next: this.onward(node), at: 0 };
        };
        for (const start of this.processes.values()) {
            if (!start.dead || number.has(start)) {
                continue;
            }
            const way = [enter(start)];
            for (let top = way[way.length - 1]; top; top = way[way.length - 1]) {
                const next = top.next[top.at++];
                if (next && !number.has(next)) {
                    way.push(enter(next));
                } else if (next) {
                    if (isOpen.has(next)) {
                        low.set(top.node, Math.min(low.get(top.node)!, number.get(next)!));
                    }
                } else {
                    way.pop();
                    const above = way[way.length - 1]?.node;
                    if (above) {
                        low.set(above, Math.min(low.get(above)!, low.get(top.node)!));
                    }
                    if (low.get(top.node) === number.get(top.node)) {
                        const knot = open.splice(open.lastIndexOf(top.node));
                        knot.forEach((node) => isOpen.delete(node));
                        knot.forEach((node) => (node.core = knot.length > 1));
                    }
                }
            }
        }
    }

    /** Deadlocks that are a single cycle, each in order: process, the resource it waits for, its holder, ... */
    circles(): Node[][] {
        this.judge();
        const found: Node[][] = [];
        const seen = new Set<Node>();
        const next = (node: Node) => {
            const core = this.onward(node).filter((one) => one.core);
            return core.length === 1 ? core[0]! : null;
        };
        for (const start of this.deadCount > 0 ? this.processes.values() : []) {
            if (!start.core || seen.has(start)) {
                continue;
            }
            const circle: Node[] = [];
            let node: Node | null = start;
            while (node && !seen.has(node)) {
                seen.add(node);
                circle.push(node);
                node = next(node);
            }
            if (node === start) {
                found.push(circle);
            }
        }
        return found;
    }

    dead(): Process[] {
        this.judge();
        return [...this.processes.values()].filter((process) => process.dead);
    }

    private leftOver(): Set<Process> {
        const work = new Map<number, number>();
        for (const resource of this.resources.values()) {
            let held = 0;
            for (const holder of resource.holders) {
                held += this.processes.get(holder)?.holds.get(resource.id) ?? 0;
            }
            work.set(resource.id, resource.await ? 0 : Math.max(resource.free, resource.units - held));
        }
        const left = new Set<Process>();
        const queue: Process[] = [];
        for (const process of this.processes.values()) {
            if (process.waits.size === 0) {
                queue.push(process);
            } else {
                left.add(process);
            }
        }
        const fits = (process: Process) =>
            [...process.waits].every(([id, units]) => (work.get(id) ?? 0) >= units);
        for (const process of left) {
            if (fits(process)) {
                left.delete(process);
                queue.push(process);
            }
        }
        for (let process = queue.pop(); process; process = queue.pop()) {
            for (const [id, units] of process.holds) {
                work.set(id, (work.get(id) ?? 0) + units);
                for (const waiter of this.resources.get(id)?.waiters ?? []) {
                    const next = this.processes.get(waiter);
                    if (next && left.has(next) && fits(next)) {
                        left.delete(next);
                        queue.push(next);
                    }
                }
            }
        }
        return left;
    }

    private known(id: number): Process {
        const process = this.processes.get(id);
        if (process) {
            return process;
        }
        this.strangers++;
        return this.addProcess(id, unnamed('process', id));
    }

    private knownResource(id: number): Resource {
        const resource = this.resources.get(id);
        if (resource) {
            return resource;
        }
        this.strangers++;
        return this.addResource(id, unnamed('resource', id));
    }

    /** The first effect that names an await creates it; the last one deletes it. */
    private knownAwait(id: number): Resource {
        const resource = this.addResource(id, '');
        resource.await = true;
        return resource;
    }

    private link(process: Process, resource: Resource, units: number, waits: boolean): void {
        const edges = waits ? process.waits : process.holds;
        edges.set(resource.id, (edges.get(resource.id) ?? 0) + units);
        (waits ? resource.waiters : resource.holders).add(process.id);
        this.version++;
    }

    private add(process: Process, resource: Resource, amount: number, waits: boolean): void {
        const edges = waits ? process.waits : process.holds;
        const now = (edges.get(resource.id) ?? 0) + amount;
        if (now > 0) {
            edges.set(resource.id, now);
            (waits ? resource.waiters : resource.holders).add(process.id);
        } else {
            edges.delete(resource.id);
            (waits ? resource.waiters : resource.holders).delete(process.id);
        }
        if (!waits && !resource.await) {
            resource.free -= amount;
        }
        if (resource.await && resource.holders.size + resource.waiters.size === 0) {
            this.resources.delete(resource.id);
        }
        this.version++;
    }
}

/** Neighbors of a node in the picture, those that it waits for first. Awaits are replaced by their holders. */
export function neighbours(graph: Graph, node: Node): Node[] {
    if (node.kind === 'resource') {
        return [...node.holders, ...node.waiters].flatMap((id) => graph.processes.get(id) ?? []);
    }
    const through = (id: number, waits: boolean): Node[] => {
        const resource = graph.resources.get(id);
        if (!resource?.await) {
            return resource ? [resource] : [];
        }
        return [...(waits ? resource.holders : resource.waiters)].flatMap(
            (other) => graph.processes.get(other) ?? [],
        );
    };
    return [
        ...[...node.waits.keys()].flatMap((id) => through(id, true)),
        ...[...node.holds.keys()].flatMap((id) => through(id, false)),
    ];
}

/** All nodes reachable from a node: along waits to resources, from there to their holders. */
export function ahead(graph: Graph, start: Node): Set<Node> {
    const seen = new Set<Node>([start]);
    const queue: Node[] = [start];
    for (let node = queue.pop(); node; node = queue.pop()) {
        const next: (Node | undefined)[] =
            node.kind === 'process'
                ? [...node.waits.keys()].map((id) => graph.resources.get(id))
                : [...node.holders].map((id) => graph.processes.get(id));
        for (const one of next) {
            if (one && !seen.has(one)) {
                seen.add(one);
                queue.push(one);
            }
        }
    }
    return seen;
}

/** All processes that wait for the node, directly or indirectly. */
export function behind(graph: Graph, start: Node): Set<Node> {
    const seen = new Set<Node>([start]);
    const queue: Node[] = [start];
    for (let node = queue.pop(); node; node = queue.pop()) {
        const next: (Node | undefined)[] =
            node.kind === 'process'
                ? [...node.holds.keys()].map((id) => graph.resources.get(id))
                : [...node.waiters].map((id) => graph.processes.get(id));
        for (const one of next) {
            // Skip resources without waiters.
            if (one && !seen.has(one) && !(one.kind === 'resource' && one.waiters.size === 0)) {
                seen.add(one);
                queue.push(one);
            }
        }
    }
    return seen;
}
