// The live graph of a system: fetched once, then updated by the stream. If an update does not fit (a gap, an
// unknown node, too many changes at once), the graph is fetched again.

import { api, stream, type Change, type Incident, type Rate } from './api';
import { Graph } from './graph';

/** Limit of nodes to request; the service sends the most important ones first. */
const graphLimit = 2000;

export interface LiveEvents {
    /** The graph was replaced; `fresh`: by one of another system or another part. */
    replaced(fresh: boolean): void;
    changed(): void;
    incident(incident: Incident): void;
    systems(): void;
    rates(rate: Rate): void;
    /** The stream connected or broke; `again`: it was connected before. */
    connected(up: boolean, again: boolean): void;
    trouble(problem: unknown): Promise<void>;
}

export class Live {
    system = '';
    graph = new Graph();
    /** Load only the neighborhood of this node; null: the whole graph. */
    around: string | null = null;
    /** Load only nodes with this label, KEY:VALUE, and their neighbors; '': all. */
    label = '';
    private connection: { close(): void } | null = null;
    private late: Change[] | null = null; // updates that arrived while the graph was being fetched
    private turn = 0;
    private again = 0;
    private dirty = false;

    constructor(private readonly events: LiveEvents) {}

    async use(system: string): Promise<void> {
        this.system = system;
        this.around = null;
        this.label = '';
        this.listen();
        await this.load(true);
    }

    async lookFor(label: string): Promise<void> {
        this.label = label;
        this.around = null;
        await this.load(true);
    }

    async lookAround(name: string | null): Promise<void> {
        this.around = name;
        this.label = '';
        await this.load(true);
    }

    /** Updates that arrive during the fetch are queued and applied to the new graph. */
    async load(fresh = false): Promise<void> {
        const turn = ++this.turn;
        this.late = [];
        let data;
        try {
            const part = this.around === null ? { label: this.label } : { around: this.around, depth: 4 };
            data = await api.graph(this.system, { ...part, limit: graphLimit });
        } catch (problem) {
            if (turn === this.turn) {
                this.late = null;
                await this.events.trouble(problem);
            }
            return;
        }
        if (turn !== this.turn) {
            return;
        }
        this.graph = Graph.from(data);
        const late = this.late ?? [];
        this.late = null;
        for (const change of late) {
            this.change(change);
        }
        this.events.replaced(fresh);
    }

    private listen(): void {
        this.connection?.close();
        let before = false;
        this.connection = stream(this.system, {
            change: (change) => (this.late ? this.late.push(change) : this.change(change)),
            reset: (system) => system === this.system && this.reload(),
            incident: (incident) => {
                if (incident.system === this.system && this.graph.truncated) {
                    this.reload();
                }
                this.events.incident(incident);
            },
            systems: () => this.events.systems(),
            rates: (rate) => this.events.rates(rate),
            state: (up) => {
                if (up && before) {
                    // Updates were missed while it was disconnected.
                    void this.load();
                }
                this.events.connected(up, before);
                before ||= up;
            },
        });
    }

    private change(change: Change): void {
        if (change.system !== this.system || change.seq <= this.graph.seq) {
            return;
        }
        if (change.from !== undefined && change.from > this.graph.seq) {
            this.reload();
            return;
        }
        const strangers = this.graph.strangers;
        const part = this.around !== null || this.label !== '';
        if (!part) {
            this.graph.learn(change.names);
        }
        for (const effect of change.effects) {
            const [, process, resource] = effect;
            if (
                !part ||
                this.graph.processes.has(process) ||
                this.graph.resources.has(resource)
            ) {
                this.graph.apply(effect);
            }
        }
        this.graph.seq = change.seq;
        if (this.graph.strangers > strangers) {
            this.reload();
        }
        if (!this.dirty) {
            this.dirty = true;
            // Notify once per frame; a hidden page has no frames.
            const notify = () => {
                this.dirty = false;
                this.events.changed();
            };
            if (document.hidden) {
                window.setTimeout(notify, 100);
            } else {
                requestAnimationFrame(notify);
            }
        }
    }

    /** Schedules a fetch, at a limited rate. */
    private reload(): void {
        if (!this.again) {
            this.again = window.setTimeout(() => {
                this.again = 0;
                void this.load();
            }, 250);
        }
    }
}
