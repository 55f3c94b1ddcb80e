// The page in Chromium against the built service. Run by run.sh; GORDIAN is the program, PAGE_WORK the folder
// the page was built in.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { blankPage, findChromium, openBrowser, openPage } from './browser.mjs';
import { serveFor, until } from './service.mjs';

const { PAGE_WORK } = process.env;
assert.ok(findChromium(), 'there is no chromium');
/** Times are told, and judged in long runs only: what else the machine does is not up to the page. */
const timed = Number(process.env.GORDIAN_TEST_SCALE ?? 100) >= 100;

/** Everything of the page that a test asks for. */
const state = (page) =>
    page.evaluate(() => {
        const { stage, graph, live, replay, selected, show } = window.gordian;
        return {
            nodes: stage.scene.count,
            links: stage.scene.links.length / 2,
            dead: graph.dead().map((one) => one.name),
            liveDead: live.graph.dead().map((one) => one.name),
            core: [...graph.processes.values()].filter((one) => one.core).map((one) => one.name),
            position: replay?.position ?? null,
            events: replay?.events.length ?? null,
            selected: selected?.name ?? null,
            show,
            scale: stage.camera.scale,
            title: document.title,
        };
    });

const when = (page, what, told) => until(async () => what(await state(page)), told);

/** How many pixels of the picture are close to a colour of the palette. */
const pixels = (page, name) =>
    page.evaluate((property) => {
        const canvas = document.querySelector('#graph');
        const copy = document.createElement('canvas');
        copy.width = canvas.width;
        copy.height = canvas.height;
        const context = copy.getContext('2d', { willReadFrequently: true });
        context.fillStyle = getComputedStyle(document.documentElement).getPropertyValue(property);
        context.fillRect(0, 0, 1, 1);
        const [r, g, b] = context.getImageData(0, 0, 1, 1).data;
        context.drawImage(canvas, 0, 0);
        const { data } = context.getImageData(0, 0, copy.width, copy.height);
        let count = 0;
        for (let i = 0; i < data.length; i += 4) {
            if (Math.abs(data[i] - r) + Math.abs(data[i + 1] - g) + Math.abs(data[i + 2] - b) < 24) {
                count++;
            }
        }
        return count;
    }, name);

/** A shop: two who will wait for each other, one behind them, others who run. */
const shop = [
    'resource orders',
    'resource stock',
    'resource ledger',
    'resource pool 4',
    'request checkout orders',
    'request restock stock',
    'request report ledger',
    'request import pool=2',
    'request report pool=2',
    'request audit orders',
];
const almost = ['request checkout stock'];
const closing = 'request restock orders';

const browser = await openBrowser(PAGE_WORK);
after(() => browser.close());

const serve = (t, options) => serveFor(t, browser, options);

test('files come packed, tagged, cached and with a policy', async (t) => {
    const service = await serve(t);
    const index = await fetch(service.url);
    assert.equal(index.status, 200);
    assert.match(index.headers.get('content-type'), /^text\/html/);
    assert.equal(index.headers.get('content-encoding'), 'gzip');
    assert.match(index.headers.get('content-security-policy'), /default-src 'none'.*script-src 'self'/);
    assert.equal(index.headers.get('x-content-type-options'), 'nosniff');
    const html = await index.text();
    assert.doesNotMatch(html, /<style|style=|<script>|javascript:| on[a-z]+=/);
    const again = await fetch(service.url, { headers: { 'If-None-Match': index.headers.get('etag') } });
    assert.equal(again.status, 304);
    const script = /src="\.\/(assets\/index-[^"]+\.js)"/.exec(html)[1];
    const plain = await fetch(service.url + script, { headers: { 'Accept-Encoding': 'identity' } });
    assert.equal(plain.headers.get('content-encoding'), null);
    assert.match(plain.headers.get('cache-control'), /immutable/);
    const packed = await fetch(service.url + script);
    assert.equal(packed.headers.get('content-encoding'), 'gzip');
    assert.equal(await packed.text(), await plain.text());
    assert.equal((await fetch(service.url + 'assets/nothing.js')).status, 404);
});

