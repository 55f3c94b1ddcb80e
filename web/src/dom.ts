// Small helpers for building the page's elements. Styles are set through the object model only, which the
// content security policy allows; there is no inline style and no innerHTML.

type Child = Node | string | null | false | undefined;
type Props = Record<string, unknown>;

function assign(element: Element, props: Props): void {
    for (const [name, value] of Object.entries(props)) {
        if (value === undefined || value === null || value === false) {
            continue;
        }
        if (name.startsWith('on') && typeof value === 'function') {
            element.addEventListener(name.slice(2), value as EventListener);
        } else if (name === 'class') {
            element.setAttribute('class', String(value));
        } else if (name in element && typeof value !== 'string') {
            (element as unknown as Props)[name] = value;
        } else {
            element.setAttribute(name, value === true ? '' : String(value));
        }
    }
}

export function h<K extends keyof HTMLElementTagNameMap>(
    tag: K,
    props: Props = {},
    ...children: Child[]
): HTMLElementTagNameMap[K] {
    const element = document.createElement(tag);
    assign(element, props);
    element.append(
        ...children.filter(
            (child): child is Node | string => child !== null && child !== undefined && child !== false,
        ),
    );
    return element;
}

const svgSpace = 'http://www.w3.org/2000/svg';

/** An icon of the page's set: strokes in the current colour, hidden from screen readers. */
export function icon(name: keyof typeof icons): SVGElement {
    const svg = document.createElementNS(svgSpace, 'svg');
    assign(svg, { viewBox: '0 0 24 24', class: 'icon', 'aria-hidden': 'true', focusable: 'false' });
    const path = document.createElementNS(svgSpace, 'path');
    assign(path, { d: icons[name] });
    svg.append(path);
    return svg;
}

const icons = {
    search: 'M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14m5 12 4.5 4.5',
    sun: 'M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8M12 2v2.5M12 19.5V22M2 12h2.5M19.5 12H22M5 5l1.7 1.7M17.3 17.3 19 19M5 19l1.7-1.7M17.3 6.7 19 5',
    moon: 'M20 14.5A8.5 8.5 0 0 1 9.5 4a8.5 8.5 0 1 0 10.5 10.5Z',
    help: 'M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18M9.5 9.5a2.5 2.5 0 1 1 3.6 2.2c-.8.5-1.1 1-1.1 1.8M12 16.7v.3',
    fit: 'M4 9V4h5M20 9V4h-5M4 15v5h5M20 15v5h-5',
    plus: 'M12 5v14M5 12h14',
    clock: 'M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18M12 7.5V12l3 2.2',
    minus: 'M5 12h14',
    play: 'M8 5.5v13l10.5-6.5Z',
    pause: 'M8.5 5v14M15.5 5v14',
    start: 'M18 6v12l-9-6ZM6 6v12',
    end: 'M6 6v12l9-6ZM18 6v12',
    close: 'M6 6l12 12M18 6 6 18',
    target: 'M12 5a7 7 0 1 0 0 14 7 7 0 0 0 0-14M12 2v4M12 18v4M2 12h4M18 12h4',
    knot: 'M7 17c-3-1-4.500-4-3-7s5-3 7.500 0 3.500 6.500 6.500 6 3.500-4.500 1.500-6.500-5.500-1-7.500 2-4 6.500-7 5.500',
};

export function replace(parent: Element, ...children: Child[]): void {
    parent.replaceChildren(
        ...children.filter(
            (child): child is Node | string => child !== null && child !== undefined && child !== false,
        ),
    );
}

export function byId<T extends HTMLElement>(id: string): T {
    const element = document.getElementById(id);
    if (!element) {
        throw new Error(`no element #${id}`);
    }
    return element as T;
}

export const count = (n: number, one: string, many = one + 's') =>
    `${n.toLocaleString('en')} ${n === 1 ? one : many}`;

/** "3 s", "2 min", "1 h": short, rounded down. */
export function duration(ms: number): string {
    if (ms < 1000) {
        return `${Math.max(0, Math.round(ms))} ms`;
    }
    const s = Math.floor(ms / 1000);
    if (s < 60) {
        return `${s} s`;
    }
    if (s < 3600) {
        return `${Math.floor(s / 60)} min ${s % 60} s`;
    }
    if (s < 86400) {
        return `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`;
    }
    return `${Math.floor(s / 86400)} d ${Math.floor((s % 86400) / 3600)} h`;
}

/** 12 345 -> "12.3 k". */
export function short(n: number): string {
    if (!Number.isFinite(n)) {
        return '–';
    }
    if (n < 1000) {
        return Number.isInteger(n) ? String(n) : n.toFixed(n < 10 ? 1 : 0);
    }
    const units = ['k', 'M', 'G'];
    let unit = -1;
    while (n >= 1000 && unit < units.length - 1) {
        n /= 1000;
        unit++;
    }
    return `${n < 10 ? n.toFixed(1) : n.toFixed(0)} ${units[unit]}`;
}
