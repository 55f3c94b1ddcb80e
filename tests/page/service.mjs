// The built `gordian serve`, started for a test in a folder of its own, and a client of its line protocol.

import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Waits until `what()` gives something true; far longer than it should take, for machines under load. */
export async function until(what, told, ms = 600000) {
    for (const end = Date.now() + ms; Date.now() < end;) {
        const got = await what();
        if (got) {
            return got;
        }
        await pause(20);
    }
    throw new Error(`waited in vain: ${told}`);
}

/** A service for one test. In the end it is gone, and so are the pages that looked at it: they would go on drawing. */
export async function serveFor(t, browser, options = {}) {
    const service = await Service.start(process.env.GORDIAN, options);
    t.after(async () => {
        await Promise.all(browser.contexts().map((context) => context.close()));
        await service.stop();
    });
    return service;
}

export class Service {
    static async start(gordian, options = {}) {
        const service = new Service(gordian, options);
        service.run();
        await service.ready();
        return service;
    }

    constructor(gordian, { token } = {}) {
        this.gordian = gordian;
        this.folder = mkdtempSync(join(tmpdir(), 'gordian-page-'));
        this.socket = join(this.folder, 'socket');
        this.token = token;
        this.said = '';
        this.port = 0; // any; when it is started again, the same
        if (token) {
            writeFileSync(join(this.folder, 'tokens'), `page read ${token}\n`, { mode: 0o600 });
        }
    }

    /** Another token instead; the service reads it at once. */
    setToken(token) {
        writeFileSync(join(this.folder, 'tokens'), `page read ${token}\n`, { mode: 0o600 });
        this.process.kill('SIGHUP');
    }

    get url() {
        return `http://127.0.0.1:${this.port}/`;
    }

    run() {
        const args = [
            'serve',
            '--socket',
            this.socket,
            '--data',
            join(this.folder, 'data'),
            '--http',
            `127.0.0.1:${this.port}`,
        ];
        if (this.token) {
            args.push('--token-file', join(this.folder, 'tokens'));
        }
        this.process = spawn(this.gordian, args, { stdio: ['ignore', 'pipe', 'pipe'] });
        this.ended = new Promise((resolve) =>
            this.process.once('exit', (code, signal) => resolve({ code, signal })),
        );
        for (const stream of [this.process.stdout, this.process.stderr]) {
            stream.on('data', (bytes) => (this.said += bytes));
        }
    }

    async ready() {
        let over = false;
        void this.ended.then(() => (over = true));
        await until(async () => {
            if (over) {
                throw new Error(`gordian serve has ended: ${this.said}`);
            }
            this.port ||= Number(/ on http:\/\/127\.0\.0\.1:(\d+)\//.exec(this.said)?.[1] ?? 0);
            if (!this.port) {
                return false;
            }
            return fetch(this.url + 'readyz').then(
                (answer) => answer.ok,
                () => false,
            );
        }, `gordian serve gets ready: ${this.said}`);
    }

    async kill(signal = 'SIGTERM') {
        this.process.kill(signal);
        return this.ended;
    }

    async restart() {
        await this.kill('SIGKILL');
        this.run();
        await this.ready();
    }

    async stop() {
        const end = await this.kill();
        rmSync(this.folder, { recursive: true, force: true });
        return end;
    }

    /** A client; its processes live as long as it. */
    async client() {
        const client = new Client(this.socket);
        await client.opened;
        return client;
    }
}

export class Client {
    constructor(path) {
        this.socket = connect(path);
        this.lines = [];
        this.opened = new Promise((resolve, reject) => {
            this.socket.once('connect', resolve);
            this.socket.on('error', reject);
        });
        let rest = '';
        this.socket.setEncoding('utf8').on('data', (text) => {
            const parts = (rest + text).split('\n');
            rest = parts.pop();
            for (const line of parts) {
                this.lines.push(JSON.parse(line));
            }
        });
    }

    /** Sends lines and waits until all of them are answered; returns the answers of events. */
    async send(...lines) {
        const before = this.lines.length;
        this.socket.write(lines.map((line) => line + '\n').join('') + 'ping\n');
        await until(
            () => this.lines.slice(before).some((answer) => 'pong' in answer),
            `answers to ${lines[0]} ...`,
        );
        const answers = this.lines.slice(before).filter((answer) => !('pong' in answer));
        const wrong = answers.find((answer) => 'error' in answer);
        if (wrong) {
            throw new Error(`${lines.join('; ').slice(0, 200)}: ${JSON.stringify(wrong)}`);
        }
        return answers;
    }

    close() {
        this.socket.destroy();
    }
}