test('waits for acts are arrows between processes', async (t) => {
    const service = await serve(t);
    const client = await service.client();
    t.after(() => client.close());
    await client.send('await ann 2 of bob cal dan', 'await bob any of ann cal');
    const page = await openPage(browser, service.url);
    await when(page, (now) => now.nodes === 4 && now.links === 5, 'five arrows between four processes');
    assert.deepEqual((await state(page)).dead, []);

    await client.send('act dan');
    await when(page, (now) => now.links === 4, 'who has acted is awaited no more');
    await client.send('await cal ann');
    const now = await when(page, (one) => one.dead.length === 3 && one.links === 5 && one, 'the deadlock');
    assert.deepEqual(now.core.sort(), ['ann', 'bob', 'cal']);
    await until(async () => (await pixels(page, '--dead')) > 100, 'it is drawn in red');
    await page.evaluate(() => window.gordian.select(window.gordian.graph.find('ann'), true));
    await page.getByText('Awaits 1 of').waitFor();
    await page.getByText('Is awaited by').waitFor();
    await page.getByText('awaits an act of').first().waitFor();
    if (process.env.PAGE_SHOT) {
        await page.screenshot({ path: process.env.PAGE_SHOT });
    }

    await client.send('cancel cal', 'act cal');
    await when(page, (one) => one.links === 0 && one.dead.length === 0, 'the end of it');
    assert.deepEqual(page.problems, []);
});

