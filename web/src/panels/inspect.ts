// Details of one node: holdings, waits, their start, the wait chain, and what-if queries.

import { api, type Chain } from '../api';
import type { App } from '../app';
import { count, duration, h, replace } from '../dom';
import type { Node, Process, Resource } from '../graph';
import { shown } from '../names';
import { askToAct } from './actions';
import { nameButton, nameOf, sign, stateTag, unitsText } from './parts';

export class Inspect {
    readonly element = h('div', { class: 'page' });
    private readonly head = h('div', {});
    private readonly facts = h('dl', { class: 'facts' });
    private readonly body = h('div', { class: 'page-part' });
    private readonly chain = h('section', {});
    private readonly ask = h('section', {});
    private shown: string | null = null;
    private asked = 0;
    private chainFor = '';

    constructor(private readonly app: App) {
        this.update();
    }

    update(): void {
        const node = this.app.selected;
        if (!node) {
            this.shown = null;
            replace(
                this.element,
                h(
                    'p',
                    { class: 'empty' },
                    'Choose a process or a resource in the picture, in the list, or with the search (',
                    h('kbd', {}, '/'),
                    ').',
                ),
            );
            return;
        }
        const key = node.kind + node.id;
        if (this.shown !== key) {
            this.shown = key;
            this.chainFor = '';
            replace(this.chain);
            this.offer(node);
            replace(this.element, this.head, this.facts, this.body, this.chain, this.ask);
        }
        this.fill(node);
    }

    private fill(node: Node): void {
        replace(
            this.head,
            h('div', { class: 'node-head' }, sign(node), h('h2', {}, shown(node.name)), stateTag(node)),
        );
        this.facts.replaceChildren(
            ...(node.kind === 'process' ? this.processFacts(node) : this.resourceFacts(node)),
        );
        const focus =
            document.activeElement instanceof HTMLElement ? document.activeElement.dataset.key : undefined;
        replace(
            this.body,
            this.actions(node),
            ...(node.kind === 'process' ? this.ofProcess(node) : this.ofResource(node)),
        );
        if (focus) {
            this.body.querySelector<HTMLElement>(`[data-key="${CSS.escape(focus)}"]`)?.focus();
        }
        if (node.kind === 'process') {
            void this.follow(node);
        }
    }

    private actions(node: Node): HTMLElement {
        return h(
            'div',
            { class: 'acts' },
            h(
                'button',
                { type: 'button', 'data-key': 'centre', onclick: () => this.app.centre(node) },
                'Show in the picture',
            ),
            h(
                'button',
                { type: 'button', 'data-key': 'isolate', onclick: () => this.app.isolateAround(node) },
                'Isolate its chain',
            ),
            node.kind === 'process' && !this.app.isPast && this.hand('end', 'End…', node),
            node.kind === 'process' && !this.app.isPast && node.waits.size > 0 && this.hand('cancel', 'Cancel its wait…', node),
        );
    }

    private hand(what: 'end' | 'cancel', text: string, node: Node): HTMLElement {
        return h(
            'button',
            { type: 'button', 'data-key': what, class: 'danger', onclick: () => void askToAct(this.app, what, node.name) },
            text,
        );
    }

    private processFacts(process: Process): HTMLElement[] {
        const facts: HTMLElement[] = [h('dt', {}, 'Kind'), h('dd', {}, 'process')];
        const waited = this.app.waited(process);
        if (waited !== null) {
            facts.push(h('dt', {}, 'Has waited'), h('dd', {}, duration(waited)));
        }
        if (process.owner) {
            facts.push(h('dt', {}, 'Owner'), h('dd', {}, shown(process.owner)));
        }
        return [...facts, ...this.labelFacts(process)];
    }

    /** Labels of the node; a click shows all nodes with that label. */
    private labelFacts(node: Node): HTMLElement[] {
        if (node.labels.length === 0) {
            return [];
        }
        const button = (label: string) =>
            h(
                'button',
                {
                    type: 'button',
                    class: 'label',
                    title: 'Show all nodes with this label',
                    'data-key': 'label ' + label,
                    onclick: () => void this.app.labels.lookFor(label),
                },
                shown(label),
            );
        return [h('dt', {}, 'Labels'), h('dd', { class: 'labels' }, ...node.labels.map(button))];
    }

