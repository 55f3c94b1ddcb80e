// Draws a scene. Drawing is batched by style, because a change of style costs more than a line. Three levels of
// detail, by the size of a node on the screen: dots and hairlines, discs and arrows, names and units.

import { shortened } from '../names';
import type { Camera } from './camera';
import { Look, type Scene } from './scene';
import type { Theme } from './theme';

export interface Picture {
    scene: Scene;
    camera: Camera;
    theme: Theme;
    selected: number; // slots, or -1
    hovered: number;
    /** Slots to highlight; the others are dimmed. null: all are equal. */
    lit: Set<number> | null;
    /** Time of the animation in ms; -1: no animation. */
    time: number;
}

export const worldRadius = 8;

/** Radius of a node in pixels, between a minimum and a maximum. */
export const radiusAt = (scale: number) => Math.min(30, Math.max(1.6, worldRadius * scale));
const deadRadius = (r: number) => Math.max(r * 1.15, 4);

let sx = new Float32Array(0);
let sy = new Float32Array(0);
let seen = new Uint8Array(0);

/** Computes the screen positions of all slots, once per frame. */
function project({ scene, camera }: Picture): void {
    const count = scene.nodes.length;
    if (sx.length < count) {
        sx = new Float32Array(count * 2);
        sy = new Float32Array(count * 2);
        seen = new Uint8Array(count * 2);
    }
    const margin = 60;
    for (let i = 0; i < count; i++) {
        const x = camera.toScreenX(scene.x[i]!);
        const y = camera.toScreenY(scene.y[i]!);
        sx[i] = x;
        sy[i] = y;
        seen[i] =
            scene.nodes[i] &&
            x > -margin &&
            y > -margin &&
            x < camera.width + margin &&
            y < camera.height + margin
                ? 1
                : 0;
    }
}

const enum Kind {
    hold,
    wait,
    litHold,
    litWait,
    doomed,
    dead,
    count,
}

const batches: number[][] = Array.from({ length: Kind.count }, () => []);

/** Groups the visible links by style. */
function sortLinks({ scene, camera, lit }: Picture): void {
    for (const batch of batches) {
        batch.length = 0;
    }
    const links = scene.links;
    for (let i = 0; 2 * i < links.length; i++) {
        const a = links[2 * i]!;
        const b = links[2 * i + 1]!;
        if (!seen[a] && !seen[b] && outside(a, b, camera)) {
            continue;
        }
        if (scene.linkDead[i]) {
            batches[scene.linkDead[i] === 2 ? Kind.dead : Kind.doomed]!.push(i);
        } else if (lit && lit.has(a) && lit.has(b)) {
            batches[scene.linkWaits[i] ? Kind.litWait : Kind.litHold]!.push(i);
        } else {
            batches[scene.linkWaits[i] ? Kind.wait : Kind.hold]!.push(i);
        }
    }
}

function outside(a: number, b: number, camera: Camera): boolean {
    return (
        Math.max(sx[a]!, sx[b]!) < 0 ||
        Math.min(sx[a]!, sx[b]!) > camera.width ||
        Math.max(sy[a]!, sy[b]!) < 0 ||
        Math.min(sy[a]!, sy[b]!) > camera.height
    );
}

/** Limit of lines per path: a few hundred are stroked faster than thousands. */
const pathLength = 256;

function strokeLines(context: CanvasRenderingContext2D, scene: Scene, batch: number[]): void {
    for (let start = 0; start < batch.length; start += pathLength) {
        context.beginPath();
        for (let k = start; k < Math.min(batch.length, start + pathLength); k++) {
            const a = scene.links[2 * batch[k]!]!;
            const b = scene.links[2 * batch[k]! + 1]!;
            context.moveTo(sx[a]!, sy[a]!);
            context.lineTo(sx[b]!, sy[b]!);
        }
        context.stroke();
    }
}

/** Lines from rim to rim, slightly bent so that holding and waiting for the same resource are two lines. Arrow heads
 * unless their size is 0. */