test('the graph, a deadlock, isolation, chains and the replay', async (t) => {
    const service = await serve(t);
    const client = await service.client();
    t.after(() => client.close());
    await client.send(...shop);
    const page = await openPage(browser, service.url);

    await t.test('the graph appears, in the picture and in words', async () => {
        await when(page, (now) => now.nodes === 9 && now.links === 6, 'nine nodes and six edges');
        assert.equal((await state(page)).title, 'Gordian');
        await until(
            async () => (await pixels(page, '--resource')) > 50 && (await pixels(page, '--wait')) > 20,
            'they are drawn',
        );
        assert.equal(await pixels(page, '--dead'), 0);
        await page.keyboard.press('4');
        const row = page.locator('#page-list tbody tr', { hasText: 'audit' });
        assert.equal(await row.locator('td').nth(0).innerText(), 'waits');
        assert.equal(await row.locator('td').nth(2).innerText(), 'orders');
        assert.equal(await page.locator('#page-list tbody tr').count(), 5);
        assert.match(
            await page.locator('#graph-description').textContent(),
            /9 nodes and 6 edges shown; none is deadlocked/,
        );
    });

    await t.test('changes come by themselves', async () => {
        await client.send(...almost);
        await when(page, (now) => now.links === 7, 'the new wait');
        assert.deepEqual((await state(page)).dead, []);
    });

    await t.test('a deadlock made over the socket stands out within a second', async () => {
        // On a machine that is busy a second is as much longer as its frames are.
        const slow = await page.evaluate(async () => {
            const started = performance.now();
            for (let i = 0; i < 20; i++) {
                await new Promise(requestAnimationFrame);
            }
            return Math.max(1, (performance.now() - started) / (20 * 16.7));
        });
        await page.evaluate(() => {
            window.seen = 0;
            new MutationObserver(() => {
                if (!document.querySelector('#banner').hidden && !window.seen) {
                    window.seen = Date.now();
                }
            }).observe(document.body, { subtree: true, attributes: true, childList: true });
        });
        const sent = Date.now();
        const [answer] = await client.send(closing);
        assert.equal(answer.result, 'deadlock');
        await page.waitForFunction(() => window.seen > 0);
        const took = (await page.evaluate(() => window.seen)) - sent;
        t.diagnostic(
            `the banner came after ${took} ms; frames take ${slow.toFixed(2)} times as long as they should`,
        );
        assert.ok(!timed || took < 1000 * slow, `${took} ms`);
        const now = await state(page);
        assert.deepEqual(now.dead.sort(), ['audit', 'checkout', 'restock']);
        assert.deepEqual(now.core.sort(), ['checkout', 'restock']);
        assert.match(now.title, /^\(3\) deadlocked/);
        await until(async () => (await pixels(page, '--dead')) > 200, 'it is drawn in red');
        assert.match(await page.locator('#banner').innerText(), /3 processes can never run again/);
        await until(
            async () =>
                /restock → orders → checkout → stock → restock/.test(
                    await page.locator('#banner').innerText(),
                ),
            'the cycle is told',
        );
        assert.match(
            await page.locator('#live').textContent(),
            /Deadlock in default: .*checkout.*can never run again/,
        );
        assert.match(await page.locator('#favicon').getAttribute('href'), /knot-dead/);
        assert.equal(await page.locator('#page-list tr.dead').count(), 3);
    });

    await t.test('one click isolates it', async () => {
        await page.getByRole('button', { name: 'Isolate', exact: true }).click();
        await when(
            page,
            (now) => now.show === 'dead' && now.nodes === 5,
            'only three processes and two resources',
        );
        await page.keyboard.press('d');
        await when(page, (now) => now.show === 'all' && now.nodes === 9, 'everything is back');
    });

    await t.test('the wait chain of a node', async () => {
        await page.keyboard.press('/');
        await page.keyboard.type('audi');
        await page.keyboard.press('Enter');
        await when(page, (now) => now.selected === 'audit', 'the search finds it');
        await page.locator('#page-inspect .chain').waitFor();
        const chain = (await page.locator('#page-inspect .chain').innerText()).replace(/\s+/g, ' ');
        assert.match(
            chain,
            /audit.*waits for orders, held by checkout.*checkout.*waits for stock, held by restock/,
        );
        assert.match(await page.locator('#page-inspect').innerText(), /can ever run again/);
        await page
            .locator('#page-inspect')
            .getByRole('button', { name: 'checkout', exact: true })
            .first()
            .click();
        await when(page, (now) => now.selected === 'checkout', 'a name in the chain leads there');
        await page.getByRole('button', { name: 'Isolate its chain' }).click();
        await when(page, (now) => now.show === 'chain' && now.nodes === 5, 'its chain alone');
        await page.keyboard.press('Escape');
        await page.keyboard.press('Escape');
        await when(page, (now) => now.show === 'all' && now.selected === null, 'Escape lets go');
    });

    await t.test('what if it asked', async () => {
        await page.evaluate(() => window.gordian.select(window.gordian.graph.find('import'), true));
        await page.getByLabel('Resource', { exact: true }).fill('ledger');
        await page.getByRole('button', { name: 'Ask' }).click();
        await page.getByText('It would wait.', { exact: true }).waitFor();
        await page.getByLabel('Resource', { exact: true }).fill('orders');
        await page.getByRole('button', { name: 'Ask' }).click();
        await page.getByText('It would wait behind a deadlock').waitFor();
        await page.keyboard.press('Escape');
        await page.keyboard.press('Escape');
    });

    await t.test('incidents filter, and the slider replays one', async () => {
        await page.keyboard.press('3');
        const items = page.locator('#page-incidents .incidents button');
        await until(async () => (await items.count()) === 1, 'one incident');
        assert.match(await items.first().innerText(), /2 processes\s+open/);
        await page.getByLabel('Process', { exact: true }).fill('import');
        await until(async () => (await items.count()) === 0, 'none of import');
        await page.getByLabel('Process', { exact: true }).fill('checkout');
        await until(async () => (await items.count()) === 1, 'one of checkout');
        await items.first().click();
        await page.locator('#replay').waitFor();
        let now = await state(page);
        assert.ok(now.events >= 4, `${now.events} events`);
        assert.equal(now.position, now.events);
        assert.ok(now.dead.includes('checkout') && now.dead.includes('restock'));
        // Focus is on the slider: the keyboard drives it.
        await page.keyboard.press('ArrowLeft');
        now = await state(page);
        assert.equal(now.position, now.events - 1);
        assert.deepEqual(now.dead, [], 'before the last event nobody was deadlocked');
        const links = now.links;
        await page.keyboard.press('Home');
        now = await state(page);
        assert.equal(now.position, 0);
        assert.ok(now.links < links);
        await page.keyboard.press('End');
        assert.deepEqual((await state(page)).core.sort(), ['checkout', 'restock']);
        await page.keyboard.press(',');
        assert.equal((await state(page)).position, now.events - 1);
        await page.keyboard.press('.');
        await page.locator('#replay-play').click();
        await when(page, (late) => late.position === late.events, 'it plays to the end');
        assert.match(
            await page.locator('#replay-status').innerText(),
            /restock requests orders: closes a deadlock/,
        );
        assert.match(page.url(), /incident=1/);
    });

    await t.test('the address leads back to the replay', async () => {
        const second = await openPage(browser, page.url());
        await when(second, (now) => now.position !== null && now.position === now.events, 'the replay opens');
        assert.deepEqual(second.problems, []);
        await second.context().close();
        await page.locator('#replay-close').click();
        await when(page, (now) => now.position === null && now.nodes === 9, 'back to now');
    });

    await t.test('when it is resolved the alarm ends', async () => {
        await client.send('cancel restock');
        await when(page, (now) => now.dead.length === 0 && now.title === 'Gordian', 'nobody is deadlocked');
        assert.equal(await page.locator('#banner').isHidden(), true);
        assert.match(await page.locator('#live').textContent(), /No deadlock in default any more/);
        await page.keyboard.press('3');
        await page.getByLabel('Process', { exact: true }).fill('');
        await until(
            async () => /ended/.test(await page.locator('#page-incidents .incidents').innerText()),
            'the incident has ended',
        );
        await page.getByLabel('not ended yet').check();
        await until(
            async () => (await page.locator('#page-incidents .incidents button').count()) === 0,
            'none is open',
        );
    });

    await t.test('rates are drawn', async () => {
        await page.keyboard.press('Escape');
        await page.keyboard.press('1');
        await until(async () => (await page.locator('#page-overview canvas').count()) === 4, 'four charts');
        const label = await page.locator('#page-overview canvas').first().getAttribute('aria-label');
        assert.match(label, /^Events over the last .*: now/);
    });

    assert.deepEqual(page.problems, []);
});