    private resourceFacts(resource: Resource): HTMLElement[] {
        return [
            h('dt', {}, 'Kind'),
            h('dd', {}, 'resource'),
            h('dt', {}, 'Units'),
            h(
                'dd',
                {},
                `${(resource.units - resource.free).toLocaleString('en')} of ${resource.units.toLocaleString('en')} in use`,
            ),
            ...this.labelFacts(resource),
        ];
    }

    private things(title: string, nodes: [Node | undefined, number][], none: string): HTMLElement {
        const most = 60;
        const items = nodes
            .filter((pair): pair is [Node, number] => pair[0] !== undefined)
            .slice(0, most)
            .map(([node, units]) => {
                const button = nameButton(this.app, node);
                button.dataset.key = `${title} ${node.id}`;
                return h('li', {}, sign(node), button, h('span', { class: 'units' }, unitsText(units)));
            });
        return h(
            'section',
            {},
            h('h3', {}, title),
            items.length > 0 ? h('ul', { class: 'things' }, ...items) : h('p', { class: 'muted' }, none),
            nodes.length > most &&
                h('p', { class: 'muted' }, `and ${count(nodes.length - most, 'more', 'more')}`),
        );
    }

    private ofProcess(process: Process): HTMLElement[] {
        const { resources, processes } = this.app.graph;
        const isAwait = ([id]: [number, number]) => resources.get(id)?.await ?? false;
        const real = (edges: Map<number, number>) =>
            [...edges]
                .filter((edge) => !isAwait(edge))
                .map(([id, units]): [Node | undefined, number] => [resources.get(id), units]);
        const awaits = [...process.waits].filter(isAwait);
        const awaiting = [...process.holds]
            .filter(isAwait)
            .flatMap(([id]) => [...(resources.get(id)?.waiters ?? [])])
            .map((id): [Node | undefined, number] => [processes.get(id), 1]);
        return [
            ...awaits.map(([id, needed]) => this.awaited(resources.get(id)!, needed)),
            ...(awaits.length > 0
                ? []
                : [this.things('Waits for', real(process.waits), 'nothing: it runs')]),
            this.things('Holds', real(process.holds), 'nothing'),
            ...(awaiting.length > 0 ? [this.things('Is awaited by', awaiting, '')] : []),
        ];
    }

    /** "Awaits 2 of", and the processes that can act and have not. */
    private awaited(resource: Resource, needed: number): HTMLElement {
        const others = [...resource.holders].map((id): [Node | undefined, number] => [
            this.app.graph.processes.get(id),
            1,
        ]);
        const title = needed < others.length ? `Awaits ${needed} of` : 'Awaits';
        return this.things(title, others, 'only itself');
    }

    private ofResource(resource: Resource): HTMLElement[] {
        const { processes } = this.app.graph;
        const of = (ids: Iterable<number>, held: boolean) =>
            [...ids].map((id): [Node | undefined, number] => {
                const process = processes.get(id);
                return [process, (held ? process?.holds : process?.waits)?.get(resource.id) ?? 1];
            });
        return [
            this.things('Held by', of(resource.holders, true), 'none'),
            this.things('Waited for by', of(resource.waiters, false), 'none'),
        ];
    }

    /** Asks the service for the wait chain when it may have changed; a replay uses its own graph. */
    private async follow(process: Process): Promise<void> {
        const what = `${process.id} ${[...process.waits.keys()].join()} ${process.dead} ${this.app.replay?.position ?? this.app.then?.at ?? ''}`;
        if (what === this.chainFor) {
            return;
        }
        this.chainFor = what;
        if (process.waits.size === 0) {
            replace(this.chain);
            return;
        }
        const turn = ++this.asked;
        let chain: Chain;
        try {
            chain = this.app.isPast
                ? localChain(this.app, process)
                : await api.chain(this.app.system, process.name);
        } catch {
            chain = localChain(this.app, process);
        }
        if (turn === this.asked && this.app.selected === process) {
            this.describe(chain);
        }
    }

