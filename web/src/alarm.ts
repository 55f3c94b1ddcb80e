// Alarms for deadlocks: the banner, the title and icon of the tab, and an announcement for screen readers.

import type { Incident } from './api';
import { byId, count, h, icon, replace } from './dom';
import { shortened, shown } from './names';

export interface AlarmActions {
    isolate(): void;
    replay(incident: Incident): void;
}

export class Alarm {
    /** Open deadlocks, by id. */
    private readonly open = new Map<number, Incident>();
    private announced = new Set<string>();
    private dismissed = '';
    private readonly banner = byId('banner');
    private here = 0;
    private others: { system: string; dead: number }[] = [];

    constructor(private readonly actions: AlarmActions) {}

    clear(): void {
        this.open.clear();
        this.announced.clear();
        this.dismissed = '';
    }

    know(incident: Incident): void {
        if (incident.ended === null) {
            this.open.set(incident.id, incident);
        } else {
            this.open.delete(incident.id);
        }
    }

    /** `dead`: names of the deadlocked processes; `hidden`: no banner, because the view shows the past. */
    update(system: string, dead: string[], isolated: boolean, hidden: boolean): void {
        this.here = dead.length;
        this.entitle();
        this.announce(system, dead);
        const what = [...dead].sort().join('\n');
        if (dead.length === 0) {
            this.dismissed = '';
        }
        if (dead.length === 0 || what === this.dismissed || hidden) {
            this.banner.hidden = true;
            this.banner.dataset.what = '';
            return;
        }
        const standing = [...this.open.values()].filter((one) => one.system === system);
        const newest = standing.sort((a, b) => b.at - a.at)[0];
        const key = `${what}|${standing.length} ${newest?.id ?? ''}|${isolated}`;
        if (this.banner.dataset.what !== key) {
            this.banner.dataset.what = key;
            this.show(dead, what, standing.length, newest, isolated);
        }
    }

    /** Systems out of view that have a deadlock; `use` opens one of them. */
    elsewhere(others: { system: string; dead: number }[], use: (system: string) => void): void {
        const chip = byId('elsewhere');
        const key = others.map((one) => `${one.system}\n${one.dead}`).join('\n');
        const before = new Set(this.others.map((one) => one.system));
        for (const one of others) {
            if (!before.has(one.system)) {
                byId('live').append(h('p', {}, `Deadlock in ${shown(one.system)}, another system.`));
            }
        }
        this.others = others;
        this.entitle();
        if (chip.dataset.key === key) {
            return;
        }
        chip.dataset.key = key;
        chip.hidden = others.length === 0;
        const first = others[0];
        if (first) {
            const more = others.length > 1 ? ` and ${count(others.length - 1, 'other system')}` : '';
            chip.textContent = `Deadlock in ${shortened(first.system, 24)}${more}`;
            chip.onclick = () => use(first.system);
        }
    }

    /** The title and the icon of the tab count the deadlocked processes of all systems. */
    private entitle(): void {
        const dead = this.here + this.others.reduce((sum, one) => sum + one.dead, 0);
        document.title = dead > 0 ? `(${dead}) deadlocked · Gordian` : 'Gordian';
        byId<HTMLLinkElement>('favicon').href = `assets/knot${dead > 0 ? '-dead' : ''}.svg`;
    }

    private show(
        dead: string[],
        what: string,
        standing: number,
        newest: Incident | undefined,
        isolated: boolean,
    ): void {
        const button = (text: string, act: () => void, className = '') =>
            h('button', { type: 'button', class: className, onclick: act }, text);
        replace(
            this.banner,
            h(
                'strong',
                {},
                `${standing > 1 ? count(standing, 'deadlock') : 'Deadlock'}: ` +
                    `${count(dead.length, 'process', 'processes')} can never run again`,
            ),
            h('span', { class: 'way' }, wayOf(dead, newest)),
            h(
                'span',
                { class: 'acts' },
                button(isolated ? 'Show everything' : 'Isolate', () => this.actions.isolate(), 'main'),
                newest ? button('Replay', () => this.actions.replay(newest)) : null,
                h(
                    'button',
                    {
                        type: 'button',
                        class: 'plain',
                        'aria-label': 'Hide this message',
                        onclick: () => this.dismiss(what),
                    },
                    icon('close'),
                ),
            ),
        );
        this.banner.hidden = false;
    }

    private dismiss(what: string): void {
        this.dismissed = what;
        this.banner.hidden = true;
        byId('graph').focus();
    }

    private announce(system: string, names: string[]): void {
        const fresh = names.filter((name) => !this.announced.has(name));
        const live = byId('live');
        if (fresh.length > 0) {
            const list =
                fresh.slice(0, 5).map(shown).join(', ') +
                (fresh.length > 5 ? ` and ${fresh.length - 5} more` : '');
            live.append(h('p', {}, `Deadlock in ${shown(system)}: ${list} can never run again.`));
        } else if (this.announced.size > 0 && names.length === 0) {
            live.append(h('p', {}, `No deadlock in ${shown(system)} any more.`));
        }
        this.announced = new Set(names);
        while (live.children.length > 20) {
            live.firstElementChild?.remove();
        }
    }
}

interface WitnessEdge {
    process: string;
    waits?: string;
    holds?: string;
}

/** A cycle in a witness that is a list of edges: from a waiter to a holder in the witness, and on. */
function circleOf(edges: WitnessEdge[], start: string): string[] {
    const waits = new Map(edges.flatMap((one) => (one.waits ? [[one.process, one.waits]] : [])));
    const holds = new Map(
        edges.flatMap((one) => (one.holds && waits.has(one.process) ? [[one.holds, one.process]] : [])),
    );
    const way: string[] = [];
    for (let at: string | undefined = start; at !== undefined && waits.has(at);) {
        const seen = way.indexOf(at);
        if (seen >= 0) {
            return way.slice(seen);
        }
        way.push(at, waits.get(at)!);
        at = holds.get(waits.get(at)!);
    }
    return [];
}

/** The witness as a line: p → q → p' → q' → p. */
export function wayOf(dead: string[], incident: Incident | undefined): string {
    const witness = incident?.witness ?? [];
    const isCircle = witness.every((one) => typeof one === 'string');
    const way = isCircle
        ? (witness as string[])
        : circleOf(witness as WitnessEdge[], incident?.requester ?? '');
    if (way.length > 0) {
        const names = way.map((name) => shortened(name, 40));
        return (way.length > 9 ? [...names.slice(0, 8), '…'] : [...names, names[0]]).join(' → ');
    }
    return dead
            .slice(0, 8)
            .map((name) => shortened(name, 40))
            .join(', ') + (dead.length > 8 ? ` and ${dead.length - 8} more` : '');
}
