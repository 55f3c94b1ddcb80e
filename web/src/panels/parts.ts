// Elements that several panels share: a node's symbol, its state as a word, its name as a button.

import type { App } from '../app';
import { h } from '../dom';
import type { Graph, Node, Resource } from '../graph';
import { shown } from '../names';

export type State = 'dead' | 'doomed' | 'waiting' | 'busy' | 'idle';

export function stateOf(node: Node): State {
    if (node.dead) {
        return node.core ? 'dead' : 'doomed';
    }
    if (node.kind === 'process') {
        return node.waits.size > 0 ? 'waiting' : node.holds.size > 0 ? 'busy' : 'idle';
    }
    return node.waiters.size > 0 ? 'waiting' : node.holders.size > 0 ? 'busy' : 'idle';
}

export function stateWord(node: Node): string {
    const state = stateOf(node);
    if (node.kind === 'process') {
        return { dead: 'deadlocked', doomed: 'blocked behind', waiting: 'waits', busy: 'runs', idle: 'idle' }[
            state
        ];
    }
    return { dead: 'in a deadlock', doomed: 'stuck', waiting: 'waited for', busy: 'in use', idle: 'free' }[
        state
    ];
}

export const sign = (node: Node) =>
    h('span', { class: `sign ${node.kind} ${stateOf(node)}`, 'aria-hidden': 'true' });

export const stateTag = (node: Node) =>
    h('span', { class: `state ${node.dead ? 'dead' : stateOf(node)}` }, stateWord(node));

export const nameButton = (app: App, node: Node) =>
    h('button', { type: 'button', class: 'name', onclick: () => app.select(node, true) }, shown(node.name));

/** A name as a button; the node may be missing in the graph in view. */
export function nameOf(app: App, name: string, kind: 'process' | 'resource'): HTMLElement {
    const nodes = kind === 'process' ? app.graph.processes : app.graph.resources;
    for (const node of nodes.values()) {
        if (node.name === name) {
            return nameButton(app, node);
        }
    }
    return h('button', { type: 'button', class: 'name', onclick: () => void app.lookAround(name) }, shown(name));
}

/** The awaited acts: "an act of bob", "2 acts of bob, cal, dan"; null: a real resource. */
export function awaitText(graph: Graph, resource: Resource | undefined, needed: number): string | null {
    if (!resource?.await) {
        return null;
    }
    const names = [...resource.holders].slice(0, 8).map((id) => shown(graph.processes.get(id)?.name ?? `#${id}`));
    const more = resource.holders.size > 8 ? ` and ${resource.holders.size - 8} more` : '';
    return `${needed === 1 ? 'an act' : `${needed} acts`} of ${names.join(', ') || 'no other process'}${more}`;
}

export const unitsText = (units: number) => (units === 1 ? '' : `×${units.toLocaleString('en')}`);
