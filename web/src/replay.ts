// Replay of the last seconds before an incident: the graph at the time of the deadlock, moved back and forth by
// undoing and redoing the effects of each event.

import type { Effect, IncidentDetail, ReplayEvent } from './api';
import { Graph, keyOf, neighbours } from './graph';
import { shown } from './names';

/** An event with names in place of ids. */
export interface Step extends ReplayEvent {
    process: string;
    /** Its resources, with units if more than one. */
    things: string;
}

export class Replay {
    readonly graph: Graph;
    readonly events: Step[];
    private readonly marked: number[];
    /** Number of events that have happened. */
    position: number;

    constructor(readonly incident: IncidentDetail) {
        const replay = incident.replay;
        this.graph = Graph.from(
            replay?.graph ?? {
                system: incident.system,
                seq: 0,
                processes: [],
                resources: [],
                edges: [],
                truncated: true,
            },
        );
        this.graph.learn(replay?.names);
        this.events = (replay?.events ?? []).map((event) => ({
            ...event,
            process: this.nameOf(event.process),
            things: this.thingsOf(event),
            effects: this.inSight(event.effects),
        }));
        this.marked = [...this.graph.processes.values()].filter((one) => one.marked).map((one) => one.id);
        this.position = this.events.length;
    }

    /** The resources of an event: those that its process acquired, waited for, or released. */
    private thingsOf(event: ReplayEvent): string {
        const units = new Map<number, number>();
        for (const [, process, resource, amount, isAwait] of event.effects) {
            if (isAwait) {
                continue;
            }
            if (process === event.process || this.nameOf(process) === event.process) {
                units.set(resource, amount);
            }
        }
        const name = (id: number) => shown(this.graph.resources.get(id)?.name ?? `resource #${id}`);
        const things = [...units].map(([id, amount]) => name(id) + (amount === 1 ? '' : ` ×${amount}`));
        return [...this.othersOf(event), ...things].join(', ');
    }

    /** The processes whose acts it awaits: "2 of bob, cal". */
    private othersOf(event: ReplayEvent): string[] {
        if (event.op !== 'await') {
            return [];
        }
        const others = event.effects.filter(([what]) => what === '+h').map(([, id]) => shown(this.nameOf(id)));
        const needed = event.effects.find(([what]) => what === '+w')?.[3] ?? others.length;
        return [(needed < others.length ? `${needed} of ` : '') + others.join(', ')];
    }

    private nameOf(process: number | string): string {
        return typeof process === 'string'
            ? process
            : (this.graph.processes.get(process)?.name ?? `process #${process}`);
    }

    /** Moves to the state after `position` events. */
    seek(position: number): void {
        const aim = Math.max(0, Math.min(this.events.length, Math.round(position)));
        while (this.position > aim) {
            const effects = this.events[--this.position]!.effects;
            for (let i = effects.length - 1; i >= 0; i--) {
                this.graph.undo(effects[i]!);
            }
        }
        while (this.position < aim) {
            const { at, effects } = this.events[this.position++]!;
            for (const effect of effects) {
                this.graph.apply(effect, at);
            }
        }
        // The marks of the service belong to the time when the deadlock formed.
        if (aim === this.events.length) {
            for (const id of this.marked) {
                this.graph.processes.get(id)!.marked = true;
            }
            this.graph.version++;
        }
    }

    /** The last event before the current position, or null at the start. */
    get current(): Step | null {
        return this.events[this.position - 1] ?? null;
    }

    /** Time of the state in view, in ms since 1970. */
    get moment(): number {
        return this.position === this.events.length
            ? this.incident.at
            : (this.current?.at ?? this.events[0]?.at ?? this.incident.at);
    }

    /** Time of the event at an index, relative to the deadlock: negative ms. */
    offset(index: number): number {
        const event = this.events[index];
        return event ? event.at - this.incident.at : 0;
    }

    /** Time to stay at the current position at a playing speed: as recorded, within limits that keep the replay
     * visible and moving. */
    pause(speed: number): number {
        const here = this.position === 0 ? this.offset(0) : this.offset(this.position - 1);
        const gap = this.offset(this.position) - here;
        return Math.min(1200, Math.max(120, gap / speed));
    }

    /** All edges of the whole replay, as pairs of node keys. The layout uses them all, so that nodes stay in place
     * while the replay moves. */
    connections(): [string, string][] {
        const pairs = new Set<string>();
        for (const process of this.graph.processes.values()) {
            for (const other of neighbours(this.graph, process)) {
                pairs.add(`p${process.id} ${keyOf(other)}`);
            }
        }
        for (const event of this.events) {
            const awaiter = event.effects.find(([what, , , , isAwait]) => isAwait && what[1] === 'w')?.[1];
            for (const [, process, resource, , isAwait] of event.effects) {
                if (!isAwait) {
                    pairs.add(`p${process} r${resource}`);
                } else if (awaiter !== undefined && awaiter !== process) {
                    pairs.add(`p${awaiter} p${process}`);
                }
            }
        }
        return [...pairs].map((pair) => pair.split(' ') as [string, string]);
    }

    /** Ignores events outside of the graph, which contains only the neighborhood of the deadlock. */
    private inSight(effects: Effect[]): Effect[] {
        return effects.filter(
            ([, process, resource]) =>
                this.graph.processes.has(process) || this.graph.resources.has(resource),
        );
    }
}
