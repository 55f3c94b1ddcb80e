// Operator actions: end a process, cancel a wait; and the audit trail.

import { api, type Action } from '../api';
import type { App } from '../app';
import { byId, h, replace } from '../dom';
import { shown } from '../names';

/** Asks for confirmation and a reason. Resolves when the action is done or refused. */
export function askToAct(app: App, what: 'end' | 'cancel', process: string): Promise<void> {
    const dialog = byId<HTMLDialogElement>('act');
    const title = what === 'end' ? `End ${shown(process)}?` : `Cancel the wait of ${shown(process)}?`;
    const message = h('p', { class: 'error', role: 'alert' });
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
                    ? 'It releases everything it holds and waits for nothing. Its program learns this from the answer to its next event.'
                    : 'It stops waiting and keeps what it holds. Its program gets no message.',
            ),
            h('label', {}, 'Reason (kept in the audit trail)', reason),
            message,
            h(
                'div',
                { class: 'foot' },
                h('button', { type: 'button', onclick: () => dialog.close() }, 'Do nothing'),
                h('button', { type: 'submit', class: 'main danger' }, what === 'end' ? 'End it' : 'Cancel its wait'),
            ),
        );
        form.addEventListener('submit', (event) => {
            event.preventDefault();
            api.act(system, what, process, reason.value).then(
                () => dialog.close(),
                (problem: Error) => {
                    message.textContent = problem.message;
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

/** The audit trail of operators. */
/** The verb of each action; the name of the process follows. */
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
    private readonly list = h('ul', { class: 'trail', 'aria-label': 'Operator actions' });
    private readonly message = h('p', { class: 'muted', role: 'status' });

    constructor(private readonly app: App) {
        replace(this.element, h('h2', {}, 'Operator actions'), this.message, this.list);
    }

    async load(): Promise<void> {
        try {
            const { actions } = await api.audit(this.app.system);
            replace(this.list, ...actions.map((one) => this.entry(one)));
            this.message.textContent = actions.length === 0 ? 'No operator has done anything yet.' : '';
        } catch (problem) {
            this.message.textContent = problem instanceof Error ? problem.message : String(problem);
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