    private describe(chain: Chain): void {
        const items: HTMLElement[] = [];
        const seen = new Set<string>();
        for (const link of chain.chain) {
            if (seen.has(link.process)) {
                continue;
            }
            seen.add(link.process);
            items.push(
                h(
                    'li',
                    {},
                    h('span', {
                        class:
                            'sign process ' +
                            (chain.deadlocked ? 'dead' : link.waits_for.length > 0 ? 'waiting' : 'busy'),
                    }),
                    h(
                        'span',
                        {},
                        nameOf(this.app, link.process, 'process'),
                        link.waits_for.length === 0 && h('span', { class: 'word' }, ' runs'),
                    ),
                ),
            );
            for (const want of link.waits_for) {
                const holders = want.holders
                    .slice(0, 8)
                    .flatMap((name, i) => [i > 0 ? ', ' : '', nameOf(this.app, name, 'process')]);
                const more = want.holders.length > 8 ? ` and ${want.holders.length - 8} more` : '';
                items.push(
                    h(
                        'li',
                        { class: 'waits' },
                        h('span', { class: 'sign resource ' + (chain.deadlocked ? 'dead' : 'waiting') }),
                        h(
                            'span',
                            {},
                            h('span', { class: 'word' }, want.await ? 'awaits an act of ' : 'waits for '),
                            !want.await && nameOf(this.app, want.resource, 'resource'),
                            !want.await && h('span', { class: 'word' }, ', held by '),
                            ...(holders.length > 0 ? holders : ['none']),
                            more,
                        ),
                    ),
                );
            }
        }
        replace(
            this.chain,
            h('h3', {}, 'Wait chain'),
            h('ol', { class: 'chain' + (chain.deadlocked ? ' dead' : '') }, ...items),
            chain.deadlocked &&
                h('p', { class: 'error' }, 'The chain is a cycle: none of its processes can ever run again.'),
        );
    }

    /** What-if query: the service answers it without a change of its state. */
    private offer(node: Node): void {
        if (node.kind !== 'process' || this.app.isPast) {
            replace(this.ask);
            return;
        }
        const resource = h('input', {
            list: 'resources',
            placeholder: 'resource',
            required: true,
            'aria-label': 'Resource',
        });
        const units = h('input', {
            type: 'number',
            min: '1',
            value: '1',
            required: true,
            'aria-label': 'Units',
        });
        const answer = h('output', {});
        const names = h('datalist', { id: 'resources' });
        resource.addEventListener('focus', () =>
            names.replaceChildren(
                ...[...this.app.graph.resources.values()]
                    .filter((one) => !one.await)
                    .slice(0, 500)
                    .map((one) => h('option', { value: one.name })),
            ),
        );
        const form = h(
            'form',
            { class: 'ask' },
            resource,
            units,
            h('button', { type: 'submit' }, 'Ask'),
            answer,
            names,
        );
        form.addEventListener('submit', (event) => {
            event.preventDefault();
            api.whatIf(this.app.system, node.name, [
                { resource: resource.value.trim(), units: Number(units.value) },
            ]).then(
                (said) => {
                    answer.className = said.result === 'deadlock' || said.result === 'unsafe' ? 'error' : '';
                    answer.textContent = answers[said.result] ?? said.result;
                },
                (problem: Error) => {
                    answer.className = 'error';
                    answer.textContent = problem.message;
                },
            );
        });
        replace(this.ask, h('h3', {}, 'What if it asked for'), form);
    }
}

const answers: Record<string, string> = {
    granted: 'It would be granted immediately.',
    blocked: 'It would wait.',
    deadlock: 'It would deadlock.',
    doomed: 'It would wait behind a deadlock forever.',
    unsafe: 'It would be denied: the state would not be safe.',
    unavailable: 'Not enough units are free.',
};

/** The wait chain in the graph in view. */
export function localChain(app: App, start: Process): Chain {
    const chain: Chain['chain'] = [];
    const seen = new Set<Process>([start]);
    const queue = [start];
    for (let process = queue.shift(); process && chain.length < 200; process = queue.shift()) {
        const waits = [...process.waits.keys()].flatMap((id) => {
            const resource = app.graph.resources.get(id);
            if (!resource) {
                return [];
            }
            const holders = [...resource.holders].flatMap((holder) => app.graph.processes.get(holder) ?? []);
            for (const holder of holders) {
                if (!seen.has(holder)) {
                    seen.add(holder);
                    queue.push(holder);
                }
            }
            return [
                {
                    resource: resource.name,
                    holders: holders.map((holder) => holder.name),
                    await: resource.await,
                },
            ];
        });
        chain.push({ process: process.name, waits_for: waits });
    }
    return { process: start.name, chain, deadlocked: start.dead };
}
