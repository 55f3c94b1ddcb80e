// The graph of a system, kept like the service's: fetched once, then changed by the stream. What does not fit
// (a gap, somebody unknown, too many changes at once) is mended by fetching it anew.

import { api, stream, type Change, type Incident, type Rate } from './api';
import { Graph } from './graph';

/** Nodes asked for; the service sends those that matter most first. */
const graphLimit = 2000;

export interface LiveEvents {
    /** Another graph is in place of the old one; `fresh`: of another system or another part of it. */
    replaced(fresh: boolean): void;
    changed(): void;
    incident(incident: Incident): void;
    systems(): void;
    rates(rate: Rate): void;
    /** The stream came or went; `again`: it was there before. */
    connected(up: boolean, again: boolean): void;
    trouble(problem: unknown): Promise<void>;
}

export class Live {
    system = '';
    graph = new Graph();
    /** Only what lies around this node is looked at; null: everything. */
    around: string | null = null;
    /** Only what has this label, KEY:VALUE, and what it holds and waits for; '': everything. */
    label = '';
    private connection: { close(): void } | null = null;
    private late: Change[] | null = null; // what came while the graph was being fetched
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

    /** Changes that come meanwhile are kept and applied to what is fetched. */
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
                    // What happened while it was gone is not known.
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
            // Once a frame, however many came; a hidden page has no frames.
            const tell = () => {
                this.dirty = false;
                this.events.changed();
            };
            if (document.hidden) {
                window.setTimeout(tell, 100);
            } else {
                requestAnimationFrame(tell);
            }
        }
    }

    /** Soon, and not too often. */
    private reload(): void {
        if (!this.again) {
            this.again = window.setTimeout(() => {
                this.again = 0;
                void this.load();
            }, 250);
        }
    }
}
