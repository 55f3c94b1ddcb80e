// Filters: the nodes to show and the nodes to highlight.

import { ahead, behind, keyOf, type Graph, type Node } from './graph';
import type { Filter } from './view/scene';

/** The part of the graph to show; `chain`: all that the selected node waits for, and its waiters. */
export type Show = 'all' | 'busy' | 'waiting' | 'dead' | 'chain';

export function filterOf(show: Show, graph: Graph, chosen: Node | null): Filter {
    const holdsSome = (node: Node, what: (resource: number) => boolean) =>
        node.kind === 'process' && [...node.holds.keys()].some(what);
    switch (show) {
        case 'busy':
            return (node) =>
                node.kind === 'process'
                    ? node.holds.size + node.waits.size > 0
                    : node.holders.size + node.waiters.size > 0;
        case 'waiting':
            return (node) =>
                (node.kind === 'process' ? node.waits.size : node.waiters.size) > 0 ||
                holdsSome(node, (id) => (graph.resources.get(id)?.waiters.size ?? 0) > 0);
        case 'dead':
            return (node) => node.dead;
        case 'chain': {
            const near = chosen ? new Set([...litBy(graph, chosen)].map(keyOf)) : null;
            return (node) => near === null || near.has(keyOf(node));
        }
        default:
            return () => true;
    }
}

/** All nodes that a node waits for, directly or indirectly; all waiters behind it; and what it holds. */
export function litBy(graph: Graph, node: Node): Set<Node> {
    const lit = new Set([...ahead(graph, node), ...behind(graph, node)]);
    if (node.kind === 'process') {
        for (const id of node.holds.keys()) {
            const resource = graph.resources.get(id);
            if (resource) {
                lit.add(resource);
            }
        }
    }
    return lit;
}
