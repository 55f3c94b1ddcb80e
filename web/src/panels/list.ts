// The graph as a table: each process with its state, holdings and waits. It serves screen readers, and searches
// in a graph that is too full for a picture.

import type { App } from '../app';
import { count, h, replace } from '../dom';
import { save } from '../export';
import type { Process } from '../graph';
import { shown } from '../names';
import { awaitText, nameButton, sign, stateOf, stateWord } from './parts';

const pageRows = 100;

export class List {
    readonly element: HTMLElement;
    private readonly which = h(
        'select',
        {},
        h('option', { value: 'all' }, 'all'),
        h('option', { value: 'waiting' }, 'waiting'),
        h('option', { value: 'dead' }, 'deadlocked'),
        h('option', { value: 'busy' }, 'holding something'),
    );
    private readonly text = h('input', { type: 'search', placeholder: 'any', spellcheck: 'false' });
    private readonly caption = h('caption', {});
    private readonly body = h('tbody', {});
    private readonly more = h('button', { type: 'button' }, 'More');
    private readonly rows = new Map<number, { row: HTMLTableRowElement; text: string }>();
    private shown = pageRows;

    constructor(private readonly app: App) {
        this.more.addEventListener('click', () => {
            this.shown += pageRows;
            this.update();
        });
        for (const control of [this.which, this.text]) {
            control.addEventListener('input', () => {
                this.shown = pageRows;
                this.update();
            });
        }
        const head = ['Process', 'State', 'Holds', 'Waits for'].map((name) =>
            h('th', { scope: 'col' }, name),
        );
        this.element = h(
            'div',
            { class: 'page' },
            h(
                'div',
                { class: 'fields' },
                h('label', {}, 'Show', this.which),
                h('label', {}, 'Name contains', this.text),
            ),
            h(
                'div',
                { class: 'scroll' },
                h('table', {}, this.caption, h('thead', {}, h('tr', {}, ...head)), this.body),
            ),
            this.more,
            h(
                'div',
                { class: 'acts', role: 'group', 'aria-label': 'Save the loaded graph' },
                ...(['svg', 'csv', 'json'] as const).map((format) =>
                    h('button', { type: 'button', onclick: () => save(app, format) }, `Save as ${format.toUpperCase()}`),
                ),
            ),
        );
    }

    update(): void {
        this.app.graph.judge();
        const matching = this.matching();
        const visible = matching.slice(0, this.shown);
        const kept = new Set(visible.map((process) => process.id));
        for (const [id, { row }] of this.rows) {
            if (!kept.has(id)) {
                row.remove();
                this.rows.delete(id);
            }
        }
        visible.forEach((process, index) => this.put(process, index));
        this.caption.textContent = `${count(matching.length, 'process', 'processes')}${matching.length > visible.length ? `, the first ${visible.length} of them` : ''}`;
        this.more.hidden = matching.length <= visible.length;
    }

    private matching(): Process[] {
        const wanted = this.which.value;
        const text = this.text.value.trim().toLowerCase();
        const rank = { dead: 0, doomed: 1, waiting: 2, busy: 3, idle: 4 };
        return [...this.app.graph.processes.values()]
            .filter(
                (process) =>
                    (wanted === 'all' ||
                        (wanted === 'waiting' && process.waits.size > 0) ||
                        (wanted === 'dead' && process.dead) ||
                        (wanted === 'busy' && process.holds.size > 0)) &&
                    (text === '' || [process.name, ...process.labels].some((one) => one.toLowerCase().includes(text))),
            )
            .sort(
                (a, b) =>
                    rank[stateOf(a)] - rank[stateOf(b)] ||
                    a.name.localeCompare(b.name, 'en', { numeric: true }),
            );
    }

    /** Updates only rows that have changed, so that focus and reading position stay. */
    private put(process: Process, index: number): void {
        const { resources } = this.app.graph;
        const thing = ([id, units]: [number, number]) =>
            awaitText(this.app.graph, resources.get(id), units) ??
            shown(resources.get(id)?.name ?? `#${id}`) + (units === 1 ? '' : ` ×${units}`);
        const things = (edges: [number, number][]) =>
            edges.slice(0, 30).map(thing).join(', ') +
            (edges.length > 30 ? ` and ${edges.length - 30} more` : '');
        const holds = things([...process.holds].filter(([id]) => !resources.get(id)?.await));
        const waits = things([...process.waits]);
        const labels = process.labels.map(shown).join(' ');
        const text = [process.name, stateOf(process), holds, waits, labels].join('|');
        let entry = this.rows.get(process.id);
        if (!entry || entry.text !== text) {
            const row = entry?.row ?? h('tr', {});
            const focused = row.contains(document.activeElement);
            row.className = process.dead ? 'dead' : '';
            const name = nameButton(this.app, process);
            replace(
                row,
                h(
                    'th',
                    { scope: 'row' },
                    h('span', { class: 'cell' }, sign(process), name),
                    labels && h('small', { class: 'row-labels' }, labels),
                ),
                h('td', {}, stateWord(process)),
                h('td', {}, h('span', { class: 'mono' }, holds || '–')),
                h('td', {}, h('span', { class: 'mono' }, waits || '–')),
            );
            if (focused) {
                name.focus();
            }
            entry = { row, text };
            this.rows.set(process.id, entry);
        }
        if (this.body.children[index] !== entry.row) {
            this.body.insertBefore(entry.row, this.body.children[index] ?? null);
        }
    }

    clear(): void {
        this.rows.clear();
        replace(this.body);
    }
}
