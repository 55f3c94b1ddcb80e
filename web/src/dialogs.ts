// The two dialogs: the help on keys and symbols, and the login.

import { api, ApiError } from './api';
import { byId, h, replace } from './dom';
import { legend } from './panels/overview';

const keys: [string[], string][] = [
    [['/'], 'find a process or resource'],
    [['d'], 'show deadlocked nodes only, on and off'],
    [['w'], 'show waiters only, on and off'],
    [['f'], 'fit everything into the picture'],
    [['+', '−'], 'zoom in, zoom out'],
    [['← ↑ ↓ →'], 'move the picture (when it has the focus)'],
    [['[', ']'], 'previous, next node of the picture; deadlocked nodes first'],
    [['n'], 'next neighbor of the selected node'],
    [['Enter'], 'details of the selected node'],
    [['1', '2', '3', '4', '5'], 'overview, details, deadlocks, list, blockers'],
    [['space'], 'replay: play, pause'],
    [[',', '.'], 'replay: one event back, forward'],
    [['p'], 'history, and back to now'],
    [['t'], 'light or dark theme'],
    [['g'], 'show frame times'],
    [['Esc'], 'leave: the selection, the replay or history, the filter'],
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

/** Asks for the token until the service accepts one; `again`: the page was logged in before. */
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
        const message = h('p', { class: 'error', role: 'alert' });
        const form = h(
            'form',
            {},
            h('h2', { id: 'login-title' }, 'Log in to Gordian'),
            again && h('p', {}, 'Your login has expired: it lasts 12 hours, and ends early if the token is revoked.'),
            h('p', { class: 'muted' }, 'Enter a token from the file that the service was started with (--token-file).'),
            h('label', {}, 'Token', token),
            message,
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
                    message.textContent =
                        problem instanceof ApiError && problem.status === 401
                            ? 'Wrong token: enter one from the token file.'
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
