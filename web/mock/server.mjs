// A service to develop the page against: the HTTP interface with a simulated system behind it, and the page
// from dist/. For people who work on the page; the tests use the real one.
//
//     npm run mock -- [--port 7421] [--nodes 60] [--rate 20] [--token SECRET]

import { createServer } from 'node:http';
import { readFile } from 'node:fs/promises';
import { extname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { MockSystem } from './system.mjs';

const { values } = parseArgs({
    options: {
        port: { type: 'string', default: '7421' },
        nodes: { type: 'string', default: '60' },
        rate: { type: 'string', default: '20' },
        token: { type: 'string' },
    },
});
const dist = join(fileURLToPath(new URL('.', import.meta.url)), '../dist');
const types = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.svg': 'image/svg+xml' };
const policy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; worker-src 'self'; " +
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const system = new MockSystem('default');
const half = Math.max(2, Number(values.nodes) >> 1);
for (let i = 0; i < half; i++) {
    system.resource(
        `${['orders', 'stock', 'ledger', 'cache', 'gpu', 'pool'][i % 6]}-${i}`,
        i % 7 === 4 ? 4 : i % 11 === 5 ? 24 : 1,
    );
    system.process(`${['checkout', 'restock', 'report', 'import', 'train'][i % 5]}-${i}`);
}

const clients = new Set();
const incidents = [];
const rates = [];
let unsent = { from: 0, effects: [] };
let second = { events: 0, deadlocks: 0 };

function note(event) {
    unsent.effects.push(...event.effects);
    second.events++;
    if (event.result === 'deadlock') {
        second.deadlocks++;
        const dead = [...system.dead()];
        const requester = system.processes.findIndex((one) => one.name === event.process);
        const incident = {
            id: incidents.length + 1,
            system: system.name,
            at: event.at,
            ended: null,
            how: null,
            requester: event.process,
            processes: dead.map((id) => system.processes[id].name).sort(),
            witness: system.witness(requester),
            victim: null,
            replay: { graph: system.graph(), events: system.recent.slice(-60) },
        };
        incidents.push(incident);
        send('incident', { ...incident, replay: undefined });
        setTimeout(() => {
            note(system.exit(requester));
            Object.assign(incident, { ended: Date.now(), how: 'exited', victim: event.process });
            send('incident', { ...incident, replay: undefined });
        }, 20000);
    }
}

function send(name, body) {
    for (const client of clients) {
        client.write(`event: ${name}\ndata: ${JSON.stringify(body)}\n\n`);
    }
}

let seed = 7;
const random = (n) => {
    seed = (Math.imul(seed, 1103515245) + 12345) >>> 0;
    return Math.floor((seed / 2 ** 32) * n);
};

function act() {
    const id = random(system.processes.length);
    const process = system.processes[id];
    if (process.waits.size > 0) {
        return;
    }
    const held = [...process.holds.keys()];
    if (held.length > 0 && random(5) < 3) {
        note(system.release(id, held[random(held.length)]));
    } else {
        const near = (id + random(5)) % system.resources.length;
        if (!process.holds.has(near)) {
            note(system.request(id, [[near, 1]]));
        }
    }
}
setInterval(act, 1000 / Number(values.rate));
setInterval(() => {
    if (unsent.effects.length > 0) {
        send('change', {
            system: system.name,
            from: unsent.from,
            seq: system.seq,
            effects: unsent.effects,
            names: { processes: {}, resources: {} },
        });
    }
    unsent = { from: system.seq, effects: [] };
}, 100);
setInterval(() => {
    const rate = {
        at: Date.now(),
        ...second,
        waiting: system.queue.length,
        p50_us: 3 + random(20) / 10,
        p99_us: 9 + random(60) / 10,
    };
    rates.push(rate);
    second = { events: 0, deadlocks: 0 };
    const own = { events: rate.events, deadlocks: rate.deadlocks, waiting: rate.waiting };
    const counts = {
        deadlocked: system.dead().size,
        processes: system.processes.length,
        resources: system.resources.length,
    };
    send('rates', { ...rate, systems: [{ name: system.name, ...own, ...counts }] });
}, 1000);

const byName = (name) => system.processes.findIndex((one) => one.name === name);

function chain(name) {
    const found = [];
    const queue = [byName(name)];
    const seen = new Set(queue);
    for (let at = queue.shift(); at !== undefined; at = queue.shift()) {
        const waits = [...system.processes[at].waits.keys()].map((resource) => {
            const holders = system.processes.flatMap((one, id) => (one.holds.has(resource) ? [id] : []));
            for (const holder of holders) {
                if (!seen.has(holder)) {
                    seen.add(holder);
                    queue.push(holder);
                }
            }
            return {
                resource: system.resources[resource].name,
                holders: holders.map((id) => system.processes[id].name),
            };
        });
        found.push({ process: system.processes[at].name, waits_for: waits });
    }
    return { process: name, chain: found, deadlocked: system.dead().has(byName(name)), witness: null };
}

function answer(path, query) {
    const dead = system.dead().size;
    switch (path) {
        case 'systems':
            return {
                systems: [
                    {
                        name: system.name,
                        kind: 'detect',
                        engine: 'sparse',
                        note: null,
                        processes: system.processes.length,
                        resources: system.resources.length,
                        waiting: system.queue.length,
                        deadlocked: dead,
                        events: system.counts.events,
                        incidents: incidents.length,
                    },
                ],
            };
        case 'systems/default/graph':
            return system.graph();
        case 'systems/default/chain':
            return byName(query.get('process')) >= 0 ? chain(query.get('process')) : null;
        case 'systems/default/what-if':
            return { result: 'blocked' };
        case 'incidents':
            return {
                incidents: incidents
                    .filter(
                        (one) =>
                            (!query.get('process') || one.processes.includes(query.get('process'))) &&
                            (!query.get('open') || one.ended === null),
                    )
                    .reverse()
                    .map((one) => ({ ...one, replay: undefined })),
                next: null,
            };
        case 'rates':
            return { rates };
        case 'systems/default/labels':
            return { labels: [] };
        case 'cluster':
            return { shared: false, leads: true, address: '', leader: '', fence: 0 };
        default:
            return path.startsWith('incidents/') ? (incidents[Number(path.slice(10)) - 1] ?? null) : null;
    }
}

createServer(async (request, response) => {
    const url = new URL(request.url, 'http://mock');
    const say = (status, body) =>
        response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
    if (url.pathname.startsWith('/api/v1/')) {
        const path = url.pathname.slice(8);
        if (path === 'login') {
            let body = '';
            for await (const part of request) {
                body += part;
            }
            if (JSON.parse(body).token !== values.token) {
                return say(401, { error: { status: 401, message: 'wrong token' } });
            }
            response.setHeader('Set-Cookie', 'mock=1; HttpOnly; SameSite=Strict');
            return say(200, {});
        }
        if (values.token && !request.headers.cookie?.includes('mock=1')) {
            return say(401, { error: { status: 401, message: 'a token is needed' } });
        }
        if (path === 'stream') {
            response.writeHead(200, { 'Content-Type': 'text/event-stream' });
            clients.add(response);
            request.on('close', () => clients.delete(response));
            return;
        }
        const body = answer(path, url.searchParams);
        return body
            ? say(200, body)
            : say(404, { error: { status: 404, message: `nothing at ${url.pathname}` } });
    }
    try {
        const file = normalize(url.pathname === '/' ? '/index.html' : url.pathname);
        const bytes = await readFile(join(dist, file));
        response
            .writeHead(200, {
                'Content-Type': types[extname(file)] ?? 'text/plain',
                'Content-Security-Policy': policy,
            })
            .end(bytes);
    } catch {
        say(404, { error: { status: 404, message: 'no such file; npm run build?' } });
    }
}).listen(Number(values.port), '127.0.0.1', () => console.log(`http://127.0.0.1:${values.port}/`));
