// The incident in replay: its processes, its end, and its events.

import type { App } from '../app';
import { count, duration, h, replace } from '../dom';
import { shown } from '../names';
import { nameOf } from './parts';
import { deedText, offsetText } from './replaybar';

/** With the time zone, because a shared address may come from another one. */
function moment(at: number): string {
    return new Date(at).toLocaleString('en-GB', {
        dateStyle: 'medium',
        timeStyle: 'long',
    });
}

export class Moment {
    readonly element = h('div', { class: 'page' });
    private shown = -1;
    private buttons: HTMLElement[] = [];

    constructor(private readonly app: App) {}

    update(): void {
        const replay = this.app.replay;
        if (!replay) {
            this.shown = -1;
            replace(this.element);
            return;
        }
        if (this.shown !== replay.incident.id) {
            this.shown = replay.incident.id;
            this.build();
        }
        this.buttons.forEach((button, i) => {
            button.classList.toggle('future', i >= replay.position);
            if (i === replay.position - 1) {
                button.setAttribute('aria-current', 'step');
                const box = button.parentElement;
                if (box && !box.contains(document.activeElement)) {
                    box.scrollTop = button.offsetTop - box.offsetTop - box.clientHeight / 2;
                }
            } else {
                button.removeAttribute('aria-current');
            }
        });
    }

    private build(): void {
        const { incident, events } = this.app.replay!;
        const replay = this.app.replay!;
        this.buttons = events.map((event, i) =>
            h(
                'button',
                { type: 'button', onclick: () => this.app.seek(i + 1) },
                h('span', { class: 'time' }, offsetText(replay.offset(i))),
                h('span', {}, deedText(event)),
                h('span', { class: 'said ' + event.result }, event.result),
            ),
        );
        const fact = (name: string, value: string | null) =>
            value ? [h('dt', {}, name), h('dd', {}, value)] : [];
        const names = incident.processes
            .slice(0, 60)
            .flatMap((name, i) => [i > 0 ? ', ' : '', nameOf(this.app, name, 'process')]);
        replace(
            this.element,
            h(
                'h2',
                {},
                `Deadlock ${incident.id}: ${count(incident.processes.length, 'process', 'processes')}`,
            ),
            h(
                'dl',
                { class: 'facts' },
                ...fact('System', shown(incident.system)),
                ...fact('Formed', moment(incident.at)),
                ...fact('Closed by', shown(incident.requester)),
                ...fact(
                    'Ended',
                    incident.ended === null
                        ? 'not yet'
                        : `${incident.how ?? 'yes'}, after ${duration(incident.ended - incident.at)}`,
                ),
                ...fact('Victim', incident.victim && shown(incident.victim)),
            ),
            h(
                'section',
                {},
                h('h3', {}, 'Processes'),
                h(
                    'p',
                    {},
                    ...names,
                    incident.processes.length > 60 ? ` and ${incident.processes.length - 60} more` : '',
                ),
            ),
            h(
                'section',
                {},
                h('h3', {}, 'Events before the deadlock'),
                events.length > 0
                    ? h('div', { class: 'events' }, ...this.buttons)
                    : h(
                          'p',
                          { class: 'muted' },
                          'The events before it are no longer available; the picture shows the time when it formed.',
                      ),
            ),
        );
    }
}
