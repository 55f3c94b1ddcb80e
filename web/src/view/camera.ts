// The camera: the point of the layout at the center of the picture, and the scale in pixels per unit.

export interface Box {
    left: number;
    top: number;
    right: number;
    bottom: number;
}

export class Camera {
    x = 0;
    y = 0;
    scale = 1;
    width = 1;
    height = 1;
    /** Width of the edges that panels cover. */
    inset = { top: 0, right: 0, bottom: 0, left: 0 };
    private aim: { x: number; y: number; scale: number } | null = null;
    static readonly smallest = 0.02;
    static readonly largest = 8;

    toScreenX(x: number): number {
        return (x - this.x) * this.scale + this.width / 2;
    }
    toScreenY(y: number): number {
        return (y - this.y) * this.scale + this.height / 2;
    }
    toWorldX(x: number): number {
        return (x - this.width / 2) / this.scale + this.x;
    }
    toWorldY(y: number): number {
        return (y - this.height / 2) / this.scale + this.y;
    }

    pan(dx: number, dy: number): void {
        this.aim = null;
        this.x -= dx / this.scale;
        this.y -= dy / this.scale;
    }

    /** Zooms around a point, which stays in place. */
    zoom(factor: number, atX = this.width / 2, atY = this.height / 2): void {
        this.aim = null;
        const x = this.toWorldX(atX);
        const y = this.toWorldY(atY);
        this.scale = Math.min(Camera.largest, Math.max(Camera.smallest, this.scale * factor));
        this.x = x - (atX - this.width / 2) / this.scale;
        this.y = y - (atY - this.height / 2) / this.scale;
    }

    /** Moves so that the whole box is visible, at once or gliding. */
    show(box: Box, glide: boolean, closest = 2.2): void {
        const margin = Math.min(60, this.width / 12, this.height / 10);
        const width = Math.max(50, this.width - this.inset.left - this.inset.right - 2 * margin);
        const height = Math.max(50, this.height - this.inset.top - this.inset.bottom - 2 * margin);
        const scale = Math.min(
            closest,
            width / Math.max(1, box.right - box.left),
            height / Math.max(1, box.bottom - box.top),
        );
        this.go(
            {
                x: (box.left + box.right) / 2 - (this.inset.left - this.inset.right) / 2 / scale,
                y: (box.top + box.bottom) / 2 - (this.inset.top - this.inset.bottom) / 2 / scale,
                scale: Math.max(Camera.smallest, scale),
            },
            glide,
        );
    }

    go(aim: { x: number; y: number; scale: number }, glide: boolean): void {
        this.aim = glide ? aim : null;
        if (!glide) {
            Object.assign(this, aim);
        }
    }

    /** Moves one frame towards the target; false when it is reached. */
    glide(): boolean {
        if (!this.aim) {
            return false;
        }
        const { x, y, scale } = this.aim;
        this.scale *= Math.pow(scale / this.scale, 0.18);
        this.x += (x - this.x) * 0.18;
        this.y += (y - this.y) * 0.18;
        const near = Math.abs(x - this.x) + Math.abs(y - this.y);
        if (near * this.scale < 0.5 && Math.abs(Math.log(scale / this.scale)) < 0.004) {
            Object.assign(this, this.aim);
            this.aim = null;
        }
        return true;
    }
}
