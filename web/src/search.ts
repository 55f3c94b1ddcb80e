// Search for a node by name: a combobox over the loaded nodes; the service is asked for the others.

import type { App } from './app';
import { byId, h, replace } from './dom';
import type { Node } from './graph';
import { shown } from './names';
import { sign, stateTag } from './panels/parts';

const most = 12;

/** Matching nodes, best first: equal, begins with, contains. */
export function matches(nodes: Iterable<Node>, text: string, limit = most): Node[] {
    const wanted = text.toLowerCase();
    const ranked: { node: Node; rank: number }[] = [];
    for (const node of nodes) {
        const name = node.name.toLowerCase();
        const at = name.indexOf(wanted);
        if (at >= 0) {
            ranked.push({ node, rank: name === wanted ? 0 : at === 0 ? 1 : 2 });
        }
    }
    ranked.sort(
        (a, b) =>
            a.rank - b.rank ||
            a.node.name.length - b.node.name.length ||
            a.node.name.localeCompare(b.node.name, 'en', { numeric: true }),
    );
    return ranked.slice(0, limit).map(({ node }) => node);
}

export class Search {
    private readonly input = byId<HTMLInputElement>('find');
    private readonly list = byId<HTMLUListElement>('found');
    private found: Node[] = [];
    private at = -1;

    constructor(private readonly app: App) {
        this.input.addEventListener('input', () => this.look());
        this.input.addEventListener('focus', () => this.look());
        this.input.addEventListener('blur', () => window.setTimeout(() => this.close(), 150));
        this.input.addEventListener('keydown', (event) => this.key(event));
    }

    focus(): void {
        this.input.focus();
        this.input.select();
    }

    private *everything(): Iterable<Node> {
        yield* this.app.graph.processes.values();
        for (const resource of this.app.graph.resources.values()) {
            if (!resource.await) {
                yield resource;
            }
        }
    }

    private look(): void {
        const text = this.input.value.trim();
        if (text === '') {
            this.close();
            return;
        }
        this.found = matches(this.everything(), text);
        this.at = this.found.length > 0 ? 0 : -1;
        this.show(text);
    }

    private show(text: string): void {
        const items = this.found.map((node, i) =>
            h(
                'li',
                {
                    role: 'option',
                    id: 'found-' + i,
                    'aria-selected': String(i === this.at),
                    onpointerdown: (event: Event) => {
                        event.preventDefault();
                        this.choose(i);
                    },
                },
                sign(node),
                h('span', {}, shown(node.name)),
                stateTag(node),
            ),
        );
        if (items.length === 0) {
            const hint = this.app.graph.truncated
                ? `press Enter to ask the service for “${text}”`
                : `no node has the name “${text}”`;
            items.push(h('li', { class: 'nothing', role: 'option', 'aria-selected': 'false' }, hint));
        }
        replace(this.list, ...items);
        this.list.hidden = false;
        this.input.setAttribute('aria-expanded', 'true');
        if (this.at >= 0) {
            this.input.setAttribute('aria-activedescendant', 'found-' + this.at);
        } else {
            this.input.removeAttribute('aria-activedescendant');
        }
    }

    private key(event: KeyboardEvent): void {
        const text = this.input.value.trim();
        if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
            if (this.found.length > 0) {
                this.at =
                    (this.at + (event.key === 'ArrowDown' ? 1 : this.found.length - 1)) % this.found.length;
                this.show(text);
            }
            event.preventDefault();
        } else if (event.key === 'Enter') {
            if (this.at >= 0) {
                this.choose(this.at);
            } else if (text !== '') {
                void this.app.lookAround(text);
                this.close();
            }
            event.preventDefault();
        } else if (event.key === 'Escape') {
            this.close();
            this.input.blur();
            event.stopPropagation();
        }
    }

    private choose(index: number): void {
        const node = this.found[index];
        this.close();
        if (node) {
            this.input.value = node.name;
            this.app.select(node, true);
            this.app.centre(node);
        }
    }

    private close(): void {
        this.list.hidden = true;
        this.at = -1;
        this.input.setAttribute('aria-expanded', 'false');
        this.input.removeAttribute('aria-activedescendant');
    }
}
