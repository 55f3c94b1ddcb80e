// Force-directed layout: nodes repel each other (Barnes-Hut: distant groups count as one body), edges pull their
// ends together, a weak force pulls everything to the center. Typed arrays instead of objects, so that a step
// with ten thousand nodes takes milliseconds.

export interface ForceOptions {
    repulsion: number;
    spring: number;
    length: number;
    gravity: number;
    /** A group counts as one body if its size divided by its distance is below this. */
    theta: number;
}

export const defaults: ForceOptions = { repulsion: 70, spring: 0.8, length: 48, gravity: 0.05, theta: 0.9 };

/** Kinds of slots: unused (no weight, no motion), a node without edges, with edges, deadlocked. */
export const enum Rank {
    none,
    alone,
    connected,
    dead,
}

/** By rank: a node's repulsion, and its attraction to the center. Nodes without edges stay close together outside. */
export const weights = [0, 0.35, 1, 1];
const pulls = [0, 1, 1.5, 2];

const EMPTY = -1;

export class Forces {
    readonly options: ForceOptions;
    count = 0;
    x = new Float32Array(0);
    y = new Float32Array(0);
    vx = new Float32Array(0);
    vy = new Float32Array(0);
    /** Rank by slot: a higher rank is nearer to the center. */
    rank = new Uint8Array(0);
    /** 1: fixed, because it is being dragged. */
    fixed = new Uint8Array(0);
    edges: Uint32Array = new Uint32Array(0);
    private strength = new Float32Array(0); // strength of each edge: weak between two nodes with many edges
    private bias = new Float32Array(0); // share of the pull that moves the second end of the edge

    /** Cells visited in the last step: its cost, independent of the machine. */
    looks = 0;

    // The quadtree: a leaf holds one body, and a list of further bodies at the same place.
    private cells = 0;
    private child = new Int32Array(0);
    private body = new Int32Array(0);
    private next = new Int32Array(0);
    private bodies = new Int32Array(0);
    private mass = new Float32Array(0);
    private cx = new Float32Array(0);
    private cy = new Float32Array(0);
    private readonly stack = new Int32Array(4096);
    private readonly sizes = new Float32Array(4096);

    constructor(options: Partial<ForceOptions> = {}) {
        this.options = { ...defaults, ...options };
    }

    resize(count: number): void {
        if (count > this.x.length) {
            const room = Math.max(256, count + (count >> 1));
            const grow = (old: Float32Array) => {
                const wider = new Float32Array(room);
                wider.set(old);
                return wider;
            };
            this.x = grow(this.x);
            this.y = grow(this.y);
            this.vx = grow(this.vx);
            this.vy = grow(this.vy);
            const rank = new Uint8Array(room);
            rank.set(this.rank);
            this.rank = rank;
            const fixed = new Uint8Array(room);
            fixed.set(this.fixed);
            this.fixed = fixed;
        }
        this.count = count;
    }

    setEdges(edges: Uint32Array): void {
        this.edges = edges;
        const degree = new Uint32Array(this.count);
        for (let i = 0; i < edges.length; i++) {
            degree[edges[i]!]!++;
        }
        const links = edges.length >> 1;
        this.strength = new Float32Array(links);
        this.bias = new Float32Array(links);
        for (let i = 0; i < links; i++) {
            const a = degree[edges[2 * i]!]!;
            const b = degree[edges[2 * i + 1]!]!;
            this.strength[i] = this.options.spring / Math.min(a, b);
            this.bias[i] = a / (a + b);
        }
    }