test('tabs, headings and names have room, and the overview tells of now', async (t) => {
    const service = await serve(t);
    const client = await service.client();
    t.after(() => client.close());
    const lines = Array.from({ length: 150 }, (_, i) => [`resource resource-${i}`, `request process-${i} resource-${i}`]).flat();
    await client.send(...lines);
    const page = await openPage(browser, service.url);
    await when(page, (now) => now.nodes === 300, 'the graph');

    const cut = await page.evaluate(() =>
        [document.querySelector('.tabs'), ...document.querySelectorAll('.systems thead th')]
            .filter((one) => one.scrollWidth > one.clientWidth)
            .map((one) => one.textContent),
    );
    assert.deepEqual(cut, []);

    // A row of the overview is as new as the figures it is made of.
    await client.send('request process-1 resource-0');
    const told = await page.waitForFunction(() => {
        const { info } = window.gordian;
        const row = document.querySelector('[data-system="default"]').closest('tr');
        return info.waiting === 1 && row.cells[2].textContent;
    });
    assert.equal(await told.jsonValue(), '1');

    // Names that were drawn in some frames, the nodes scattered anew in each, and the nodes in the picture whose middle
    // they lie on.
    const covered = await page.evaluate(async () => {
        const { stage } = window.gordian;
        const { scene, camera } = stage;
        const { fillText } = CanvasRenderingContext2D.prototype;
        let drawn = 0;
        const found = [];
        CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
            if (this === stage.context && text.includes('-')) {
                const half = this.measureText(text).width / 2;
                const high = parseFloat(/[\d.]+px/.exec(this.font));
                const node = scene.nodes.findIndex((one, i) => {
                    const across = camera.toScreenX(scene.x[i]);
                    const down = camera.toScreenY(scene.y[i]);
                    const inside = across >= 0 && across <= camera.width && down >= 0 && down <= camera.height;
                    return one && inside && Math.abs(across - x) < half && down > y && down < y + high;
                });
                drawn++;
                if (node >= 0) {
                    found.push(`${text} lies on ${scene.nodes[node].name}`);
                }
            }
            return fillText.call(this, text, x, y);
        };
        camera.zoom(3);
        for (let frame = 0; frame < 30 || drawn === 0; frame++) {
            for (let i = 0; i < scene.nodes.length; i++) {
                const across = ((i + frame) * 0.7548) % 1;
                const down = ((i + frame) * 0.5698) % 1;
                scene.x[i] = camera.toWorldX(across * (camera.width + 400) - 200);
                scene.y[i] = camera.toWorldY(down * (camera.height + 400) - 200);
            }
            stage.invalidate();
            await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
        }
        CanvasRenderingContext2D.prototype.fillText = fillText;
        return found;
    });
    assert.deepEqual(covered, []);
    assert.deepEqual(page.problems, []);
});

test('another system, and one that comes later', async (t) => {
    const service = await serve(t);
    const client = await service.client();
    t.after(() => client.close());
    await client.send(
        'open jobs detect',
        'use jobs',
        'resource gpu 2',
        'request train gpu=2',
        'request infer gpu',
    );
    const page = await openPage(browser, service.url + '#system=jobs');
    await when(page, (now) => now.nodes === 3 && now.links === 2, 'the other system');
    await page.locator('#system').selectOption('default');
    await when(page, (now) => now.nodes === 0, 'an empty one');
    // What to do is told, and what is told works.
    assert.match(await page.locator('#empty').innerText(), /Nothing here yet[^]*gordian send$/m);
    const told = await page.locator('#empty pre').innerText();
    const lines = /'(.*)'/.exec(told)[1].split('\\n').filter((line) => line !== '');
    await client.send('use default', ...lines);
    await when(page, (now) => now.nodes === 3 && now.links === 2, 'what was told to be sent');
    assert.equal(await page.locator('#empty').isVisible(), false);
    assert.match((await page.locator('#counts').innerText()).replace(/\s+/g, ' '), /processes 2 resource 1 /);
    await client.send('open bank avoid');
    await until(
        async () => (await page.locator('#system option').allInnerTexts()).includes('bank'),
        'the bank is offered',
    );
    await page.locator('#system').selectOption('bank');
    await when(page, (now) => now.nodes === 0, 'another empty one');
    const bank = /'(.*)' \|\s+gordian send --system 'bank'/.exec(await page.locator('#empty pre').innerText())[1];
    await client.send(...bank.split('\\n').filter((line) => line !== ''));
    await when(page, (now) => now.nodes === 3 && now.links === 2, 'a bank is told of by claims');
    await client.send('open late detect', 'use late', 'resource <i>q</i>', 'request <b>p</b> <i>q</i>');
    await until(
        async () => (await page.locator('#system option').allInnerTexts()).includes('late'),
        'it is offered',
    );
    await page.locator('#system').selectOption('late');
    await when(page, (now) => now.nodes === 2 && now.links === 1, 'and shown');
    // Names are text, whatever they look like.
    await page.keyboard.press('4');
    assert.match(await page.locator('#page-list tbody').innerText(), /<b>p<\/b>[^]*<i>q<\/i>/);
    assert.equal(await page.locator('#page-list tbody').locator('b, i').count(), 0);
    assert.deepEqual(page.problems, []);
});

