// Small charts of the last minutes: one or two lines on a canvas, with the current value next to them.

import { duration, h, short } from '../dom';
import { readTheme, type Theme } from '../view/theme';

export interface Series {
    label: string;
    colour: 'accent' | 'wait' | 'dead' | 'busy' | 'resource';
    values: number[];
    fill?: boolean;
}

export class Chart {
    readonly element: HTMLElement;
    private readonly canvas = h('canvas', { role: 'img' });
    private readonly now = h('span', { class: 'now' });
    private readonly from = h('span', {});
    private readonly to = h('span', {});
    private series: Series[] = [];
    private pointed = -1;
    private times: number[] = [];

    constructor(
        private readonly title: string,
        private readonly unit: string,
    ) {
        this.element = h(
            'section',
            { class: 'chart' },
            h('div', { class: 'top' }, h('h3', {}, title), this.now),
            this.canvas,
            h('div', { class: 'axis', 'aria-hidden': 'true' }, this.from, h('span', {}, 'time'), this.to),
        );
        this.canvas.addEventListener('pointermove', (event) => {
            const box = this.canvas.getBoundingClientRect();
            const points = this.series[0]?.values.length ?? 0;
            this.pointed = Math.round(((event.clientX - box.left) / box.width) * (points - 1));
            this.paint();
        });
        this.canvas.addEventListener('pointerleave', () => {
            this.pointed = -1;
            this.paint();
        });
    }

    set(times: number[], series: Series[]): void {
        this.times = times;
        this.series = series;
        this.paint();
    }

    paint(): void {
        this.describe();
        this.from.textContent = clock(this.times[0], this.times.at(-1));
        this.to.textContent = clock(this.times.at(-1), this.times[0]);
        const box = this.canvas.getBoundingClientRect();
        if (box.width === 0) {
            return;
        }
        const ratio = Math.min(2, window.devicePixelRatio || 1);
        this.canvas.width = Math.round(box.width * ratio);
        this.canvas.height = Math.round(box.height * ratio);
        const context = this.canvas.getContext('2d')!;
        context.scale(ratio, ratio);
        const theme = readTheme();
        const top = roundScale(highest(this.series));
        context.strokeStyle = theme.line;
        context.lineWidth = 1;
        context.beginPath();
        for (const share of [0, 0.5, 1]) {
            const y = Math.round(share * (box.height - 1)) + 0.5;
            context.moveTo(0, y);
            context.lineTo(box.width, y);
        }
        context.stroke();
        for (const one of this.series) {
            this.line(context, one, box, top, theme[one.colour]);
        }
        this.scale(context, box, top, theme);
        const points = this.series[0]?.values.length ?? 0;
        if (this.pointed >= 0 && this.pointed < points) {
            const x = (this.pointed / Math.max(1, points - 1)) * box.width;
            context.strokeStyle = theme.muted;
            context.beginPath();
            context.moveTo(x, 0);
            context.lineTo(x, box.height);
            context.stroke();
        }
    }

    /** Labels of the grid lines, the top one with the unit. */
    private scale(context: CanvasRenderingContext2D, box: DOMRect, top: number, theme: Theme): void {
        context.font = `10px ${theme.font}`;
        context.textBaseline = 'top';
        context.lineWidth = 3;
        context.strokeStyle = theme.surface;
        context.fillStyle = theme.muted;
        for (const [share, text] of [[0, `${short(top)} ${this.unit}`], [0.5, short(top / 2)]] as const) {
            const y = share * (box.height - 1) + 3;
            context.strokeText(text, 3, y);
            context.fillText(text, 3, y);
        }
    }

    private line(
        context: CanvasRenderingContext2D,
        one: Series,
        box: DOMRect,
        top: number,
        colour: string,
    ): void {
        const last = Math.max(1, one.values.length - 1);
        const x = (i: number) => (i / last) * box.width;
        const y = (value: number) => box.height - 1.5 - (value / top) * (box.height - 4);
        context.beginPath();
        let down = false;
        one.values.forEach((value, i) => {
            if (!Number.isFinite(value)) {
                down = false;
            } else if (down) {
                context.lineTo(x(i), y(value));
            } else {
                // Draw a value between two gaps as a dot.
                context.moveTo(x(i) - 0.8, y(value));
                context.lineTo(x(i), y(value));
                down = true;
            }
        });
        context.strokeStyle = colour;
        context.lineWidth = 1.6;
        context.lineJoin = 'round';
        context.stroke();
        if (one.fill && one.values.length > 1) {
            context.lineTo(box.width, box.height);
            context.lineTo(0, box.height);
            context.closePath();
            context.globalAlpha = 0.12;
            context.fillStyle = colour;
            context.fill();
            context.globalAlpha = 1;
        }
    }

    /** The values as text, next to the chart and for screen readers. */
    private describe(): void {
        const points = this.series[0]?.values.length ?? 0;
        const at = this.pointed >= 0 && this.pointed < points ? this.pointed : points - 1;
        const values = this.series.map(
            (one) => `${one.label ? one.label + ' ' : ''}${short(one.values[at] ?? 0)}`,
        );
        const when =
            at >= 0 && at < points - 1
                ? ` at ${clock(this.times[at], this.times.at(-1), true)}`
                : '';
        this.now.replaceChildren(values.join(' · ') + ' ', h('small', {}, this.unit + when));
        const peak = Math.max(0, highest(this.series));
        this.canvas.setAttribute(
            'aria-label',
            `${this.title} over the last ${duration((this.times.at(-1) ?? 0) - (this.times[0] ?? 0))}: now ${values.join(', ')}, highest ${short(peak)} ${this.unit}`,
        );
    }
}

/** A time, with the date if the chart spans days. */
function clock(time: number | undefined, other: number | undefined, exact = false): string {
    if (!time) {
        return '';
    }
    const days = Math.abs((other ?? time) - time) > 20 * 3600 * 1000;
    const options: Intl.DateTimeFormatOptions = { hour: '2-digit', minute: '2-digit' };
    return new Date(time).toLocaleString('en-GB', {
        ...options,
        ...(days ? { day: 'numeric', month: 'short' } : {}),
        ...(exact && !days ? { second: '2-digit' } : {}),
    });
}

/** The smallest of 1, 2 or 5 times a power of ten that is at least `peak`. */
function roundScale(peak: number): number {
    if (!(peak > 0)) {
        return 1;
    }
    const power = 10 ** Math.floor(Math.log10(peak));
    return [1, 2, 5, 10].map((factor) => factor * power).find((scale) => scale >= peak)!;
}

const highest = (series: Series[]) =>
    series.reduce(
        (most, one) => one.values.reduce((high, value) => (value > high ? value : high), most),
        -Infinity,
    );
