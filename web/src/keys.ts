// Keyboard shortcuts for everything that the pointer can do. dialogs.ts has the help text.

import type { App } from './app';
import { openHelp } from './dialogs';
import { byId } from './dom';
import { neighbours, type Node } from './graph';
import type { Search } from './search';
import { Look } from './view/scene';

const isTyping = (target: EventTarget | null) =>
    target instanceof HTMLElement &&
    target.matches('input:not([type=range]):not([type=checkbox]), select, textarea');

export function toggleTheme(app: App): void {
    const root = document.documentElement;
    const dark = root.dataset.theme
        ? root.dataset.theme === 'dark'
        : matchMedia('(prefers-color-scheme: dark)').matches;
    root.dataset.theme = dark ? 'light' : 'dark';
    try {
        localStorage.setItem('gordian-theme', root.dataset.theme);
    } catch {
        // No storage: the choice lasts until the page is closed.
    }
    app.stage.retheme();
    app.overview.paint();
    app.bar.update();
}

/** The node after (or before) the selected one, in the order: deadlocked, waiting, the others; by name. */
function stepNode(app: App, by: number): void {
    const scene = app.stage.scene;
    const order = scene.nodes
        .map((node, slot) => ({ node, look: scene.looks[slot]! }))
        .filter((one): one is { node: Node; look: number } => one.node !== null)
        .sort((a, b) => b.look - a.look || a.node.name.localeCompare(b.node.name, 'en', { numeric: true }));
    if (order.length > 0) {
        const at = order.findIndex((one) => one.node === app.selected);
        const next = at < 0 ? (by > 0 ? 0 : order.length - 1) : (at + by + order.length) % order.length;
        app.select(order[next]!.node, false);
        app.centre(order[next]!.node);
    }
}

/** The next neighbor of the selected node, in a cycle; those that it waits for come first. */
function stepNeighbour(app: App): void {
    const node = app.selected;
    if (!node) {
        stepNode(app, 1);
        return;
    }
    const next = neighbours(app.graph, node);
    const found =
        next.find((one) => app.stage.scene.looks[app.stage.scene.slotOf(one)] === Look.dead) ??
        next[0];
    if (found) {
        app.select(found, false);
        app.centre(found);
    }
}

function moves(app: App, key: string, far: boolean): boolean {
    const step = far ? 240 : 60;
    const ways: Record<string, [number, number]> = {
        ArrowLeft: [step, 0],
        ArrowRight: [-step, 0],
        ArrowUp: [0, step],
        ArrowDown: [0, -step],
    };
    const way = ways[key];
    if (!way || document.activeElement !== app.stage.canvas) {
        return false;
    }
    app.stage.pan(...way);
    return true;
}

function replays(app: App, event: KeyboardEvent): boolean {
    const replay = app.replay;
    if (!replay) {
        return false;
    }
    const onButton = event.target instanceof HTMLButtonElement;
    if (event.key === ' ' && !onButton) {
        app.bar.toggle();
    } else if (event.key === ',') {
        app.bar.jump(replay.position - 1);
    } else if (event.key === '.') {
        app.bar.jump(replay.position + 1);
    } else {
        return false;
    }
    return true;
}

function letGo(app: App): void {
    if (app.selected) {
        app.select(null, false);
    } else if (app.show !== 'all') {
        app.setShow('all');
    } else if (app.replay) {
        app.closeReplay();
    } else if (app.then) {
        app.closePast();
    }
}

export function listenToKeys(app: App, search: Search, toggleOverlay: () => void): void {
    const acts: Record<string, () => void> = {
        '/': () => search.focus(),
        d: () => app.isolateDead(),
        w: () => app.setShow(app.show === 'waiting' ? 'all' : 'waiting'),
        f: () => app.stage.fit(),
        '+': () => app.stage.zoom(1.4),
        '=': () => app.stage.zoom(1.4),
        '-': () => app.stage.zoom(1 / 1.4),
        '[': () => stepNode(app, -1),
        ']': () => stepNode(app, 1),
        n: () => stepNeighbour(app),
        p: () => (app.then ? app.closePast() : void app.openPast()),
        t: () => toggleTheme(app),
        g: toggleOverlay,
        '?': openHelp,
        Escape: () => letGo(app),
        '1': () => app.openTab('overview'),
        '2': () => app.openTab('inspect'),
        '3': () => app.openTab('incidents'),
        '4': () => app.openTab('list'),
        '5': () => app.openTab('blockers'),
    };
    document.addEventListener('keydown', (event) => {
        if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector('dialog[open]')) {
            return;
        }
        if (isTyping(event.target)) {
            if (event.key === 'Escape') {
                (event.target as HTMLElement).blur();
            }
            return;
        }
        if (replays(app, event) || moves(app, event.key, event.shiftKey)) {
            event.preventDefault();
            return;
        }
        if (event.key === 'Enter' && document.activeElement === app.stage.canvas && app.selected) {
            app.openTab('inspect');
            byId('page-inspect').focus();
            event.preventDefault();
            return;
        }
        const act = acts[event.key];
        if (act) {
            act();
            event.preventDefault();
        }
    });
}
