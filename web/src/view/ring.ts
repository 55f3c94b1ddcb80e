// Lays out a deadlock that is a single cycle as a circle: the forces alone may leave it twisted.

/** Positions on a ring around the center of nodes at x, y, in their order. The rotation and direction minimize the
 * distance that they move. Neighbors are `length` apart. */
export function ring(x: number[], y: number[], length: number): [number, number][] {
    const count = x.length;
    const mean = (values: number[]) => values.reduce((sum, one) => sum + one, 0) / count;
    const [cx, cy] = [mean(x), mean(y)];
    const radius = count < 3 ? length / 2 : length / (2 * Math.sin(Math.PI / count));
    const wound = (way: 1 | -1) => {
        let [sine, cosine] = [0, 0];
        for (let i = 0; i < count; i++) {
            const off = Math.atan2(y[i]! - cy, x[i]! - cx) - (way * 2 * Math.PI * i) / count;
            sine += Math.sin(off);
            cosine += Math.cos(off);
        }
        const start = Math.atan2(sine, cosine);
        const places = x.map((_, i): [number, number] => {
            const turn = start + (way * 2 * Math.PI * i) / count;
            return [cx + radius * Math.cos(turn), cy + radius * Math.sin(turn)];
        });
        const cost = places.reduce((sum, [px, py], i) => sum + (px - x[i]!) ** 2 + (py - y[i]!) ** 2, 0);
        return { places, cost };
    };
    const [left, right] = [wound(1), wound(-1)];
    return (left.cost <= right.cost ? left : right).places;
}