    /** One step; `alpha` (1 hot .. 0 cold) scales all forces. Returns the longest distance that a node moved. */
    step(alpha: number): number {
        this.grow();
        this.repel(alpha);
        this.pull(alpha);
        let longest = 0;
        const gravity = this.options.gravity * alpha;
        for (let i = 0; i < this.count; i++) {
            if (!this.rank[i]) {
                continue;
            }
            if (this.fixed[i]) {
                this.vx[i] = 0;
                this.vy[i] = 0;
                continue;
            }
            const inward = gravity * pulls[this.rank[i]!]!;
            let vx = (this.vx[i]! - this.x[i]! * inward) * 0.62;
            let vy = (this.vy[i]! - this.y[i]! * inward) * 0.62;
            const speed = Math.hypot(vx, vy);
            if (speed > 60) {
                vx *= 60 / speed;
                vy *= 60 / speed;
            }
            this.vx[i] = vx;
            this.vy[i] = vy;
            this.x[i]! += vx;
            this.y[i]! += vy;
            longest = Math.max(longest, Math.min(speed, 60));
        }
        return longest;
    }

    private pull(alpha: number): void {
        const { edges, x, y, vx, vy } = this;
        for (let i = 0; i < this.strength.length; i++) {
            const a = edges[2 * i]!;
            const b = edges[2 * i + 1]!;
            let dx = x[b]! + vx[b]! - x[a]! - vx[a]!;
            let dy = y[b]! + vy[b]! - y[a]! - vy[a]!;
            if (dx === 0 && dy === 0) {
                dx = 0.01 * ((a % 7) - 3.5);
                dy = 0.01 * ((b % 5) - 2.5);
            }
            const distance = Math.hypot(dx, dy);
            const force = ((distance - this.options.length) / distance) * alpha * this.strength[i]!;
            const share = this.bias[i]!;
            vx[b]! -= dx * force * share;
            vy[b]! -= dy * force * share;
            vx[a]! += dx * force * (1 - share);
            vy[a]! += dy * force * (1 - share);
        }
    }

    private root = { x: 0, y: 0, size: 1 };

    private cell(): number {
        if (this.cells === this.body.length) {
            const room = Math.max(1024, this.cells * 2);
            const grow = <T extends Int32Array | Float32Array>(old: T, length: number): T => {
                const wider = new (old.constructor as new (n: number) => T)(length);
                wider.set(old);
                return wider;
            };
            this.child = grow(this.child, room * 4);
            this.body = grow(this.body, room);
            this.bodies = grow(this.bodies, room);
            this.mass = grow(this.mass, room);
            this.cx = grow(this.cx, room);
            this.cy = grow(this.cy, room);
        }
        const at = this.cells++;
        this.child.fill(EMPTY, at * 4, at * 4 + 4);
        this.body[at] = EMPTY;
        this.bodies[at] = 0;
        return at;
    }

    /** Builds the tree of the active nodes. */
    private grow(): void {
        let left = Infinity;
        let top = Infinity;
        let right = -Infinity;
        let bottom = -Infinity;
        for (let i = 0; i < this.count; i++) {
            if (this.rank[i]) {
                left = Math.min(left, this.x[i]!);
                right = Math.max(right, this.x[i]!);
                top = Math.min(top, this.y[i]!);
                bottom = Math.max(bottom, this.y[i]!);
            }
        }
        this.cells = 0;
        if (this.next.length < this.count) {
            this.next = new Int32Array(this.x.length);
        }
        const size = Math.max(right - left, bottom - top, 1) * 1.0001;
        this.root = { x: left, y: top, size };
        this.cell();
        if (left === Infinity) {
            return;
        }
        for (let i = 0; i < this.count; i++) {
            if (this.rank[i]) {
                this.insert(i);
            }
        }
        this.weigh();
    }

