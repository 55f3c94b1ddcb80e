// The canvas: frames, pointer, touch and keys. It draws only while something changes or moves.

import type { Node } from '../graph';
import { Camera } from './camera';
import { draw, radiusAt } from './draw';
import { Look, type Scene } from './scene';
import { readTheme, type Theme } from './theme';

export interface StageEvents {
    select(node: Node | null): void;
    hover(node: Node | null, x: number, y: number): void;
}

/** Frame times in ms, for the overlay and for tests. */
export class FrameTimes {
    private readonly ring = new Float64Array(240);
    private count = 0;

    add(ms: number): void {
        this.ring[this.count++ % this.ring.length] = ms;
    }
    clear(): void {
        this.count = 0;
    }
    get size(): number {
        return Math.min(this.count, this.ring.length);
    }
    quantile(share: number): number {
        const sorted = Array.from(this.ring.subarray(0, this.size)).sort((a, b) => a - b);
        return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
    }
}

export class Stage {
    readonly camera = new Camera();
    readonly drawTimes = new FrameTimes();
    readonly frameGaps = new FrameTimes();
    scene: Scene;
    selected: Node | null = null;
    lit: Set<number> | null = null;
    onFrame: () => void = () => {};
    private readonly context: CanvasRenderingContext2D;
    private theme: Theme = readTheme();
    private hovered = -1;
    private dirty = true;
    private frame = 0;
    private lastFrame = 0;
    private following = true; // the picture stays fitted until the user moves it
    private readonly calm = matchMedia('(prefers-reduced-motion: reduce)');
    private readonly pointers = new Map<number, { x: number; y: number }>();
    private pressed: { x: number; y: number; slot: number; moved: boolean } | null = null;

    constructor(
        readonly canvas: HTMLCanvasElement,
        scene: Scene,
        private readonly events: StageEvents,
    ) {
        this.context = canvas.getContext('2d', { alpha: false })!;
        this.scene = scene;
        this.show(scene);
        new ResizeObserver(() => this.resize()).observe(canvas);
        this.resize();
        this.listen();
    }

    show(scene: Scene): void {
        this.scene.changed = () => {};
        this.scene = scene;
        scene.changed = () => this.invalidate();
        this.hovered = -1;
        this.lit = null;
        this.following = true;
        this.fit(false);
    }

    retheme(): void {
        this.theme = readTheme();
        this.invalidate();
    }

    invalidate(): void {
        this.dirty = true;
        if (!this.frame) {
            this.frame = requestAnimationFrame((time) => this.tick(time));
        }
    }

    fit(glide = !this.calm.matches): void {
        const box = this.scene.bounds();
        if (box) {
            this.camera.show(box, glide);
        }
        this.following = true;
        this.invalidate();
    }

    /** Centers a node, at a readable scale. */
    centre(node: Node): void {
        const slot = this.scene.slotOf(node);
        if (slot >= 0) {
            this.following = false;
            const scale = Math.max(this.camera.scale, 1.1);
            const { top, right, bottom, left } = this.camera.inset;
            const x = this.scene.x[slot]! - (left - right) / 2 / scale;
            const y = this.scene.y[slot]! - (top - bottom) / 2 / scale;
            this.camera.go({ x, y, scale }, !this.calm.matches);
            this.invalidate();
        }
    }

    zoom(factor: number): void {
        this.following = false;
        this.camera.zoom(factor);
        this.invalidate();
    }

    pan(dx: number, dy: number): void {
        this.following = false;
        this.camera.pan(dx, dy);
        this.invalidate();
    }

    nodeAt(x: number, y: number): number {
        const reach = Math.max(9, radiusAt(this.camera.scale) + 3);
        let best = -1;
        let nearest = reach * reach;
        for (let i = 0; i < this.scene.nodes.length; i++) {
            if (!this.scene.nodes[i]) {
                continue;
            }
            const dx = this.camera.toScreenX(this.scene.x[i]!) - x;
            const dy = this.camera.toScreenY(this.scene.y[i]!) - y;
            // Deadlocked nodes win among those within reach.
            const d2 = (dx * dx + dy * dy) * (this.scene.looks[i] === Look.dead ? 0.5 : 1);
            if (d2 < nearest) {
                nearest = d2;
                best = i;
            }
        }
        return best;
    }

    private resize(): void {
        const box = this.canvas.getBoundingClientRect();
        const ratio = Math.min(2, window.devicePixelRatio || 1);
        this.canvas.width = Math.max(1, Math.round(box.width * ratio));
        this.canvas.height = Math.max(1, Math.round(box.height * ratio));
        this.camera.width = Math.max(1, box.width);
        this.camera.height = Math.max(1, box.height);
        this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
        if (this.following) {
            this.fit(false);
        }
        this.invalidate();
    }