test('names of any kind keep to their places', async (t) => {
    const service = await serve(t);
    const client = await service.client();
    t.after(() => client.close());
    const long = 'x'.repeat(190) + '-long';
    const printer = '\u05de\u05d3\u05e4\u05e1\u05ea';
    await client.send(
        `resource ${long}`,
        `resource ${printer}`,
        'resource a',
        'resource b',
        `request p${long} ${long}`,
        `request \u202egnp.exe ${printer}`,
        `request p${long} ${printer}`,
        `request \u202egnp.exe ${long}`,
        'request ann a',
        'request bob b',
        'request ann b',
        'request bob a',
    );
    const page = await openPage(browser, service.url);
    await when(page, (now) => now.dead.length === 4, 'two deadlocks');
    await until(
        async () => /^2 deadlocks: 4 processes/.test(await page.locator('#banner').innerText()),
        'both are counted',
    );
    await page.evaluate(() => window.gordian.select([...window.gordian.graph.processes.values()][0], true));
    for (const tab of ['inspect', 'incidents', 'list']) {
        await page.keyboard.press({ inspect: '2', incidents: '3', list: '4' }[tab]);
        await page.locator(`#tab-${tab}[aria-selected=true]`).waitFor();
        const over = await page.evaluate(() =>
            [...document.querySelectorAll('#pages *')]
                .filter((one) => one.checkVisibility())
                .filter((one) => one.getBoundingClientRect().right > innerWidth + 1)
                .map((one) => one.outerHTML.slice(0, 80)),
        );
        assert.deepEqual(over, [], `tab ${tab}`);
    }
    // A name cannot pass for another, nor turn around what stands beside it.
    const words = await page.evaluate(() => document.body.innerText);
    assert.doesNotMatch(words, /\u202e/);
    assert.match(words, /‹U\+202E›gnp\.exe/);
    assert.match(await page.locator('#page-list tbody').innerText(), new RegExp(`\u2068${printer}\u2069`));
    assert.deepEqual(page.problems, []);
});

test('a system that avoids shows who waits in its queue', async (t) => {
    const service = await serve(t);
    const client = await service.client();
    t.after(() => client.close());
    await client.send('open bank avoid queue=yes', 'use bank', 'resource gpu 2');
    await client.send('process a gpu=2', 'process b gpu=2', 'request a gpu', 'request b gpu');
    const page = await openPage(browser, service.url + '#system=bank');
    await when(page, (now) => now.nodes === 3 && now.links === 2, 'one holds, one waits');
    assert.deepEqual((await state(page)).dead, []);
    await until(
        async () => /avoids deadlocks/.test(await page.locator('#page-overview').innerText()),
        'its kind is told',
    );
    await client.send('exit a');
    await when(page, (now) => now.links === 1, 'the other is served');
    assert.deepEqual(page.problems, []);
});

test('of a system too large for the page a part is shown, and the search finds the rest', async (t) => {
    const service = await serve(t);
    const client = await service.client();
    t.after(() => client.close());
    const lines = [];
    for (let i = 0; i < 4000; i++) {
        lines.push(`resource r${i}`);
    }
    for (let i = 0; i < 4000; i++) {
        lines.push(`request p${i} r${i}`);
    }
    lines.push('request p3999 r3998', 'request p3998 r3997', 'request p3997 r3999');
    await client.send(...lines);
    const page = await openPage(browser, service.url);
    await when(page, (now) => now.nodes >= 1900 && now.nodes <= 2000, 'as many as it may be');
    assert.match(await page.locator('#notice').innerText(), /of 8,000 nodes are loaded/);
    assert.match((await page.locator('#counts').innerText()).replace(/\s+/g, ' '), /4,000 .*4,000 .*3 .*3/);
    // What is deadlocked is among what was sent.
    await when(page, (now) => now.dead.length === 3, 'the deadlock');
    const hidden = await page.evaluate(() => {
        const { graph } = window.gordian;
        return Array.from({ length: 4000 }, (_, i) => `p${i}`).find((name) => !graph.find(name));
    });
    await page.locator('#find').fill(hidden);
    await page.keyboard.press('Enter');
    await when(page, (now) => now.selected === hidden && now.nodes === 2, 'what lies around it');
    await page.getByRole('button', { name: 'Show everything' }).click();
    await when(page, (now) => now.nodes >= 1900, 'everything again');
    await page.locator('#find').fill('nobody-of-this-name');
    await page.keyboard.press('Enter');
    await until(
        async () => /nobody-of-this-name/.test(await page.locator('#notice').innerText()),
        'it says so',
    );
    assert.deepEqual(
        page.problems.filter((one) => !/404/.test(one)),
        [],
    );
});