    private insert(node: number): void {
        let at = 0;
        let { x, y, size } = this.root;
        this.next[node] = EMPTY;
        for (let depth = 0; ; depth++) {
            const resident = this.body[at]!;
            if (this.bodies[at]!++ === 0) {
                this.body[at] = node;
                return;
            }
            if (resident !== EMPTY) {
                if (depth > 24 || (this.x[resident] === this.x[node] && this.y[resident] === this.y[node])) {
                    this.next[node] = resident;
                    this.body[at] = node;
                    return;
                }
                this.split(at, x, y, size);
            }
            size /= 2;
            const column = this.x[node]! >= x + size ? 1 : 0;
            const row = this.y[node]! >= y + size ? 1 : 0;
            x += column * size;
            y += row * size;
            let down = this.child[at * 4 + row * 2 + column]!;
            if (down === EMPTY) {
                down = this.cell();
                this.child[at * 4 + row * 2 + column] = down;
            }
            at = down;
        }
    }

    /** Moves the body of a leaf one level down. */
    private split(at: number, x: number, y: number, size: number): void {
        const resident = this.body[at]!;
        const half = size / 2;
        const column = this.x[resident]! >= x + half ? 1 : 0;
        const row = this.y[resident]! >= y + half ? 1 : 0;
        const down = this.cell();
        this.child[at * 4 + row * 2 + column] = down;
        this.body[down] = resident;
        // The new body is counted in `at` already.
        this.bodies[down] = this.bodies[at]! - 1;
        this.body[at] = EMPTY;
    }

    /** Centers of mass, from the last cell to the first: children come after their parents. */
    private weigh(): void {
        for (let at = this.cells - 1; at >= 0; at--) {
            let mass = 0;
            let x = 0;
            let y = 0;
            for (let i = this.body[at]!; i !== EMPTY; i = this.next[i]!) {
                mass += weights[this.rank[i]!]!;
                x += this.x[i]! * weights[this.rank[i]!]!;
                y += this.y[i]! * weights[this.rank[i]!]!;
            }
            for (let i = 0; i < 4; i++) {
                const down = this.child[at * 4 + i]!;
                if (down !== EMPTY) {
                    mass += this.mass[down]!;
                    x += this.cx[down]! * this.mass[down]!;
                    y += this.cy[down]! * this.mass[down]!;
                }
            }
            this.mass[at] = mass;
            this.cx[at] = x / mass;
            this.cy[at] = y / mass;
        }
    }

    private repel(alpha: number): void {
        this.looks = 0;
        for (let i = 0; i < this.count; i++) {
            if (this.rank[i]) {
                this.push(i, alpha * this.options.repulsion);
            }
        }
    }

    /** The force of all other nodes on one node. */
    private push(i: number, strength: number): void {
        const { stack, sizes, child, body, mass, cx, cy } = this;
        const px = this.x[i]!;
        const py = this.y[i]!;
        const theta2 = this.options.theta * this.options.theta;
        let fx = 0;
        let fy = 0;
        let depth = 1;
        stack[0] = 0;
        sizes[0] = this.root.size;
        while (depth > 0) {
            const at = stack[--depth]!;
            const size = sizes[depth]!;
            this.looks++;
            let dx = px - cx[at]!;
            let dy = py - cy[at]!;
            let d2 = dx * dx + dy * dy;
            const leaf = body[at] !== EMPTY;
            if (!leaf && size * size >= theta2 * d2) {
                for (let k = 0; k < 4; k++) {
                    const down = child[at * 4 + k]!;
                    if (down !== EMPTY) {
                        stack[depth] = down;
                        sizes[depth++] = size / 2;
                    }
                }
                continue;
            }
            let weight = mass[at]!;
            if (leaf && body[at] === i && this.bodies[at] === 1) {
                continue;
            }
            if (d2 === 0) {
                // Two bodies at the same place: push each in its own direction.
                weight -= weights[this.rank[i]!]!;
                dx = Math.cos(i * 2.4) * 0.5;
                dy = Math.sin(i * 2.4) * 0.5;
                d2 = 0.25;
            }
            // Decreases with the distance, and is bounded nearby.
            const force = (strength * weight) / (d2 < 1 ? Math.sqrt(d2) : d2);
            fx += dx * force;
            fy += dy * force;
        }
        this.vx[i]! += fx;
        this.vy[i]! += fy;
    }
}
