// The resource-allocation graph as the page keeps it: who holds and who waits for what, changed by effects
// that can be undone, and who can never run again.

import type { Effect, GraphData, Names } from './api';

export interface Process {
    readonly kind: 'process';
    readonly id: number;
    name: string;
    owner: string | null;
    /** KEY:VALUE. */
    labels: string[];
    /** When its wait began, in ms since 1970; null: it runs, or unknown. */
    since: number | null;
    /** Units by resource id. */
    holds: Map<number, number>;
    waits: Map<number, number>;
    /** The service said so. Ends with the wait. */
    marked: boolean;
    /** Can never run again, as found by judge(). */
    dead: boolean;
    /** ... and is in a knot itself, not only behind one. */
    core: boolean;
}

export interface Resource {
    readonly kind: 'resource';
    readonly id: number;
    name: string;
    units: number;
    free: number;
    labels: string[];
    /** Not a thing, but acts: its holders can act and have not, its waiter needs so many of them. Shown as arrows
     * from it to them. */
    await: boolean;
    holders: Set<number>;
    waiters: Set<number>;
    /** Somebody who can never run again waits for it. */
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
    /** Grows with every change. */
    version = 0;
    readonly processes = new Map<number, Process>();
    readonly resources = new Map<number, Resource>();
    /** Effects that named somebody this graph had not heard of. */
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

    /** How many resources there are, without awaits. */
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

    /** Finds who can never run again: everybody who is left over when all others have finished and given
     * everything back. Units held by somebody not shown count as given back; the service's own marks fill in
     * what cannot be seen then. */
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

    /** Where a node's way leads, among what is dead: from a wait to the resource, from there to its holders. */
    private onward(node: Node): Node[] {
        const next: (Node | undefined)[] =
            node.kind === 'process'
                ? [...node.waits.keys()].map((id) => this.resources.get(id))
                : [...node.holders].map((id) => this.processes.get(id));
        return next.filter((one): one is Node => one !== undefined && one.dead);
    }

    /** Marks those who wait for each other: the strongly connected components of more than one (Tarjan's
     * algorithm, with its own stack: chains may be long). Everybody else who is dead only waits behind. */
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

    /** Deadlocks that are one circle, each in its order: process, what it waits for, its holder, ... */
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

    /** An await comes with the first effect that names it, and goes with the last. */
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

/** What a node is drawn connected with: what it waits for first. Awaits are passed through. */
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

/** Everybody and everything the node's way leads to: along waits to resources, from there to their holders. */
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

/** Everybody who waits, directly or through others, for the node. */
export function behind(graph: Graph, start: Node): Set<Node> {
    const seen = new Set<Node>([start]);
    const queue: Node[] = [start];
    for (let node = queue.pop(); node; node = queue.pop()) {
        const next: (Node | undefined)[] =
            node.kind === 'process'
                ? [...node.holds.keys()].map((id) => graph.resources.get(id))
                : [...node.waiters].map((id) => graph.processes.get(id));
        for (const one of next) {
            // A resource nobody waits for is not what anybody waits for.
            if (one && !seen.has(one) && !(one.kind === 'resource' && one.waiters.size === 0)) {
                seen.add(one);
                queue.push(one);
            }
        }
    }
    return seen;
}
