// The service's HTTP interface as the page uses it: types, requests, the stream.

export interface SystemInfo {
    name: string;
    kind: 'detect' | 'avoid';
    engine: string;
    note?: string | null;
    processes: number;
    resources: number;
    waiting: number;
    deadlocked: number;
    events: number;
    incidents: number;
}

export interface GraphData {
    system: string;
    seq: number;
    processes: ProcessData[];
    resources: ResourceData[];
    edges: EdgeData[];
    truncated: boolean;
    /** Of a point-in-time query: the time of this state, in ms since 1970. */
    at?: number;
}

/** Number of nodes with a label, KEY:VALUE. */
export interface Label {
    label: string;
    processes: number;
    resources: number;
}

/** All servers of the store; absent for a server without a cluster. */
export interface Cluster {
    shared: boolean;
    leads: boolean;
    address: string;
    leader: string;
    fence: number;
    epoch?: number | null;
    servers?: { address: string; leads: boolean; since: number | null }[];
    /** The database did not answer: there may be other servers. */
    error?: string;
}

export interface ProcessData {
    id: number;
    name: string;
    waiting?: boolean;
    deadlocked?: boolean;
    /** Start of the wait, in ms since 1970. */
    since_ms?: number | null;
    owner?: string | null;
    labels?: string[];
}

export interface ResourceData {
    id: number;
    name: string;
    units: number;
    free: number;
    /** Number of acts of its holders that its waiter needs; the resource has no name. */
    await?: boolean;
    labels?: string[];
}

export interface EdgeData {
    process: number;
    resource: number;
    units: number;
    waits: boolean;
}

/** The effects of an event on the graph, which can be applied and undone. Last field: the resource is an await. */
export type Effect = ['+w' | '-w' | '+h' | '-h', number, number, number, (1 | undefined)?];

export interface Incident {
    id: number;
    system: string;
    at: number;
    ended: number | null;
    how: string | null;
    requester: string;
    processes: string[];
    /** A cycle of names, or the edges of the irreducible part. */
    witness: (string | object)[];
    victim: string | null;
    labels?: string[];
}

export interface ReplayEvent {
    at: number;
    seq: number;
    op: string;
    /** An id or a name. */
    process: number | string;
    result: string;
    effects: Effect[];
}

export interface IncidentDetail extends Incident {
    replay: { graph: GraphData; events: ReplayEvent[]; names?: Names } | null;
}

export interface Names {
    processes?: Record<string, string>;
    resources?: Record<string, string | { name: string; units: number }>;
}

/** The effects of the events after `from`, up to `seq`. */
export interface Change {
    system: string;
    from?: number;
    seq: number;
    effects: Effect[];
    names?: Names;
}

export interface Chain {
    process: string;
    chain: { process: string; waits_for: { resource: string; holders: string[]; await?: boolean }[] }[];
    deadlocked: boolean;
    witness?: (string | object)[] | null;
}

/** One second of the service or of one system. */
export interface Rate {
    at: number;
    events: number;
    deadlocks: number;
    waiting: number;
    p50_us: number;
    p99_us: number;
    systems?: SystemRate[];
}

export interface SystemRate {
    name: string;
    events: number;
    deadlocks: number;
    waiting: number;
    deadlocked: number;
    processes: number;
    resources: number;
}

export interface IncidentFilter {
    system?: string;
    process?: string;
    label?: string;
    since?: number;
    until?: number;
    open?: boolean;
    limit?: number;
    before?: number;
}

/** A process that blocks others. */
export interface Blocker {
    process: string;
    blocks: number;
    waiting: boolean;
    deadlocked: boolean;
    since_ms: number | null;
    owner: string | null;
    holds: string[];
    wants: string[];
    labels?: string[];
    circle?: boolean;
}

export interface Blockers {
    waiting: number;
    at: number | null;
    blockers: Blocker[];
}

/** An action of an operator. */
export interface Action {
    id: number;
    at: number;
    system: string;
    what: string | null;
    process: string | null;
    who: string | null;
    why: string | null;
}

export class ApiError extends Error {
    constructor(
        readonly status: number,
        message: string,
    ) {
        super(message);
    }
}

function query(values: object): string {
    const parts = new URLSearchParams();
    for (const [key, value] of Object.entries(values)) {
        if (value !== undefined && value !== null && value !== '') {
            parts.set(key, value === true ? '1' : String(value));
        }
    }
    const text = parts.toString();
    return text ? '?' + text : '';
}

