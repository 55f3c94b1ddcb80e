// A small resource-allocation system for the mock: requests, releases, cancels and exits with the semantics of
// the service (whoever waits is served in order of arrival, whole requests only), and what each event did.

export class MockSystem {
    constructor(name) {
        this.name = name;
        this.seq = 0;
        this.processes = []; // {name, holds: Map, waits: Map, since}
        this.resources = []; // {name, units, free}
        this.queue = []; // ids of processes that wait, in order of arrival
        this.recent = []; // events with effects
        this.counts = { events: 0, deadlocks: 0 };
    }

    resource(name, units = 1) {
        this.resources.push({ name, units, free: units });
        return this.resources.length - 1;
    }

    process(name) {
        this.processes.push({ name, holds: new Map(), waits: new Map(), since: 0 });
        return this.processes.length - 1;
    }

    fits(wants) {
        return [...wants].every(([resource, units]) => this.resources[resource].free >= units);
    }

    grant(process, wants, effects) {
        for (const [resource, units] of wants) {
            const holds = this.processes[process].holds;
            holds.set(resource, (holds.get(resource) ?? 0) + units);
            this.resources[resource].free -= units;
            effects.push(['+h', process, resource, units]);
        }
    }

    event(op, process, result, effects) {
        const event = {
            at: Date.now(),
            seq: ++this.seq,
            op,
            process: this.processes[process].name,
            result,
            effects,
        };
        this.counts.events++;
        this.recent.push(event);
        if (this.recent.length > 400) {
            this.recent.shift();
        }
        return event;
    }

    request(process, wants) {
        const effects = [];
        const map = new Map(wants);
        const self = this.processes[process];
        if (self.waits.size > 0) {
            return this.event('request', process, 'error', effects);
        }
        if (this.fits(map)) {
            this.grant(process, map, effects);
            return this.event('request', process, 'granted', effects);
        }
        self.waits = map;
        self.since = Date.now();
        this.queue.push(process);
        for (const [resource, units] of map) {
            effects.push(['+w', process, resource, units]);
        }
        const dead = this.dead();
        const result = dead.has(process) ? 'deadlock' : 'blocked';
        this.counts.deadlocks += result === 'deadlock' ? 1 : 0;
        return this.event('request', process, result, effects);
    }

    serve(effects) {
        for (const process of [...this.queue]) {
            const self = this.processes[process];
            if (this.fits(self.waits)) {
                const wants = self.waits;
                this.stopWaiting(process, effects);
                this.grant(process, wants, effects);
            }
        }
    }

    stopWaiting(process, effects) {
        const self = this.processes[process];
        for (const [resource, units] of self.waits) {
            effects.push(['-w', process, resource, units]);
        }
        self.waits = new Map();
        this.queue = this.queue.filter((id) => id !== process);
    }

    giveBack(process, resource, units, effects) {
        const holds = this.processes[process].holds;
        const left = holds.get(resource) - units;
        if (left > 0) {
            holds.set(resource, left);
        } else {
            holds.delete(resource);
        }
        this.resources[resource].free += units;
        effects.push(['-h', process, resource, units]);
    }

    release(process, resource) {
        const effects = [];
        this.giveBack(process, resource, 1, effects);
        this.serve(effects);
        return this.event('release', process, 'released', effects);
    }

    exit(process) {
        const effects = [];
        this.stopWaiting(process, effects);
        for (const [resource, units] of [...this.processes[process].holds]) {
            this.giveBack(process, resource, units, effects);
        }
        this.serve(effects);
        return this.event('exit', process, 'exited', effects);
    }

    /** Who can never run again: plain reduction. */
    dead() {
        const work = this.resources.map((one) => one.free);
        const left = new Set(this.queue);
        for (const [id, process] of this.processes.entries()) {
            if (!left.has(id)) {
                process.holds.forEach((units, resource) => (work[resource] += units));
            }
        }
        for (let again = true; again;) {
            again = false;
            for (const id of left) {
                const process = this.processes[id];
                if ([...process.waits].every(([resource, units]) => work[resource] >= units)) {
                    left.delete(id);
                    process.holds.forEach((units, resource) => (work[resource] += units));
                    again = true;
                }
            }
        }
        return left;
    }

    graph() {
        const dead = this.dead();
        return {
            system: this.name,
            seq: this.seq,
            processes: this.processes.map((one, id) => ({
                id,
                name: one.name,
                waiting: one.waits.size > 0,
                deadlocked: dead.has(id),
                since_ms: one.waits.size > 0 ? one.since : null,
                owner: null,
            })),
            resources: this.resources.map((one, id) => ({
                id,
                name: one.name,
                units: one.units,
                free: one.free,
            })),
            edges: this.processes.flatMap((one, process) => [
                ...[...one.holds].map(([resource, units]) => ({ process, resource, units, waits: false })),
                ...[...one.waits].map(([resource, units]) => ({ process, resource, units, waits: true })),
            ]),
            truncated: false,
        };
    }

    /** The cycle [p, q, p', q', ...] from a dead process, following first waits and first holders. */
    witness(start) {
        const way = [];
        const seen = new Set();
        for (let at = start; !seen.has(at);) {
            seen.add(at);
            const resource = [...this.processes[at].waits.keys()][0];
            way.push(this.processes[at].name, this.resources[resource].name);
            at = this.processes.findIndex((one) => one.holds.has(resource) && one.waits.size > 0);
            if (at < 0) {
                break;
            }
        }
        return way;
    }
}
