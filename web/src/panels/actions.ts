// Ending a process and cancelling a wait by hand, and the trail of what was done.

import { api, type Action } from '../api';
import type { App } from '../app';
import { byId, h, replace } from '../dom';
import { shown } from '../names';

/** Asks once more, and for a reason. Resolves when it is done, or not to be done. */
export function askToAct(app: App, what: 'end' | 'cancel', process: string): Promise<void> {
    const dialog = byId<HTMLDialogElement>('act');
    const title = what === 'end' ? `End ${shown(process)}?` : `Cancel what ${shown(process)} waits for?`;
    const told = h('p', { class: 'error', role: 'alert' });
    const reason = h('input', { type: 'text', maxlength: '500', id: 'act-reason', autocomplete: 'off' });
    const system = app.system;
    return new Promise((resolve) => {
        const form = h(
            'form',
            {},
            h('h2', { id: 'act-title' }, title),
            h(
                'p',
                {},
                what === 'end'
                    ? 'It gives back all it holds, and waits for nothing any more. Its program is not told, but by what its next event is answered.'
                    : 'It waits for nothing any more, and keeps what it holds. Its program is not told.',
            ),
            h('label', {}, 'Why (kept in the trail)', reason),
            told,
            h(
                'div',
                { class: 'foot' },
                h('button', { type: 'button', onclick: () => dialog.close() }, 'Leave it'),
                h('button', { type: 'submit', class: 'main danger' }, what === 'end' ? 'End it' : 'Cancel its wait'),
            ),
        );
        form.addEventListener('submit', (event) => {
            event.preventDefault();
            api.act(system, what, process, reason.value).then(
                () => dialog.close(),
                (problem: Error) => {
                    told.textContent = problem.message;
                },
            );
        });
        dialog.addEventListener(
            'close',
            () => {
                void app.actions.load();
                resolve();
            },
            { once: true },
        );
        replace(dialog, form);
        dialog.showModal();
        reason.focus();
    });
}

/** What operators have done. */
/** What was done, before the name of whom it was done to. */
function done(what: string | null): string {
    switch (what) {
        case 'exit':
            return 'ended ';
        case 'cancel':
            return 'cancelled ';
        case 'label':
            return 'labelled ';
        default:
            return `${what ?? ''} `;
    }
}

export class Actions {
    readonly element = h('div', { class: 'page' });
    private readonly list = h('ul', { class: 'trail', 'aria-label': 'What was done by hand' });
    private readonly told = h('p', { class: 'muted', role: 'status' });

    constructor(private readonly app: App) {
        replace(this.element, h('h2', {}, 'Done by hand'), this.told, this.list);
    }

    async load(): Promise<void> {
        try {
            const { actions } = await api.audit(this.app.system);
            replace(this.list, ...actions.map((one) => this.entry(one)));
            this.told.textContent = actions.length === 0 ? 'Nobody has done anything by hand.' : '';
        } catch (problem) {
            this.told.textContent = problem instanceof Error ? problem.message : String(problem);
        }
    }

    private entry(one: Action): HTMLElement {
        return h(
            'li',
            {},
            h('time', { datetime: new Date(one.at).toISOString() }, new Date(one.at).toLocaleString('en-GB')),
            ' ',
            h('b', {}, done(one.what)),
            shown(one.process ?? ''),
            h('small', {}, ` by ${shown(one.who ?? '')}${one.why ? ': ' + shown(one.why) : ''}`),
        );
    }
}
