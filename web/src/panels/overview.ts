// Rates and latency over time, and what the signs mean.

import type { App } from '../app';
import { h } from '../dom';
import { Chart } from './charts';
import { history, type History } from '../rates';

export class Overview {
    readonly element: HTMLElement;
    private readonly events = new Chart('Events', 'a second');
    private readonly latency = new Chart('Latency', 'µs');
    private readonly waiting = new Chart('Waiting', 'processes');
    private readonly deadlocks = new Chart('Deadlocks', 'a second');
    private readonly facts = h('dl', { class: 'facts' });
    private past: History = history();

    constructor(private readonly app: App) {
        this.element = h(
            'div',
            { class: 'page' },
            this.events.element,
            this.latency.element,
            this.waiting.element,
            this.deadlocks.element,
            h('section', {}, h('h3', {}, 'System'), this.facts),
            h('section', {}, h('h3', {}, 'Signs'), legend()),
        );
        new ResizeObserver(() => this.paint()).observe(this.element);
    }

    setRates(past: History): void {
        this.past = past;
        this.paint();
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
        const { times, events, waiting, deadlocks, p50, p99 } = this.past;
        this.events.set(times, [{ label: '', colour: 'accent', values: events, fill: true }]);
        this.latency.set(times, [
            { label: 'median', colour: 'resource', values: p50 },
            { label: '99 %', colour: 'wait', values: p99 },
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
        entry('sign resource waiting', 'somebody waits for it'),
        entry('sign process idle', 'holds nothing'),
        entry('sign resource idle', 'free'),
        entry('stroke', 'is held by'),
        entry('stroke wait', 'waits for'),
        entry('sign process dead', 'deadlocked'),
        entry('stroke dead', 'the deadlock'),
        entry('sign process doomed', 'stuck behind it'),
    );
}
