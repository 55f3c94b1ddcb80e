// Overview: rates and latency over time, the cluster, and the legend.

import { api, type SystemInfo } from '../api';
import { when, type App } from '../app';
import { h, replace } from '../dom';
import { shown } from '../names';
import { Chart } from './charts';
import { history, push, type History } from '../rates';

export class Overview {
    readonly element: HTMLElement;
    private readonly events = new Chart('Events', 'per second');
    private readonly latency = new Chart('Latency', 'µs');
    private readonly waiting = new Chart('Waiting', 'processes');
    private readonly deadlocks = new Chart('Deadlocks', 'per second');
    private readonly facts = h('dl', { class: 'facts' });
    private readonly table = h('tbody', {});
    private readonly cluster = h('section', { class: 'systems', hidden: true });
    private readonly range = h(
        'select',
        {},
        ...[
            ['0', '10 minutes'],
            ['360', '6 hours'],
            ['1440', 'day'],
            ['4320', '3 days'],
        ].map(([value, text]) => h('option', { value: value! }, text!)),
    );
    private long: History | null = null; // the period instead of the last minutes
    private past: History = history();

    constructor(private readonly app: App) {
        this.element = h(
            'div',
            { class: 'page' },
            h(
                'section',
                { class: 'systems' },
                h('h2', {}, 'All systems'),
                h(
                    'table',
                    {},
                    h(
                        'thead',
                        {},
                        h(
                            'tr',
                            {},
                            ...['System', 'Processes', 'Waiting', 'Deadlocked'].map((text) => h('th', { scope: 'col' }, text)),
                        ),
                    ),
                    this.table,
                ),
            ),
            this.cluster,
            h('label', { class: 'range' }, 'Charts of the last ', this.range),
            this.events.element,
            this.latency.element,
            this.waiting.element,
            this.deadlocks.element,
            h('section', {}, h('h3', {}, 'System'), this.facts),
            h('section', {}, h('h3', {}, 'Signs'), legend()),
        );
        this.range.addEventListener('change', () => void this.look());
        window.setInterval(() => this.long && void this.look(), 60000);
        new ResizeObserver(() => this.paint()).observe(this.element);
    }

    /** Loads the chosen period. */
    private async look(): Promise<void> {
        const minutes = Number(this.range.value);
        if (minutes === 0) {
            this.long = null;
        } else {
            try {
                const { interval_ms, rates } = await api.past(this.app.system, minutes);
                const seconds = interval_ms / 1000;
                this.long = history();
                for (const rate of rates) {
                    push(this.long, { ...rate, events: rate.events / seconds, deadlocks: rate.deadlocks / seconds }, rates.length);
                }
            } catch {
                this.long = null;
            }
        }
        this.paint();
    }

    again(): void {
        void this.look();
    }

    setRates(past: History): void {
        this.past = past;
        this.paint();
    }

    /** One row per system, those with deadlocks first. */
    systems(): void {
        const labelled = this.app.labels.systems;
        const all = this.app.systems.filter((one) => labelled === null || labelled.has(one.name)).sort(
            (a, b) => Math.sign(b.deadlocked) - Math.sign(a.deadlocked) || a.name.localeCompare(b.name),
        );
        const key = all
            .map((one) => [one.name, one.processes, one.waiting, one.deadlocked, one.name === this.app.system].join('|'))
            .join('\n');
        if (this.table.dataset.key === key) {
            return;
        }
        this.table.dataset.key = key;
        const focus = (document.activeElement as HTMLElement | null)?.dataset?.system;
        replace(this.table, ...all.map((one) => this.row(one)));
        if (focus !== undefined) {
            this.table.querySelector<HTMLElement>(`[data-system="${CSS.escape(focus)}"]`)?.focus();
        }
    }

