// The history of deadlocks, with filters, newest first. A click starts a replay.

import { api, type Incident, type IncidentFilter } from '../api';
import type { App } from '../app';
import { count, duration, h, replace } from '../dom';
import { shortened, shown } from '../names';

const pageSize = 50;

export class Incidents {
    readonly element = h('div', { class: 'page' });
    private readonly list = h('div', { class: 'incidents', role: 'list' });
    private readonly message = h('p', { class: 'muted', role: 'status' });
    private readonly more = h(
        'button',
        { type: 'button', onclick: () => void this.load(true) },
        'Older deadlocks',
    );
    private readonly process = h('input', { type: 'search', placeholder: 'any', spellcheck: 'false' });
    private readonly label = h('input', { type: 'search', placeholder: 'any', spellcheck: 'false', list: 'labels' });
    private readonly when = h(
        'select',
        {},
        ...[
            ['', 'any time'],
            ['3600', 'last hour'],
            ['86400', 'last day'],
            ['604800', 'last week'],
        ].map(([value, text]) => h('option', { value: value! }, text!)),
    );
    private readonly scope = h(
        'select',
        {},
        h('option', { value: 'one' }, 'this system'),
        h('option', { value: 'all' }, 'all systems'),
    );
    private readonly open = h('input', { type: 'checkbox' });
    private items: Incident[] = [];
    private next: number | null = null;
    private turn = 0;
    private timer = 0;

    constructor(private readonly app: App) {
        const soon = () => {
            clearTimeout(this.timer);
            this.timer = window.setTimeout(() => void this.load(), 200);
        };
        this.process.addEventListener('input', soon);
        this.label.addEventListener('input', soon);
        for (const control of [this.when, this.scope, this.open]) {
            control.addEventListener('change', soon);
        }
        replace(
            this.element,
            h(
                'form',
                {
                    class: 'fields',
                    'aria-label': 'Filter',
                    onsubmit: (event: Event) => event.preventDefault(),
                },
                h('label', {}, 'Process', this.process),
                h('label', {}, 'Label', this.label),
                h('label', {}, 'When', this.when),
                h('label', {}, 'Where', this.scope),
                h('label', { class: 'check' }, this.open, 'not ended yet'),
            ),
            this.message,
            this.list,
            this.more,
        );
        this.more.hidden = true;
    }

    async load(older = false): Promise<void> {
        const turn = ++this.turn;
        const filter: IncidentFilter = { limit: pageSize };
        if (this.scope.value === 'one') {
            filter.system = this.app.system;
        }
        if (this.process.value.trim()) {
            filter.process = this.process.value.trim();
        }
        if (this.label.value.trim()) {
            filter.label = this.label.value.trim();
        }
        if (this.when.value) {
            filter.since = Date.now() - Number(this.when.value) * 1000;
        }
        if (this.open.checked) {
            filter.open = true;
        }
        if (older && this.next !== null) {
            filter.before = this.next;
        }
        try {
            const answer = await api.incidents(filter);
            if (turn === this.turn) {
                this.items = older ? [...this.items, ...answer.incidents] : answer.incidents;
                this.next = answer.next ?? null;
                this.show();
            }
        } catch (problem) {
            this.message.textContent = (problem as Error).message;
        }
    }

    /** A deadlock formed or ended: loads the list again, because the filters may match differently. */
    touched(): void {
        clearTimeout(this.timer);
        this.timer = window.setTimeout(() => void this.load(), 300);
    }

    show(): void {
        const focus = (document.activeElement as HTMLElement | null)?.dataset.incident;
        this.message.textContent =
            this.items.length === 0
                ? 'No deadlocks here.'
                : count(this.items.length, 'deadlock') + (this.next !== null ? ', and older ones' : '');
        replace(this.list, ...this.items.map((item) => h('div', { role: 'listitem' }, this.item(item))));
        this.more.hidden = this.next === null;
        if (focus) {
            this.list.querySelector<HTMLElement>(`[data-incident="${focus}"]`)?.focus();
        }
    }

    private item(item: Incident): HTMLElement {
        const at = new Date(item.at);
        return h(
            'button',
            {
                type: 'button',
                class: item.ended === null ? 'open' : '',
                'data-incident': String(item.id),
                'aria-current': this.app.replay?.incident.id === item.id ? 'true' : undefined,
                onclick: () => void this.app.openIncident(item.id),
            },
            h(
                'span',
                { class: 'line' },
                h('b', {}, count(item.processes.length, 'process', 'processes')),
                h(
                    'span',
                    { class: 'state ' + (item.ended === null ? 'dead' : '') },
                    item.ended === null ? 'open' : 'ended',
                ),
                h('time', { datetime: at.toISOString() }, stamp(at)),
            ),
            h('span', { class: 'who' }, item.processes.slice(0, 100).map(shown).join(', ')),
            item.labels && h('span', { class: 'how' }, item.labels.map(shown).join(' ')),
            h('span', { class: 'how' }, this.ending(item)),
        );
    }

    private ending(item: Incident): string {
        const closed = `closed by ${shortened(item.requester, 40)}`;
        if (item.ended === null) {
            return `${closed}, for ${duration(Date.now() - item.at)}`;
        }
        const how = item.how ? `${item.how}` : 'ended';
        return `${closed}; ${how}${item.victim ? ` (${shortened(item.victim, 40)})` : ''} after ${duration(item.ended - item.at)}`;
    }
}

export function stamp(at: Date): string {
    const today = new Date().toDateString() === at.toDateString();
    const time = at.toLocaleTimeString('en-GB');
    return today ? time : `${at.toLocaleDateString('en-GB', { day: 'numeric', month: 'short' })} ${time}`;
}