    private tick(time: number): void {
        this.frame = 0;
        const gliding = this.scene.glide();
        if (this.following && (gliding || this.scene.moving)) {
            const box = this.scene.bounds();
            if (box) {
                this.camera.show(box, !this.calm.matches && this.drawTimes.size > 2);
            }
        }
        const flying = this.camera.glide();
        const alive = this.hasDead() && !this.calm.matches;
        if (this.dirty || gliding || flying || alive) {
            this.paint(alive ? time : -1);
            this.dirty = false;
        }
        if (gliding || flying || alive || this.scene.moving) {
            if (this.lastFrame > 0) {
                this.frameGaps.add(time - this.lastFrame);
            }
            this.lastFrame = time;
            this.frame = requestAnimationFrame((next) => this.tick(next));
        } else {
            this.lastFrame = 0;
        }
        this.onFrame();
    }

    private paint(time: number): void {
        const started = performance.now();
        draw(this.context, {
            scene: this.scene,
            camera: this.camera,
            theme: this.theme,
            selected: this.scene.slotOf(this.selected),
            hovered: this.hovered,
            lit: this.lit,
            time,
        });
        this.drawTimes.add(performance.now() - started);
    }

    private hasDead(): boolean {
        return this.scene.linkDead.includes(1);
    }

    private listen(): void {
        const canvas = this.canvas;
        const at = (event: MouseEvent) => {
            const box = canvas.getBoundingClientRect();
            return { x: event.clientX - box.left, y: event.clientY - box.top };
        };
        canvas.addEventListener('pointerdown', (event) => {
            canvas.setPointerCapture(event.pointerId);
            const point = at(event);
            this.pointers.set(event.pointerId, point);
            this.pressed = { ...point, slot: this.nodeAt(point.x, point.y), moved: this.pointers.size > 1 };
        });
        canvas.addEventListener('pointermove', (event) => this.move(event.pointerId, at(event)));
        const release = (event: PointerEvent) => {
            this.pointers.delete(event.pointerId);
            const pressed = this.pressed;
            if (pressed && this.pointers.size === 0) {
                this.pressed = null;
                if (pressed.slot >= 0 && pressed.moved) {
                    this.scene.unpin(pressed.slot);
                } else if (!pressed.moved && event.type === 'pointerup') {
                    this.events.select(this.scene.nodes[pressed.slot] ?? null);
                }
            }
        };
        canvas.addEventListener('pointerup', release);
        canvas.addEventListener('pointercancel', release);
        canvas.addEventListener('pointerleave', () => this.hover(-1, 0, 0));
        canvas.addEventListener('dblclick', (event) => {
            const slot = this.nodeAt(at(event).x, at(event).y);
            const node = this.scene.nodes[slot];
            if (node) {
                this.centre(node);
            } else {
                this.fit();
            }
        });
        canvas.addEventListener(
            'wheel',
            (event) => {
                event.preventDefault();
                const { x, y } = at(event);
                const lines = event.deltaMode === 1 ? 18 : event.deltaMode === 2 ? 400 : 1;
                this.following = false;
                this.camera.zoom(Math.exp(-event.deltaY * lines * (event.ctrlKey ? 0.01 : 0.0016)), x, y);
                this.invalidate();
            },
            { passive: false },
        );
        this.calm.addEventListener('change', () => this.invalidate());
    }

    private move(id: number, point: { x: number; y: number }): void {
        const before = this.pointers.get(id);
        if (!before || !this.pressed) {
            this.hover(this.nodeAt(point.x, point.y), point.x, point.y);
            return;
        }
        if (this.pointers.size === 2) {
            this.pinch(id, before, point);
        } else if (this.pressed.moved || Math.hypot(point.x - this.pressed.x, point.y - this.pressed.y) > 4) {
            this.pressed.moved = true;
            this.following = false;
            if (this.pressed.slot >= 0) {
                this.scene.pin(
                    this.pressed.slot,
                    this.camera.toWorldX(point.x),
                    this.camera.toWorldY(point.y),
                );
            } else {
                this.camera.pan(point.x - before.x, point.y - before.y);
                this.invalidate();
            }
        }
        this.pointers.set(id, point);
    }

    private pinch(id: number, before: { x: number; y: number }, point: { x: number; y: number }): void {
        const other = [...this.pointers].find(([key]) => key !== id)?.[1];
        if (!other) {
            return;
        }
        const was = Math.hypot(before.x - other.x, before.y - other.y);
        const is = Math.hypot(point.x - other.x, point.y - other.y);
        this.following = false;
        this.camera.pan((point.x - before.x) / 2, (point.y - before.y) / 2);
        this.camera.zoom(is / Math.max(1, was), (point.x + other.x) / 2, (point.y + other.y) / 2);
        this.invalidate();
    }

    private hover(slot: number, x: number, y: number): void {
        if (slot !== this.hovered) {
            this.hovered = slot;
            this.canvas.classList.toggle('pointing', slot >= 0);
            this.invalidate();
        }
        this.events.hover(this.scene.nodes[slot] ?? null, x, y);
    }
}