function strokeArrows(
    context: CanvasRenderingContext2D,
    picture: Picture,
    batch: number[],
    radius: number,
    head: number,
): void {
    const { scene } = picture;
    const heads: number[] = [];
    for (let start = 0; start < batch.length; start += pathLength) {
        context.beginPath();
        for (let k = start; k < Math.min(batch.length, start + pathLength); k++) {
            const a = scene.links[2 * batch[k]!]!;
            const b = scene.links[2 * batch[k]! + 1]!;
            const dx = sx[b]! - sx[a]!;
            const dy = sy[b]! - sy[a]!;
            const length = Math.hypot(dx, dy);
            if (length < radius * 2.2) {
                continue;
            }
            const bend = scene.linkWaits[batch[k]!] ? 0.1 : 0.04;
            const mx = (sx[a]! + sx[b]!) / 2 - dy * bend;
            const my = (sy[a]! + sy[b]!) / 2 + dx * bend;
            const out = Math.hypot(mx - sx[a]!, my - sy[a]!);
            const rim = radius + 1.5;
            const fromX = sx[a]! + ((mx - sx[a]!) / out) * rim;
            const fromY = sy[a]! + ((my - sy[a]!) / out) * rim;
            const ux = (sx[b]! - mx) / out;
            const uy = (sy[b]! - my) / out;
            const toX = sx[b]! - ux * (rim + head * 0.8);
            const toY = sy[b]! - uy * (rim + head * 0.8);
            context.moveTo(fromX, fromY);
            context.quadraticCurveTo(mx, my, toX, toY);
            heads.push(sx[b]! - ux * rim, sy[b]! - uy * rim, ux, uy);
        }
        context.stroke();
    }
    if (head > 0) {
        fillHeads(context, heads, head);
    }
}

function fillHeads(context: CanvasRenderingContext2D, heads: number[], head: number): void {
    context.beginPath();
    for (let i = 0; i < heads.length; i += 4) {
        const [x, y, ux, uy] = [heads[i]!, heads[i + 1]!, heads[i + 2]!, heads[i + 3]!];
        context.moveTo(x, y);
        context.lineTo(x - ux * head - uy * head * 0.5, y - uy * head + ux * head * 0.5);
        context.lineTo(x - ux * head + uy * head * 0.5, y - uy * head - ux * head * 0.5);
        context.closePath();
    }
    context.fill();
}

function drawLinks(context: CanvasRenderingContext2D, picture: Picture, radius: number): void {
    const { scene, theme, lit, time } = picture;
    const fine = radius > 4.5;
    const stepBack = lit ? 0.22 : 1;
    const width = Math.max(0.6, Math.min(1.6, radius / 6));
    const pass = (kind: Kind, colour: string, thick: number, dash: number[]) => {
        const batch = batches[kind]!;
        if (batch.length === 0) {
            return;
        }
        context.strokeStyle = colour;
        context.fillStyle = colour;
        context.lineWidth = thick;
        if (fine) {
            context.setLineDash(dash);
            strokeArrows(context, picture, batch, radius, Math.max(5, Math.min(10, radius * 0.7)));
            context.setLineDash([]);
        } else {
            strokeLines(context, scene, batch);
        }
    };
    context.globalAlpha = stepBack;
    pass(Kind.hold, theme.hold, width, []);
    pass(Kind.wait, theme.waitLine, width * 1.2, [radius * 0.6, radius * 0.45]);
    context.globalAlpha = 1;
    pass(Kind.litHold, theme.busy, width * 1.8, []);
    pass(Kind.litWait, theme.wait, width * 2, [radius * 0.6, radius * 0.45]);
    pass(Kind.doomed, theme.dead, width * 1.3, [radius * 0.6, radius * 0.45]);
    drawDeadLinks(context, picture, radius, time);
}

/** Deadlocked links: thick and red, with dashes that move along the waits. */
function drawDeadLinks(
    context: CanvasRenderingContext2D,
    picture: Picture,
    radius: number,
    time: number,
): void {
    const { scene, theme } = picture;
    const batch = batches[Kind.dead]!;
    if (batch.length === 0) {
        return;
    }
    const waits = batch.filter((i) => scene.linkWaits[i]);
    const holds = batch.filter((i) => !scene.linkWaits[i]);
    const rim = deadRadius(radius);
    const thick = Math.max(2, Math.min(4, radius * 0.32));
    context.lineCap = 'round';
    context.strokeStyle = theme.deadSoft;
    context.lineWidth = thick * 2.6;
    strokeArrows(context, picture, batch, 0, 0);
    context.strokeStyle = theme.dead;
    context.fillStyle = theme.dead;
    context.lineWidth = thick;
    const head = Math.max(7, Math.min(13, radius));
    strokeArrows(context, picture, holds, rim, head);
    const dash = Math.max(6, radius * 0.9);
    context.setLineDash([dash, dash]);
    context.lineDashOffset = time < 0 ? 0 : -((time / 28) % (dash * 2));
    strokeArrows(context, picture, waits, rim, head);
    context.setLineDash([]);
    context.lineCap = 'butt';
}

const groups: number[][] = Array.from({ length: 10 }, () => []);

