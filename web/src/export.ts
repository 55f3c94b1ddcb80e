// Saves the view as a file: the picture as SVG, its edges as CSV, the graph as JSON.

import type { App } from './app';
import { h } from './dom';
import type { Node } from './graph';
import { stateOf } from './panels/parts';

export type Format = 'svg' | 'csv' | 'json';

const colours: Record<string, string> = {
    dead: '#c8102e',
    doomed: '#d98a97',
    waiting: '#c77800',
    busy: '#47536b',
    idle: '#b9b6ad',
};

const escaped = (text: string) =>
    text.replace(/[&<>"]/g, (c) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[c] ?? c);

/** A quoted cell; a leading quote keeps a spreadsheet from reading it as a formula. */
const cell = (text: string) => `"${(/^[=+\-@\t\r]/.test(text) ? "'" : '') + text.replaceAll('"', '""')}"`;

interface Edge {
    process: Node;
    resource: Node;
    units: number;
    waits: boolean;
}

function edgesOf(app: App): Edge[] {
    const { graph } = app;
    const edges: Edge[] = [];
    for (const process of graph.processes.values()) {
        for (const [list, waits] of [
            [process.holds, false],
            [process.waits, true],
        ] as const) {
            for (const [id, units] of list) {
                const resource = graph.resources.get(id);
                if (resource) {
                    edges.push({ process, resource, units, waits });
                }
            }
        }
    }
    return edges;
}

export function asCsv(app: App): string {
    const rows = edgesOf(app).map((edge) =>
        [
            cell(edge.process.name),
            edge.waits ? 'waits for' : 'holds',
            cell(edge.resource.name),
            edge.units,
            stateOf(edge.process),
        ].join(','),
    );
    return ['process,relation,resource,units,state', ...rows].join('\r\n') + '\r\n';
}

export function asJson(app: App): string {
    const node = (one: Node) => ({ name: one.name, state: stateOf(one), labels: one.labels });
    return JSON.stringify(
        {
            system: app.system,
            at: new Date(app.moment_ms).toISOString(),
            truncated: app.graph.truncated,
            processes: [...app.graph.processes.values()].map(node),
            resources: [...app.graph.resources.values()].map((one) => ({ ...node(one), units: one.units, free: one.free })),
            edges: edgesOf(app).map((edge) => ({
                process: edge.process.name,
                resource: edge.resource.name,
                units: edge.units,
                waits: edge.waits,
            })),
        },
        null,
        1,
    );
}

/** The picture with its current layout. */
export function asSvg(app: App): string {
    const { scene } = app.stage;
    const xs = Array.from(scene.x.slice(0, scene.nodes.length));
    const ys = Array.from(scene.y.slice(0, scene.nodes.length));
    const used = (list: number[]) => list.filter((_, i) => scene.nodes[i]);
    const low = (list: number[]) => used(list).reduce((a, b) => Math.min(a, b), Infinity);
    const high = (list: number[]) => used(list).reduce((a, b) => Math.max(a, b), -Infinity);
    const [left, top] = used(xs).length ? [low(xs) - 40, low(ys) - 40] : [0, 0];
    const [width, height] = used(xs).length ? [high(xs) - left + 40, high(ys) - top + 40] : [100, 100];
    const lines: string[] = [];
    for (let i = 0; i < scene.links.length; i += 2) {
        const [a, b] = [scene.links[i]!, scene.links[i + 1]!];
        lines.push(
            `<line x1="${xs[a]!.toFixed(1)}" y1="${ys[a]!.toFixed(1)}" x2="${xs[b]!.toFixed(1)}" y2="${ys[b]!.toFixed(1)}"/>`,
        );
    }
    const marks = scene.nodes.map((node, i) => {
        if (!node) {
            return '';
        }
        const fill = colours[stateOf(node)];
        const [x, y] = [xs[i]!, ys[i]!];
        const shape =
            node.kind === 'process'
                ? `<circle cx="${x.toFixed(1)}" cy="${y.toFixed(1)}" r="7" fill="${fill}"/>`
                : `<rect x="${(x - 6).toFixed(1)}" y="${(y - 6).toFixed(1)}" width="12" height="12" rx="2" fill="${fill}"/>`;
        const label = scene.nodes.length <= 400 ? `<text x="${x.toFixed(1)}" y="${(y + 18).toFixed(1)}">${escaped(node.name)}</text>` : '';
        return `<g><title>${escaped(node.name)}</title>${shape}${label}</g>`;
    });
    return (
        `<svg xmlns="http://www.w3.org/2000/svg" viewBox="${left.toFixed(0)} ${top.toFixed(0)} ${width.toFixed(0)} ${height.toFixed(0)}" font-family="sans-serif" font-size="9" text-anchor="middle">` +
        `<g stroke="#8a8577" stroke-width="1">${lines.join('')}</g>${marks.join('')}</svg>\n`
    );
}

export function save(app: App, format: Format): void {
    const text = { svg: asSvg, csv: asCsv, json: asJson }[format](app);
    const type = { svg: 'image/svg+xml', csv: 'text/csv', json: 'application/json' }[format];
    const url = URL.createObjectURL(new Blob([text], { type }));
    const link = h('a', { href: url, download: `${app.system.replace(/[^\w.-]+/g, '_')}.${format}` });
    document.body.append(link);
    link.click();
    link.remove();
    window.setTimeout(() => URL.revokeObjectURL(url), 10000);
}
