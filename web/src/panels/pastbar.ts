// Point-in-time query: a slider over the history that the service keeps in its journal. The service computes the
// graph for each chosen time.

import { api } from '../api';
import { when, type App } from '../app';
import { byId, duration, h, replace } from '../dom';
import { Graph } from '../graph';

const soon = 200; // ms without a move before a request
const steps = 1000; // of the slider

export class PastBar {
    private readonly element = byId<HTMLElement>('past');
    private readonly slider = h('input', { type: 'range', id: 'past-slider', 'aria-label': 'Point in time' });
    private readonly time = h('span', { class: 'time' });
    private readonly message = h('span', { class: 'what', role: 'status' });
    private at = 0;
    private from = 0;
    private until = 0;
    private timer = 0;
    private turn = 0;

    constructor(private readonly app: App) {
        this.slider.addEventListener('input', () => this.move(Number(this.slider.value), soon));
    }

    async open(at?: number): Promise<void> {
        const range = await api.pastRange();
        this.from = range.from;
        this.until = range.until;
        this.slider.min = String(this.from);
        this.slider.max = String(this.until);
        this.slider.step = String(Math.max(1, Math.round((this.until - this.from) / steps)));
        const step = (text: string, label: string, ms: number) =>
            h('button', { type: 'button', class: 'plain', 'aria-label': label, onclick: () => this.move(this.at + ms, 0) }, text);
        replace(
            this.element,
            h(
                'div',
                { class: 'head' },
                h('b', {}, 'History'),
                h('span', { class: 'when' }, `kept since ${when(this.from)}`),
                h('button', { type: 'button', id: 'past-close', onclick: () => this.app.closePast() }, 'Back to now'),
            ),
            h(
                'div',
                { class: 'row' },
                step('−1 min', 'A minute back', -60000),
                step('−1 s', 'A second back', -1000),
                h('div', { class: 'track' }, this.slider),
                step('+1 s', 'A second forward', 1000),
                step('+1 min', 'A minute forward', 60000),
            ),
            h('div', { class: 'status' }, this.time, this.message),
        );
        this.element.hidden = false;
        this.move(at ?? this.until, 0);
        this.slider.focus({ preventScroll: true });
    }

    close(): void {
        clearTimeout(this.timer);
        this.turn++;
        this.element.hidden = true;
    }

    private move(to: number, wait: number): void {
        this.at = Math.round(Math.max(this.from, Math.min(this.until, to)));
        this.slider.value = String(this.at);
        const ago = duration(Math.max(0, Date.now() - this.at));
        this.time.textContent = when(this.at);
        this.slider.setAttribute('aria-valuetext', `${when(this.at)}, ${ago} ago`);
        clearTimeout(this.timer);
        this.timer = window.setTimeout(() => void this.load(), wait);
    }

    private async load(): Promise<void> {
        const turn = ++this.turn;
        const { at } = this;
        this.message.textContent = 'loading…';
        try {
            const graph = Graph.from(await api.graph(this.app.system, { at, label: this.app.live.label }));
            if (turn === this.turn) {
                this.message.textContent = `${duration(Math.max(0, Date.now() - at))} ago`;
                this.app.showThen(graph, at);
            }
        } catch (problem) {
            if (turn === this.turn) {
                this.message.textContent = problem instanceof Error ? problem.message : String(problem);
            }
        }
    }
}