/** Nodes by style and shape, dimmed ones first. */
function sortNodes({ scene, lit }: Picture, back: boolean): void {
    for (const group of groups) {
        group.length = 0;
    }
    for (let i = 0; i < scene.nodes.length; i++) {
        if (seen[i] && (lit !== null && !lit.has(i) && scene.looks[i]! < Look.doomed) === back) {
            groups[scene.looks[i]! * 2 + scene.round[i]!]!.push(i);
        }
    }
}

function trace(context: CanvasRenderingContext2D, group: number[], round: boolean, r: number): void {
    context.beginPath();
    for (const i of group) {
        if (round) {
            context.moveTo(sx[i]! + r, sy[i]!);
            context.arc(sx[i]!, sy[i]!, r, 0, 2 * Math.PI);
        } else if (r < 5) {
            context.rect(sx[i]! - r, sy[i]! - r, 2 * r, 2 * r);
        } else {
            context.roundRect(sx[i]! - r, sy[i]! - r, 2 * r, 2 * r, r * 0.3);
        }
    }
}

function drawNodes(context: CanvasRenderingContext2D, picture: Picture, radius: number, back: boolean): void {
    const { theme, time } = picture;
    sortNodes(picture, back);
    context.globalAlpha = back ? 0.28 : 1;
    const fills = [theme.surface, theme.busy, theme.wait, theme.doomed, theme.dead];
    const squares = [theme.surface, theme.resource, theme.resource, theme.doomed, theme.dead];
    for (let look = Look.idle; look <= Look.dead; look++) {
        for (let round = 0; round < 2; round++) {
            const group = groups[look * 2 + round]!;
            if (group.length === 0) {
                continue;
            }
            const r = look === Look.dead ? deadRadius(radius) : round ? radius : radius * 0.92;
            const colour = (round ? fills : squares)[look]!;
            if (r < 2.6) {
                // Dots: a rectangle is the cheapest shape there is.
                context.fillStyle = look === Look.idle ? theme.idle : colour;
                for (const i of group) {
                    context.fillRect(sx[i]! - r, sy[i]! - r, 2 * r, 2 * r);
                }
                continue;
            }
            if (look === Look.dead) {
                halo(context, group, r, theme, time);
            }
            trace(context, group, round === 1, r);
            context.fillStyle = colour;
            context.fill();
            context.lineWidth = Math.max(1, r / 7);
            context.strokeStyle = [
                theme.idle,
                theme.paper,
                round ? theme.paper : theme.wait,
                theme.dead,
                theme.paper,
            ][look]!;
            context.stroke();
        }
    }
    context.globalAlpha = 1;
}

function halo(
    context: CanvasRenderingContext2D,
    group: number[],
    r: number,
    theme: Theme,
    time: number,
): void {
    const breath = time < 0 ? 0.5 : 0.5 + 0.5 * Math.sin(time / 300);
    context.beginPath();
    for (const i of group) {
        const wide = r + Math.max(3.5, r * 0.4) * (0.7 + 0.5 * breath);
        context.moveTo(sx[i]! + wide, sy[i]!);
        context.arc(sx[i]!, sy[i]!, wide, 0, 2 * Math.PI);
    }
    context.fillStyle = theme.deadSoft;
    context.fill();
}

/** Units in use of a resource: a dot for each, or numbers if there are many. */
function drawUnits(context: CanvasRenderingContext2D, { scene, theme }: Picture, radius: number): void {
    if (radius < 9) {
        return;
    }
    context.textAlign = 'center';
    context.textBaseline = 'middle';
    for (let i = 0; i < scene.nodes.length; i++) {
        const node = scene.nodes[i];
        if (!seen[i] || node?.kind !== 'resource' || node.units < 2) {
            continue;
        }
        const taken = Math.max(0, node.units - node.free);
        const solid = scene.looks[i] !== Look.idle;
        context.fillStyle = solid ? theme.paper : theme.muted;
        if (node.units <= 9) {
            const columns = node.units <= 4 ? 2 : 3;
            const rows = Math.ceil(node.units / columns);
            const step = (radius * 1.2) / columns;
            for (let k = 0; k < node.units; k++) {
                const x = sx[i]! + ((k % columns) - (columns - 1) / 2) * step;
                const y = sy[i]! + (Math.floor(k / columns) - (rows - 1) / 2) * step;
                context.globalAlpha = k < taken ? 1 : 0.35;
                context.beginPath();
                context.arc(x, y, step * 0.3, 0, 2 * Math.PI);
                context.fill();
            }
            context.globalAlpha = 1;
        } else {
            context.font = `600 ${Math.round(radius * 0.62)}px ${theme.font}`;
            context.fillText(`${taken}/${node.units}`, sx[i]!, sy[i]!);
        }
    }
}