test('the service goes and comes back', async (t) => {
    const service = await serve(t);
    let client = await service.client();
    await client.send('hello keep=yes', ...shop);
    const page = await openPage(browser, service.url, { expected: [/ERR_/, /Failed to load/] });
    await when(page, (now) => now.nodes === 9, 'the graph');
    await service.kill('SIGKILL');
    await page.getByText(/No answer from the service since \d\d:\d\d:\d\d: this is the state at that time/).waitFor();
    service.run();
    await service.ready();
    client = await service.client();
    t.after(() => client.close());
    await client.send('resource late', 'request newcomer late');
    await page.waitForFunction(() => document.querySelector('#link').classList.contains('up'));
    await when(page, (now) => now.nodes === 11 && now.links === 7, 'what happened meanwhile');
    await page.locator('#notice').waitFor({ state: 'hidden' });
    assert.deepEqual(page.problems, []);
});

test('a token is asked for, and kept out of scripts', async (t) => {
    const token = 'a-token-of-more-than-sixteen-characters';
    const service = await serve(t, { token });
    const page = await blankPage(browser);
    const context = page.context();
    await page.goto(service.url);
    await page.locator('#login[open]').waitFor();
    await page.getByLabel('Token', { exact: true }).fill('wrong-token-of-some-length');
    await page.getByRole('button', { name: 'Log in' }).click();
    await page.getByText('Wrong token: enter one from the token file.').waitFor();
    await page.getByLabel('Token', { exact: true }).fill(token);
    await page.keyboard.press('Enter');
    await page.waitForFunction(() => document.querySelector('#link').classList.contains('up'));
    assert.equal(await page.locator('#login').isVisible(), false);
    const cookies = await context.cookies();
    assert.equal(cookies.length, 1);
    assert.equal(cookies[0].httpOnly, true);
    assert.equal(cookies[0].sameSite, 'Strict');
    assert.equal(await page.evaluate(() => document.cookie), '');
    await page.reload();
    await page.waitForFunction(() => document.querySelector('#link').classList.contains('up'));
    // Its token is taken back: it is told why another one is needed.
    const other = 'another-token-of-more-than-sixteen-characters';
    service.setToken(other);
    await page.getByText('Your login has expired').waitFor();
    await page.getByLabel('Token', { exact: true }).fill(other);
    await page.keyboard.press('Enter');
    await page.waitForFunction(() => document.querySelector('#link').classList.contains('up'));
    await context.close();
});

/** Relative luminance and contrast as WCAG 2 defines them. */
function contrast(a, b) {
    const light = (colour) => {
        const [r, g, b2] = colour.map((value) => {
            const share = value / 255;
            return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
        });
        return 0.2126 * r + 0.7152 * g + 0.0722 * b2;
    };
    const [high, low] = [light(a), light(b)].sort((x, y) => y - x);
    return (high + 0.05) / (low + 0.05);
}

