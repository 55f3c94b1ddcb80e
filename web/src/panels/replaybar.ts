// The replay's controls: a slider over the events before the deadlock, play, step, and the current event.

import type { App } from '../app';
import { byId, h, icon, replace } from '../dom';
import { shown } from '../names';
import type { Replay } from '../replay';
import { readTheme } from '../view/theme';
import { stamp } from './incidents';

export class ReplayBar {
    private readonly element = byId<HTMLElement>('replay');
    private replay: Replay | null = null;
    private readonly slider = h('input', { type: 'range', min: '0', step: '1', id: 'replay-slider' });
    private readonly marks = h('canvas', { 'aria-hidden': 'true' });
    private readonly time = h('span', { class: 'time' });
    private readonly what = h('span', { class: 'what', id: 'replay-status' });
    private readonly play = h('button', { type: 'button', class: 'plain', id: 'replay-play' });
    private readonly speed = h(
        'select',
        { 'aria-label': 'Speed' },
        ...[
            ['0.1', '1/10 speed'],
            ['0.5', '1/2 speed'],
            ['1', 'real time'],
            ['4', '4x speed'],
        ].map(([value, text]) => h('option', { value: value! }, text!)),
    );
    private timer = 0;

    constructor(private readonly app: App) {
        this.slider.setAttribute('aria-label', 'Position in the replay');
        this.slider.addEventListener('input', () => {
            this.stop();
            this.app.seek(Number(this.slider.value));
        });
        this.play.addEventListener('click', () => this.toggle());
        this.speed.value = '1';
    }

    open(replay: Replay): void {
        this.stop();
        this.replay = replay;
        this.slider.max = String(replay.events.length);
        const step = (name: 'start' | 'end', label: string, to: () => number) =>
            h(
                'button',
                { type: 'button', class: 'plain', 'aria-label': label, onclick: () => this.jump(to()) },
                icon(name),
            );
        replace(
            this.element,
            h(
                'div',
                { class: 'head' },
                h('b', {}, `Deadlock ${replay.incident.id}`),
                h('span', { class: 'when' }, stamp(new Date(replay.incident.at))),
                h(
                    'button',
                    { type: 'button', id: 'replay-close', onclick: () => this.app.closeReplay() },
                    'Back to now',
                ),
            ),
            h(
                'div',
                { class: 'row' },
                step('start', 'To the start', () => 0),
                this.play,
                step('end', 'To the deadlock', () => replay.events.length),
                h('div', { class: 'track' }, this.marks, this.slider),
                this.speed,
            ),
            h('div', { class: 'status' }, this.time, this.what),
        );
        this.element.hidden = false;
        this.update();
    }

    close(): void {
        this.stop();
        this.replay = null;
        this.element.hidden = true;
    }

    get playing(): boolean {
        return this.timer !== 0;
    }

    toggle(): void {
        const replay = this.replay;
        if (!replay) {
            return;
        }
        if (this.playing) {
            this.stop();
        } else {
            if (replay.position >= replay.events.length) {
                this.app.seek(0);
            }
            this.schedule();
        }
        this.update();
    }

    jump(position: number): void {
        this.stop();
        this.app.seek(position);
    }

    update(): void {
        const replay = this.replay;
        if (!replay) {
            return;
        }
        const { position, events } = replay;
        this.slider.value = String(position);
        replace(this.play, icon(this.playing ? 'pause' : 'play'));
        this.play.setAttribute('aria-label', this.playing ? 'Pause' : 'Play');
        const event = replay.current;
        this.time.textContent = offsetText(position === 0 ? replay.offset(0) : replay.offset(position - 1));
        this.what.textContent = event ? eventText(event) : 'before the first known event';
        this.slider.setAttribute(
            'aria-valuetext',
            `${position} of ${events.length}: ${this.what.textContent}`,
        );
        this.mark();
    }

    stop(): void {
        clearTimeout(this.timer);
        this.timer = 0;
        replace(this.play, icon('play'));
        this.play.setAttribute('aria-label', 'Play');
    }

    private schedule(): void {
        const replay = this.replay;
        if (!replay) {
            return;
        }
        this.timer = window.setTimeout(
            () => {
                this.app.seek(replay.position + 1);
                if (replay.position < replay.events.length) {
                    this.schedule();
                } else {
                    this.stop();
                }
                this.update();
            },
            replay.pause(Number(this.speed.value)),
        );
    }

    /** One tick per event: amber for the start of a wait, red for the deadlock. */
    private mark(): void {
        const replay = this.replay;
        const box = this.marks.getBoundingClientRect();
        if (!replay || box.width === 0) {
            return;
        }
        const theme = readTheme();
        const ratio = Math.min(2, window.devicePixelRatio || 1);
        this.marks.width = Math.round(box.width * ratio);
        this.marks.height = Math.round(box.height * ratio);
        const context = this.marks.getContext('2d')!;
        context.scale(ratio, ratio);
        const inset = 8; // half of the slider's thumb
        const count = Math.max(1, replay.events.length);
        replay.events.forEach((event, i) => {
            const x = inset + ((i + 1) / count) * (box.width - 2 * inset);
            const dead = event.result === 'deadlock' || event.result === 'doomed';
            const height = dead ? 16 : event.result === 'blocked' ? 12 : 7;
            context.fillStyle = dead ? theme.dead : event.result === 'blocked' ? theme.wait : theme.hold;
            context.globalAlpha = i < replay.position ? 1 : 0.4;
            context.fillRect(x - 1, box.height - height, dead ? 3 : 2, height);
        });
    }
}

export function offsetText(ms: number): string {
    return `${ms < 0 ? '−' : '+'}${(Math.abs(ms) / 1000).toFixed(3)} s`;
}

const words: Record<string, string> = {
    granted: 'granted',
    blocked: 'has to wait',
    deadlock: 'closes a deadlock',
    doomed: 'waits behind a deadlock',
    released: 'done',
    cancelled: 'done',
    exited: 'done',
    error: 'refused',
};

const verbs: Record<string, string> = {
    request: 'requests',
    release: 'releases',
    cancel: 'cancels',
    exit: 'ends and releases',
    await: 'awaits',
    act: 'acts',
};

/** "cashier requests till" */
export function deedText(event: { process: string; op: string; things: string }): string {
    return event.op === 'exit' && event.things === ''
        ? `${shown(event.process)} ends`
        : `${shown(event.process)} ${verbs[event.op] ?? event.op} ${event.things}`.trimEnd();
}

export function eventText(event: { process: string; op: string; things: string; result: string }): string {
    return `${deedText(event)}: ${words[event.result] ?? event.result}`;
}
