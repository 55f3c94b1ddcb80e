// Takes the screenshots of the documents: a simulated shop runs against a real service until it deadlocks.
//
//     node screenshots.mjs GORDIAN PAGE-WORK FOLDER

import { join, resolve } from 'node:path';
import { openBrowser, openPage } from './browser.mjs';
import { Service, until } from './service.mjs';

const [gordian, work, folder] = process.argv.slice(2).map((path) => resolve(path));
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

const tables = [
    'orders',
    'stock',
    'ledger',
    'customers',
    'prices',
    'shipments',
    'invoices',
    'returns',
    'carts',
    'reviews',
];
const jobs = [
    'checkout',
    'restock',
    'report',
    'import',
    'invoice',
    'refund',
    'audit',
    'mail',
    'backup',
    'index',
];

let seed = 20261;
const below = (n) => {
    seed = (Math.imul(seed, 1103515245) + 12345) >>> 0;
    return Math.floor((seed / 2 ** 32) * n);
};

/** Jobs that lock tables in order: they wait sometimes, but never for each other. */
class Work {
    constructor(client) {
        this.client = client;
        this.held = new Map();
        this.waiting = new Set();
    }

    async prepare() {
        const lines = tables.flatMap((name) => [1, 2, 3, 4].map((shard) => `resource ${name}-${shard}`));
        lines.push('resource gpu 4', 'resource licences 6');
        await this.client.send(...lines);
    }

    name(i) {
        return `${jobs[i % jobs.length]}-${Math.floor(i / jobs.length) + 1}`;
    }

    async turn() {
        const lines = [];
        for (let i = 0; i < 12; i++) {
            const id = below(46);
            const name = this.name(id);
            const held = this.held.get(name) ?? [];
            const table = id % (tables.length * 4);
            if (this.waiting.has(name)) {
                if (below(2) === 0) {
                    this.waiting.delete(name);
                    lines.push(`exit ${name}`);
                    this.held.delete(name);
                }
            } else if (held.length > 2 || (held.length > 0 && below(5) === 0)) {
                lines.push(`exit ${name}`);
                this.held.delete(name);
            } else {
                const last = held.length > 0 ? held[held.length - 1] : Math.max(0, table - 6);
                const next = last + 1 + below(7);
                if (next < tables.length * 4) {
                    const what = `${tables[Math.floor(next / 4)]}-${(next % 4) + 1}`;
                    lines.push(
                        held.length === 0 ? `request ${name} connections ${what}` : `request ${name} ${what}`,
                    );
                    this.held.set(name, [...held, next]);
                }
            }
        }
        if (lines.length === 0) {
            return;
        }
        for (const answer of await this.client.send(...lines)) {
            if (answer.result === 'blocked') {
                this.waiting.add(answer.process);
            }
            for (const name of answer.granted_to ?? []) {
                this.waiting.delete(name);
            }
        }
    }

    async forSeconds(seconds) {
        for (const end = Date.now() + seconds * 1000; Date.now() < end;) {
            await this.turn();
            await pause(25 + below(60));
        }
    }
}

const service = await Service.start(gordian);
const browser = await openBrowser(work);
try {
    const client = await service.client();
    const shop = new Work(client);
    await shop.prepare();
    const page = await openPage(browser, service.url, { colorScheme: 'light', deviceScaleFactor: 1 });
    await shop.forSeconds(45);
    const story = [
        'resource till',
        'resource safe',
        'resource keys',
        'resource pens 3',
        'request manager keys',
        'request cashier till',
        'request auditor pens',
        'release manager keys',
        'request cashier pens',
        'request auditor keys',
        'request manager safe',
        'request courier till',
        'release cashier pens',
        'request guard safe',
        'request cashier safe',
        'request manager pens=2',
        'request manager keys',
        'request auditor till',
    ];
    for (const line of story) {
        await client.send(line);
        await shop.forSeconds(0.25);
    }
    await until(() => page.evaluate(() => window.gordian.graph.dead().length === 5), 'the deadlock');
    await shop.forSeconds(5);
    // The charts and the table show the last whole second, the numbers above the current state. They agree while no wait
    // begins or ends: only a clock locks and unlocks its bell.
    await client.send('resource bell');
    for (const end = Date.now() + 3000; Date.now() < end;) {
        await client.send('request clock bell', 'release clock bell', 'request clock bell', 'release clock bell');
        await pause(30);
    }
    const shoot = async (target, name) => {
        await target.mouse.move(0, 0); // off whatever was clicked last
        await target.screenshot({ path: join(folder, name) });
    };
    await shoot(page, 'light.png');
    // The work continues while the other pictures are taken.
    let done = false;
    const going = (async () => {
        while (!done) {
            await shop.forSeconds(0.2);
        }
    })();
    await page.emulateMedia({ colorScheme: 'dark' });
    await page.getByRole('button', { name: 'Isolate', exact: true }).click();
    await page.evaluate(() => window.gordian.select(window.gordian.graph.find('courier'), true));
    await pause(2500);
    await shoot(page, 'dark.png');
    await page.emulateMedia({ colorScheme: 'light' });
    await page.keyboard.press('Escape');
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Replay' }).first().click();
    await page.locator('#replay').waitFor();
    await pause(2500);
    await shoot(page, 'replay.png');
    const phone = await openPage(browser, service.url, {
        viewport: { width: 360, height: 740 },
        deviceScaleFactor: 2,
        isMobile: true,
        hasTouch: true,
    });
    await pause(4000);
    await shoot(phone, 'phone.png');
    done = true;
    await going;
    const problems = [...page.problems, ...phone.problems];
    if (problems.length > 0) {
        throw new Error(problems.join('\n'));
    }
} finally {
    await browser.close();
    await service.stop();
}