test('readable: contrast, names of controls, order of focus, phone width, calm', async (t) => {
    const service = await serve(t);
    const client = await service.client();
    t.after(() => client.close());
    await client.send(...shop, ...almost, closing);

    for (const scheme of ['light', 'dark']) {
        await t.test(`contrast of ${scheme}`, async () => {
            const page = await openPage(browser, service.url, { colorScheme: scheme });
            const signs = ['dead', 'resource', 'busy', 'wait', 'wait-line', 'hold', 'idle'];
            const inks = ['ink', 'muted', 'accent', 'dead-text', 'wait-text'];
            const grounds = ['paper', 'surface', 'raised', 'dead-paper', 'accent-paper'];
            const colours = await page.evaluate(
                (names) => {
                    const probe = document
                        .createElement('canvas')
                        .getContext('2d', { willReadFrequently: true });
                    const style = getComputedStyle(document.documentElement);
                    const read = (name) => {
                        probe.fillStyle = style.getPropertyValue('--' + name);
                        probe.fillRect(0, 0, 1, 1);
                        return [...probe.getImageData(0, 0, 1, 1).data.slice(0, 3)];
                    };
                    return Object.fromEntries(names.map((name) => [name, read(name)]));
                },
                [...signs, ...inks, ...grounds],
            );
            const text = [
                ...['paper', 'surface', 'raised'].flatMap((ground) => inks.map((ink) => [ink, ground])),
                ['dead-text', 'dead-paper'],
                ['ink', 'dead-paper'],
                ['accent', 'accent-paper'],
                ['ink', 'accent-paper'],
                ['paper', 'accent'],
                ['dead-paper', 'dead-text'],
            ];
            for (const [ink, ground] of text) {
                const ratio = contrast(colours[ink], colours[ground]);
                assert.ok(ratio >= 4.5, `${ink} on ${ground}: ${ratio.toFixed(2)}`);
            }
            // Signs and lines need 3 to 1.
            for (const sign of signs) {
                assert.ok(contrast(colours[sign], colours.paper) >= 3, sign);
            }
            assert.deepEqual(page.problems, []);
            await page.context().close();
        });
    }

    await t.test('every control has a name, and the keyboard reaches all of them', async () => {
        const page = await openPage(browser, service.url);
        await page.locator('#banner button').first().waitFor();
        const nameless = await page.evaluate(() =>
            [...document.querySelectorAll('button, input, select, canvas, [role=tabpanel]')]
                .filter((one) => one.checkVisibility())
                .filter((one) => {
                    const labels = one.labels?.length
                        ? [...one.labels].map((label) => label.textContent).join('')
                        : '';
                    const by = one.getAttribute('aria-labelledby');
                    return !(
                        one.getAttribute('aria-label') ||
                        labels.trim() ||
                        (by && document.getElementById(by)) ||
                        (one.tagName === 'BUTTON' && one.textContent.trim())
                    );
                })
                .map((one) => one.outerHTML.slice(0, 120)),
        );
        assert.deepEqual(nameless, []);
        const order = [];
        await page.locator('.skip').focus();
        for (let i = 0; i < 40; i++) {
            order.push(
                await page.evaluate(
                    () =>
                        document.activeElement.id ||
                        document.activeElement.textContent.trim() ||
                        document.activeElement.getAttribute('aria-label'),
                ),
            );
            await page.keyboard.press('Tab');
        }
        for (const name of [
            'system',
            'find',
            'theme',
            'help-open',
            'Isolate',
            'Replay',
            'graph',
            'All',
            'Deadlocked',
            'tab-overview',
        ]) {
            assert.ok(order.includes(name), `${name} in ${order.join(' | ')}`);
        }
        assert.ok(
            order.indexOf('find') < order.indexOf('graph') &&
                order.indexOf('graph') < order.indexOf('tab-overview'),
        );
        await page.keyboard.press('Escape');
        await page.keyboard.press('?');
        await page.getByRole('heading', { name: 'Keys' }).waitFor();
        await page.keyboard.press('Escape');
        assert.equal(await page.locator('#help').isVisible(), false);
        await page.locator('#graph').focus();
        const before = (await state(page)).scale;
        await page.keyboard.press('+');
        assert.ok((await state(page)).scale > before);
        await page.keyboard.press(']');
        await when(
            page,
            (now) =>
                ['checkout', 'restock'].includes(now.selected) || ['orders', 'stock'].includes(now.selected),
            'the deadlocked come first',
        );
        await page.keyboard.press('n');
        await page.keyboard.press('Enter');
        assert.equal(await page.evaluate(() => document.activeElement.id), 'page-inspect');
        await page.context().close();
    });

    await t.test('light and dark can be chosen, and stay', async () => {
        const page = await openPage(browser, service.url, { colorScheme: 'light' });
        const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
        const light = await ground();
        await page.keyboard.press('t');
        const dark = await ground();
        assert.notEqual(light, dark);
        await page.reload();
        assert.equal(await ground(), dark);
        await page.locator('#theme').click();
        assert.equal(await ground(), light);
        await page.context().close();
    });

    await t.test('360 pixels are enough', async () => {
        const page = await openPage(browser, service.url, {
            viewport: { width: 360, height: 740 },
            hasTouch: true,
            isMobile: true,
        });
        await page.locator('#banner button').first().waitFor();
        for (const tab of ['1', '2', '3', '4']) {
            await page.keyboard.press(tab);
            const wide = await page.evaluate(() => document.documentElement.scrollWidth);
            assert.ok(wide <= 360, `tab ${tab}: ${wide} pixels`);
        }
        const small = await page.evaluate(() =>
            [...document.querySelectorAll('button, select, input')]
                .filter((one) => one.checkVisibility() && !one.matches('.name, [type=checkbox]'))
                .map((one) => ({
                    height: one.getBoundingClientRect().height,
                    html: one.outerHTML.slice(0, 80),
                }))
                .filter((one) => one.height < 30),
        );
        assert.deepEqual(small, []);
        await page.locator('#banner').getByRole('button', { name: 'Replay' }).tap();
        await page.locator('#replay').waitFor();
        assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 360);
        assert.deepEqual(page.problems, []);
        await page.context().close();
    });

    await t.test('nothing moves for those who do not want it', async () => {
        // How many of thirty frames are drawn anew.
        const frames = (page) =>
            page.evaluate(async () => {
                const { drawTimes } = window.gordian.stage;
                drawTimes.clear();
                for (let i = 0; i < 30; i++) {
                    await new Promise(requestAnimationFrame);
                }
                return drawTimes.size;
            });
        const moving = await openPage(browser, service.url, { reducedMotion: 'no-preference' });
        await when(moving, (now) => now.dead.length === 3, 'the deadlock');
        await moving.waitForFunction(() => !window.gordian.stage.scene.moving);
        await until(async () => (await frames(moving)) >= 15, 'a deadlock moves');
        await moving.context().close();
        const calm = await openPage(browser, service.url, { reducedMotion: 'reduce' });
        await when(calm, (now) => now.dead.length === 3, 'the deadlock');
        await until(async () => (await frames(calm)) <= 2, 'nothing moves once the layout has settled');
        await calm.context().close();
    });
});

