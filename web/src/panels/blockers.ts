// The tree of blockers: processes ranked by the number of waiters behind them. It also works for graphs that
// are too large for a picture.

import { api, type Blocker } from '../api';
import type { App } from '../app';
import { count, duration, h, replace } from '../dom';
import { shown } from '../names';

const every = 2000; // ms between two requests while the tab is open

export class Blockers {
    readonly element = h('div', { class: 'page' });
    private readonly message = h('p', { class: 'muted', role: 'status' });
    private readonly roots = h('ul', { class: 'blockers', 'aria-label': 'Top blockers' });
    private readonly opened = new Set<string>();
    private timer = 0;
    private turn = 0;

    constructor(private readonly app: App) {
        replace(
            this.element,
            h('h2', {}, 'Top blockers'),
            h('p', { class: 'muted' }, 'Ranked by the number of processes blocked behind each, directly or not. Open an entry to see its waiters.'),
            this.message,
            this.roots,
        );
    }

    /** The tab is shown or hidden. */
    watch(yes: boolean): void {
        clearInterval(this.timer);
        if (yes) {
            void this.load();
            this.timer = window.setInterval(() => void this.load(), every);
        }
    }

    clear(): void {
        this.opened.clear();
        replace(this.roots);
        this.message.textContent = '';
    }

    async load(): Promise<void> {
        const turn = ++this.turn;
        const system = this.app.system;
        try {
            const answer = await api.blockers(system, { label: this.app.live.label });
            const under = new Map<string, Blocker[]>();
            for (const name of this.opened) {
                under.set(name, await this.waitersOf(name));
            }
            if (turn !== this.turn || system !== this.app.system || this.element.contains(busyIn())) {
                return;
            }
            const focus = (document.activeElement as HTMLElement | null)?.dataset?.key;
            replace(this.roots, ...answer.blockers.map((one) => this.entry(one, under, new Set())));
            if (focus) {
                this.roots.querySelector<HTMLElement>(`[data-key="${CSS.escape(focus)}"]`)?.focus();
            }
            this.message.textContent =
                answer.at === null
                    ? 'Loading…'
                    : answer.blockers.length === 0
                      ? this.app.live.label
                          ? `No process with the label ${shown(this.app.live.label)} blocks another.`
                          : 'No process waits for another.'
                      : `${count(answer.waiting, 'process waits', 'processes wait')}.`;
        } catch (problem) {
            this.message.textContent = problem instanceof Error ? problem.message : String(problem);
        }
    }

    private async waitersOf(name: string): Promise<Blocker[]> {
        try {
            return (await api.blockers(this.app.system, { under: name })).blockers;
        } catch {
            return []; // it no longer exists
        }
    }

    private entry(one: Blocker, under: Map<string, Blocker[]>, above: Set<string>): HTMLElement {
        const open = this.opened.has(one.process) && !above.has(one.process);
        const below = new Set(above).add(one.process);
        const waited = one.since_ms === null ? '' : ` for ${duration(Math.max(0, Date.now() - one.since_ms))}`;
        const state = one.deadlocked ? 'deadlocked' : one.waiting ? 'waits' + waited : 'runs';
        const toggle =
            one.blocks > 0 && !above.has(one.process)
                ? h(
                      'button',
                      {
                          type: 'button',
                          class: 'plain twist',
                          'data-key': 'open ' + one.process,
                          'aria-expanded': String(open),
                          'aria-label': `Waiters for ${shown(one.process)}`,
                          onclick: () => this.toggle(one.process),
                      },
                      open ? '▾' : '▸',
                  )
                : h('span', { class: 'twist', 'aria-hidden': 'true' }, '·');
        const children = open ? (under.get(one.process) ?? []) : [];
        return h(
            'li',
            {},
            h(
                'div',
                { class: 'blocker' },
                toggle,
                h('b', { class: 'many' }, one.blocks.toLocaleString('en')),
                h(
                    'button',
                    {
                        type: 'button',
                        class: 'name',
                        'data-key': 'name ' + one.process,
                        onclick: () => void this.app.lookAround(one.process),
                    },
                    shown(one.process),
                ),
                h('span', { class: `state ${one.deadlocked ? 'dead' : one.waiting ? 'waiting' : ''}` }, state),
                one.holds.length > 0 && h('small', {}, `has ${one.holds.map(shown).join(', ')}`),
                one.labels && h('small', {}, one.labels.map(shown).join(' ')),
                one.circle && h('small', {}, 'a cycle'),
            ),
            children.length > 0 && h('ul', {}, ...children.map((child) => this.entry(child, under, below))),
        );
    }

    private toggle(name: string): void {
        if (!this.opened.delete(name)) {
            this.opened.add(name);
        }
        void this.load();
    }
}

/** An element in use, which must not be replaced under the pointer. */
const busyIn = (): Element | null => document.querySelector('.blockers button:active');