    /** The servers of the cluster: leader and standbys. */
    servers(): void {
        const { cluster } = this.app;
        this.cluster.hidden = !cluster?.shared;
        if (!cluster?.shared) {
            return;
        }
        const key = JSON.stringify([cluster.servers, cluster.epoch, cluster.leader, cluster.leads, cluster.error]);
        if (this.cluster.dataset.key === key) {
            return;
        }
        this.cluster.dataset.key = key;
        const server = ({ address, leads, since }: { address: string; leads: boolean; since: number | null }) =>
            h(
                'tr',
                {},
                h('th', { scope: 'row' }, shown(address) + (address === cluster.address ? ' (this one)' : '')),
                h('td', {}, leads ? 'leads' : 'standby'),
                h('td', {}, since === null ? '' : when(since)),
            );
        replace(
            this.cluster,
            h('h2', {}, 'Servers'),
            h(
                'table',
                {},
                h(
                    'thead',
                    {},
                    h('tr', {}, ...['Server', 'Role', 'Connected since'].map((text) => h('th', { scope: 'col' }, text))),
                ),
                h('tbody', {}, ...(cluster.servers ?? []).map(server)),
            ),
            h(
                'p',
                { class: 'muted' },
                (cluster.leader ? `${shown(cluster.leader)} is the leader` : 'The leader is not known') +
                    (cluster.error
                        ? `. Other servers are not listed: ${cluster.error}. `
                        : `, in epoch ${(cluster.epoch ?? 0).toLocaleString('en')}. `) +
                    `Newest fencing token: ${cluster.fence}.`,
            ),
        );
    }

    private row(one: SystemInfo): HTMLElement {
        const figure = (value: number) => h('td', {}, value.toLocaleString('en'));
        return h(
            'tr',
            { class: one.deadlocked > 0 ? 'some-dead' : '' },
            h(
                'th',
                { scope: 'row' },
                h(
                    'button',
                    {
                        type: 'button',
                        class: 'name',
                        'data-system': one.name,
                        'aria-current': one.name === this.app.system ? 'true' : undefined,
                        onclick: () => void this.app.use(one.name),
                    },
                    shown(one.name),
                ),
            ),
            figure(one.processes),
            figure(one.waiting),
            figure(one.deadlocked),
        );
    }

    update(): void {
        const info = this.app.info;
        const row = (name: string, value: string) => [h('dt', {}, name), h('dd', {}, value)];
        this.facts.replaceChildren(
            ...(info
                ? [
                      ...row('Kind', info.kind === 'avoid' ? 'avoids deadlocks' : 'detects deadlocks'),
                      ...row('Engine', info.engine + (info.note ? ` (${info.note})` : '')),
                      ...row('Events', info.events.toLocaleString('en')),
                      ...row('Deadlocks so far', info.incidents.toLocaleString('en')),
                  ]
                : []),
        );
    }

    paint(): void {
        const { times, events, waiting, deadlocks, p50, p99 } = this.long ?? this.past;
        this.events.set(times, [{ label: '', colour: 'accent', values: events, fill: true }]);
        this.latency.set(times, [
            { label: 'median', colour: 'resource', values: p50 },
            { label: 'p99', colour: 'wait', values: p99 },
        ]);
        this.waiting.set(times, [{ label: '', colour: 'wait', values: waiting, fill: true }]);
        this.deadlocks.set(times, [{ label: '', colour: 'dead', values: deadlocks, fill: true }]);
    }
}

export function legend(): HTMLElement {
    const entry = (mark: string, text: string) =>
        h('li', {}, h('span', { class: mark, 'aria-hidden': 'true' }), text);
    return h(
        'ul',
        { class: 'signs' },
        entry('sign process busy', 'process that runs'),
        entry('sign resource busy', 'resource in use'),
        entry('sign process waiting', 'process that waits'),
        entry('sign resource waiting', 'resource with waiters'),
        entry('sign process idle', 'holds nothing'),
        entry('sign resource idle', 'free'),
        entry('stroke', 'is held by'),
        entry('stroke wait', 'waits for'),
        entry('sign process dead', 'deadlocked'),
        entry('stroke dead', 'the deadlock'),
        entry('sign process doomed', 'blocked behind it'),
    );
}
