// The two dialogs: keys and signs, and the token.

import { api, ApiError } from './api';
import { byId, h, replace } from './dom';
import { legend } from './panels/overview';

const keys: [string[], string][] = [
    [['/'], 'find a process or resource'],
    [['d'], 'isolate what is deadlocked, and back'],
    [['w'], 'only what waits, and back'],
    [['f'], 'fit everything into the picture'],
    [['+', '−'], 'closer, further'],
    [['← ↑ ↓ →'], 'move the picture (when it has the focus)'],
    [['[', ']'], 'previous, next node of the picture; those deadlocked first'],
    [['n'], 'next neighbour of the chosen node'],
    [['Enter'], 'details of the chosen node'],
    [['1', '2', '3', '4', '5'], 'overview, details, deadlocks, list, blockers'],
    [['space'], 'replay: play, pause'],
    [[',', '.'], 'replay: one event back, forth'],
    [['p'], 'the past, and back to now'],
    [['t'], 'light, dark'],
    [['g'], 'how long frames take'],
    [['Esc'], 'let go: the node, the replay or the past, the isolation'],
    [['?'], 'this'],
];

export function openHelp(): void {
    const dialog = byId<HTMLDialogElement>('help');
    replace(
        dialog,
        h('h2', { id: 'help-title' }, 'Keys'),
        h(
            'dl',
            { class: 'keys' },
            ...keys.flatMap(([names, text]) => [
                h('dt', {}, ...names.flatMap((name) => [h('kbd', {}, name), ' '])),
                h('dd', {}, text),
            ]),
        ),
        h('h2', {}, 'Signs'),
        legend(),
        h(
            'div',
            { class: 'foot' },
            h(
                'button',
                { type: 'button', class: 'main', autofocus: true, onclick: () => dialog.close() },
                'Close',
            ),
        ),
    );
    if (!dialog.open) {
        dialog.showModal();
    }
}

/** Asks for the token until the service takes it; `again`: there was one that it took before. */
export function logIn(again: boolean): Promise<void> {
    const dialog = byId<HTMLDialogElement>('login');
    if (dialog.open) {
        return new Promise(() => {});
    }
    return new Promise((resolve) => {
        const token = h('input', {
            type: 'password',
            autocomplete: 'current-password',
            required: true,
            id: 'token',
        });
        const told = h('p', { class: 'error', role: 'alert' });
        const form = h(
            'form',
            {},
            h('h2', { id: 'login-title' }, 'Gordian wants a token'),
            again && h('p', {}, 'Your login has ended: 12 hours are over, or its token was taken back.'),
            h('p', { class: 'muted' }, 'It is in the file the service was started with (--token-file).'),
            h('label', {}, 'Token', token),
            told,
            h('div', { class: 'foot' }, h('button', { type: 'submit', class: 'main' }, 'Log in')),
        );
        form.addEventListener('submit', (event) => {
            event.preventDefault();
            api.login(token.value).then(
                () => {
                    dialog.close();
                    resolve();
                },
                (problem: Error) => {
                    told.textContent =
                        problem instanceof ApiError && problem.status === 401
                            ? 'That is not the token.'
                            : problem.message;
                    token.select();
                },
            );
        });
        dialog.addEventListener('cancel', (event) => event.preventDefault());
        replace(dialog, form);
        dialog.showModal();
        token.focus();
    });
}