let pull = new Float32Array(0);
let above = new Uint8Array(0);

/** A name is above its node if most arrows are below it. In a tie it stays where it is, so that names do not jump
 * while the layout moves. */
function chooseSides({ scene }: Picture): void {
    if (pull.length < scene.nodes.length) {
        pull = new Float32Array(scene.nodes.length * 2);
        above = new Uint8Array(scene.nodes.length * 2);
    }
    pull.fill(0, 0, scene.nodes.length);
    const links = scene.links;
    for (let k = 0; k < links.length; k += 2) {
        const a = links[k]!;
        const b = links[k + 1]!;
        const dy = sy[b]! - sy[a]!;
        const part = dy / (Math.abs(dy) + Math.abs(sx[b]! - sx[a]!) + 1);
        pull[a]! += part;
        pull[b]! -= part;
    }
    for (let i = 0; i < scene.nodes.length; i++) {
        if (Math.abs(pull[i]!) > 0.3) {
            above[i] = pull[i]! > 0 ? 1 : 0;
        }
    }
}

const cell = 12; // pixels

/** Nodes by the grid cell of their center. */
class NodeCells {
    private readonly columns: number;
    private readonly cells = new Map<number, number[]>();

    constructor(
        { scene, camera }: Picture,
        private readonly radius: number,
    ) {
        this.columns = Math.ceil(camera.width / cell) + 40;
        for (let i = 0; i < scene.nodes.length; i++) {
            if (seen[i]) {
                const at = Math.floor(sy[i]! / cell) * this.columns + Math.floor(sx[i]! / cell);
                const there = this.cells.get(at);
                if (there) {
                    there.push(i);
                } else {
                    this.cells.set(at, [i]);
                }
            }
        }
    }

    /** Would a name of this size, with the center of its top at [x, y], cover a node? */
    covered(x: number, y: number, wide: number, high: number): boolean {
        const across = wide / 2 + this.radius;
        const last = Math.floor((x + across) / cell);
        for (let r = Math.floor((y - this.radius) / cell); r <= Math.floor((y + high + this.radius) / cell); r++) {
            for (let c = Math.floor((x - across) / cell); c <= last; c++) {
                for (const i of this.cells.get(r * this.columns + c) ?? []) {
                    const above = sy[i]! + this.radius < y;
                    const below = sy[i]! - this.radius > y + high;
                    if (!above && !below && Math.abs(sx[i]! - x) < across) {
                        return true;
                    }
                }
            }
        }
        return false;
    }
}

/** Nodes to name, the most important ones first. */
function namesWanted({ scene, lit, selected, hovered }: Picture, many: boolean): number[] {
    const order: number[] = [];
    let dead = 0;
    for (let i = 0; i < scene.nodes.length; i++) {
        if (!seen[i] || i === hovered || i === selected) {
            continue;
        }
        const isDead = scene.looks[i]! >= Look.doomed;
        if ((isDead && (dead++ < 60 || many)) || (lit ? lit.has(i) && (many || lit.size < 40) : many)) {
            order.push(i);
        }
    }
    order.sort((a, b) => scene.looks[b]! - scene.looks[a]!);
    if (selected >= 0) {
        order.unshift(selected);
    }
    if (hovered >= 0 && hovered !== selected) {
        order.unshift(hovered);
    }
    return order.slice(0, 400);
}

/** Boxes of the names so far, as left, top, right, bottom; deadlocked nodes come first. */
let boxes: number[] = [];

function liesOnName(x: number, y: number, wide: number, high: number): boolean {
    for (let k = 0; k < boxes.length; k += 4) {
        if (
            x - wide / 2 < boxes[k + 2]! &&
            x + wide / 2 > boxes[k]! &&
            y < boxes[k + 3]! &&
            y + high > boxes[k + 1]!
        ) {
            return true;
        }
    }
    return false;
}

/** A free place on any side for the name of a deadlocked node: [x, y], or undefined. */
function squeezeIn(i: number, sides: number[], r: number, wide: number, size: number): number[] | undefined {
    const x = sx[i]!;
    const aside = r + 4 + wide / 2;
    const middle = sy[i]! - size / 2;
    const places = [[x, sides[0]!], [x, sides[1]!], [x + aside, middle], [x - aside, middle]];
    return places.find((place) => !liesOnName(place[0]!, place[1]!, wide - 4, size));
}

/** Draws names, the important ones first. A name that would cover another name is left out. So is one that would cover
 * a node, except for deadlocked nodes. */