test('two thousand nodes stay smooth', async (t) => {
    const service = await serve(t);
    const client = await service.client();
    t.after(() => client.close());
    const half = 1000;
    const lines = [];
    for (let i = 0; i < half; i++) {
        lines.push(`resource r${i}`);
    }
    for (let i = 0; i < half; i++) {
        lines.push(`request p${i} r${i}`);
    }
    // Chains of five, none of them closed.
    for (let i = 0; i < half; i++) {
        if (i % 5 !== 4) {
            lines.push(`request p${i} r${i + 1}`);
        }
    }
    await client.send(...lines);
    const page = await openPage(browser, service.url);
    await when(
        page,
        (now) => now.nodes === 2 * half && now.links === half + (half / 5) * 4,
        'two thousand nodes',
    );
    // The same shapes drawn by the barest loop there can be are the measure, so that the machine does not matter.
    const measure = (frames) =>
        page.evaluate(async (count) => {
            const { stage } = window.gordian;
            const frame = () => new Promise(requestAnimationFrame);
            const usual = (list) => list.sort((a, b) => a - b)[list.length >> 2];
            const bare = document.createElement('canvas');
            bare.width = stage.canvas.width;
            bare.height = stage.canvas.height;
            const context = bare.getContext('2d', { alpha: false });
            const { scene } = stage;
            const own = [];
            const baseline = [];
            for (let i = 0; i < count; i++) {
                stage.zoom(i % 2 ? 1.05 : 1 / 1.05);
                stage.drawTimes.clear();
                await frame();
                await frame();
                own.push(stage.drawTimes.quantile(0.5));
                const started = performance.now();
                context.fillStyle = '#fff';
                context.fillRect(0, 0, bare.width, bare.height);
                context.beginPath();
                for (let k = 0; k < scene.links.length; k += 2) {
                    context.moveTo(scene.x[scene.links[k]], scene.y[scene.links[k]]);
                    context.lineTo(scene.x[scene.links[k + 1]], scene.y[scene.links[k + 1]]);
                }
                context.stroke();
                context.fillStyle = '#000';
                for (let k = 0; k < scene.nodes.length; k++) {
                    context.fillRect(scene.x[k] - 2, scene.y[k] - 2, 4, 4);
                }
                baseline.push(performance.now() - started);
            }
            return { own: usual(own), baseline: usual(baseline), scale: stage.camera.scale };
        }, frames);
    // That something else had the processor counts only when it always has.
    let own, baseline, scale;
    for (let tries = 0; tries < (timed ? 20 : 1) && !(own / baseline < 6); tries++) {
        ({ own, baseline, scale } = await measure(timed ? 40 : 4));
    }
    t.diagnostic(
        `a frame of 2000 nodes: ${own.toFixed(2)} ms, ${(own / baseline).toFixed(2)} times the barest loop, at ${scale.toFixed(2)}`,
    );
    assert.ok(!timed || own / baseline < 6, `${own.toFixed(2)} ms against ${baseline.toFixed(2)} ms`);
    // The page answers while the layout works: the longest time between two turns of its loop.
    await page.keyboard.press('g');
    await until(
        async () => /nodes\s+2000/.test(await page.locator('#overlay').innerText()),
        'the overlay tells',
    );
    // And a deadlock in the midst of them is found, alone.
    await client.send(`request p4 r0`);
    await when(page, (now) => now.core.length === 5, 'the deadlock');
    await page.keyboard.press('d');
    await when(page, (now) => now.show === 'dead' && now.nodes === 10, 'isolated');
    assert.deepEqual(page.problems, []);
});