async function ask<T>(path: string, init?: RequestInit): Promise<T> {
    let answer: Response;
    try {
        answer = await fetch('api/v1/' + path, { credentials: 'same-origin', ...init });
    } catch {
        throw new ApiError(0, 'no answer from the service');
    }
    const text = await answer.text();
    let body: unknown = null;
    try {
        body = text ? JSON.parse(text) : null;
    } catch {
        throw new ApiError(answer.status, `not JSON: ${text.slice(0, 80)}`);
    }
    if (!answer.ok) {
        const said = (body as { error?: { message?: string } } | null)?.error?.message;
        throw new ApiError(answer.status, said ?? `${answer.status} ${answer.statusText}`);
    }
    return body as T;
}

function post<T>(path: string, body: unknown): Promise<T> {
    return ask<T>(path, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify(body),
    });
}

const at = (system: string) => 'systems/' + encodeURIComponent(system);

export const api = {
    systems: async (label?: string) => (await ask<{ systems: SystemInfo[] }>('systems' + query({ label }))).systems,
    graph: (
        system: string,
        options: { around?: string; depth?: number; limit?: number; only?: string; label?: string; at?: number } = {},
    ) => ask<GraphData>(`${at(system)}/graph${query(options)}`),
    chain: (system: string, process: string) => ask<Chain>(`${at(system)}/chain${query({ process })}`),
    whatIf: (system: string, process: string, wants: { resource: string; units: number }[]) =>
        post<{ result: string } & Record<string, unknown>>(`${at(system)}/what-if`, { process, wants }),
    incidents: (filter: IncidentFilter) =>
        ask<{ incidents: Incident[]; next?: number | null }>('incidents' + query(filter)),
    incident: (id: number) => ask<IncidentDetail>('incidents/' + id),
    past: async (system: string, minutes: number) =>
        (await ask<{ interval_ms: number; rates: Rate[] }>('rates' + query({ system, minutes }))),
    rates: async (system: string, seconds: number) =>
        (await ask<{ rates: Rate[] }>('rates' + query({ system, seconds }))).rates,
    blockers: (system: string, options: { under?: string; label?: string } = {}) =>
        ask<Blockers>(`${at(system)}/blockers${query(options)}`),
    labels: async (system: string) => (await ask<{ labels: Label[] }>(`${at(system)}/labels`)).labels,
    pastRange: () => ask<{ from: number; until: number }>('past'),
    cluster: () => ask<Cluster>('cluster'),
    act: (system: string, what: 'end' | 'cancel', process: string, reason: string) =>
        post<{ result: string }>(`${at(system)}/${what}`, { process, reason }),
    audit: (system: string) => ask<{ actions: Action[] }>('audit' + query({ system })),
    login: (token: string) => post<unknown>('login', { token }),
};

export interface StreamHandlers {
    change(change: Change): void;
    reset(system: string): void;
    incident(incident: Incident): void;
    rates(rate: Rate): void;
    systems(): void;
    state(connected: boolean): void;
}

/** Listens until close() is called; reconnects when the connection breaks. */
export function stream(system: string, handlers: StreamHandlers): { close(): void } {
    let source: EventSource | null = null;
    let timer = 0;
    let closed = false;
    const open = () => {
        source = new EventSource('api/v1/stream' + query({ system }));
        const on = <T>(name: string, take: (body: T) => void) =>
            source?.addEventListener(name, (event) =>
                take(JSON.parse((event as MessageEvent<string>).data) as T),
            );
        on<Change>('change', (body) => handlers.change(body));
        on<{ system: string }>('reset', (body) => handlers.reset(body.system));
        on<Incident>('incident', (body) => handlers.incident(body));
        on<Rate>('rates', (body) => handlers.rates(body));
        on<unknown>('systems', () => handlers.systems());
        source.onopen = () => handlers.state(true);
        source.onerror = () => {
            handlers.state(false);
            // The browser retries unless it gave up.
            if (source?.readyState === EventSource.CLOSED && !closed) {
                clearTimeout(timer);
                timer = window.setTimeout(open, 2000);
            }
        };
    };
    open();
    return {
        close() {
            closed = true;
            clearTimeout(timer);
            source?.close();
        },
    };
}