function drawNames(context: CanvasRenderingContext2D, picture: Picture, radius: number): void {
    const { scene, theme, selected, hovered, camera } = picture;
    const many = radius > 5.5; // names would hide smaller nodes
    const order = namesWanted(picture, many);
    if (order.length === 0) {
        return;
    }
    chooseSides(picture);
    boxes = [];
    const taken = new Set<number>();
    const nodes = new NodeCells(picture, radius);
    const size = Math.round(Math.min(14, Math.max(11, radius)));
    context.textAlign = 'center';
    context.textBaseline = 'top';
    context.lineJoin = 'round';
    context.lineWidth = 3.5;
    context.strokeStyle = theme.paper;
    for (const i of order) {
        const chosen = i === selected || i === hovered;
        const dead = scene.looks[i] === Look.dead;
        const text = shortened(scene.nodes[i]?.name ?? '', i === hovered ? 80 : 22);
        context.font = `${chosen || dead ? 600 : 400} ${size}px ${theme.font}`;
        const r = Math.max(dead ? deadRadius(radius) : radius, chosen ? ringRadius(radius, 5) : 0);
        const sides = [sy[i]! + r + 4, sy[i]! - r - 5 - size];
        if (above[i]) {
            sides.reverse();
        }
        const wide = text.length * size * 0.6 + 4;
        const clear = sides.filter((at) => !nodes.covered(sx[i]!, at, wide, size));
        const wanted = chosen || scene.looks[i]! >= Look.doomed;
        const free = [...clear, ...(wanted ? [sides[0]!] : [])].find((at) =>
            reserve(taken, sx[i]!, at, wide, size + 2, camera.width),
        );
        let place = free === undefined ? undefined : [sx[i]!, free];
        if (!place && dead && many) {
            place = squeezeIn(i, sides, r, wide, size);
        }
        if (!place && !chosen) {
            continue;
        }
        const [x, y] = (place ?? [sx[i]!, sides[0]!]) as [number, number];
        if (chosen || dead) {
            boxes.push(x - wide / 2, y, x + wide / 2, y + size);
            take(taken, x, y, wide, size + 2, camera.width);
        }
        context.strokeText(text, x, y);
        context.fillStyle =
            scene.looks[i]! >= Look.doomed ? theme.deadText : chosen || dead ? theme.ink : theme.muted;
        context.fillText(text, x, y);
    }
}

/** Reserves the grid cells under a name; false if one of them, or one right above or below, is taken. */
function reserve(
    taken: Set<number>,
    x: number,
    y: number,
    width: number,
    height: number,
    across: number,
): boolean {
    const columns = Math.ceil(across / 12) + 40;
    const row = Math.floor(y / height);
    const from = Math.floor((x - width / 2) / 12);
    const to = Math.floor((x + width / 2) / 12);
    for (let r = row - 1; r <= row + 1; r++) {
        for (let c = from; c <= to; c++) {
            if (taken.has(r * columns + c)) {
                return false;
            }
        }
    }
    take(taken, x, y, width, height, across);
    return true;
}

function take(
    taken: Set<number>,
    x: number,
    y: number,
    width: number,
    height: number,
    across: number,
): void {
    const row = Math.floor(y / height) * (Math.ceil(across / 12) + 40);
    for (let c = Math.floor((x - width / 2) / 12); c <= Math.floor((x + width / 2) / 12); c++) {
        taken.add(row + c);
    }
}

function ringRadius(radius: number, gap: number): number {
    return Math.max(radius, 4) * 1.25 + gap;
}

function drawRings(
    context: CanvasRenderingContext2D,
    { theme, selected, hovered }: Picture,
    radius: number,
): void {
    const ring = (slot: number, gap: number, width: number) => {
        context.beginPath();
        context.arc(sx[slot]!, sy[slot]!, ringRadius(radius, gap), 0, 2 * Math.PI);
        context.lineWidth = width;
        context.strokeStyle = theme.accent;
        context.stroke();
    };
    if (hovered >= 0) {
        ring(hovered, 2, 1.5);
    }
    if (selected >= 0) {
        ring(selected, 4, 3);
    }
}

export function draw(context: CanvasRenderingContext2D, picture: Picture): void {
    const { camera, theme } = picture;
    const radius = radiusAt(camera.scale);
    context.fillStyle = theme.paper;
    context.fillRect(0, 0, camera.width, camera.height);
    project(picture);
    sortLinks(picture);
    drawLinks(context, picture, radius);
    if (picture.lit) {
        drawNodes(context, picture, radius, true);
    }
    drawNodes(context, picture, radius, false);
    drawUnits(context, picture, radius);
    drawRings(context, picture, radius);
    drawNames(context, picture, radius);
}
