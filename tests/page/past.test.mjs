// Labels, the past and other servers on the page, in Chromium against the built service. PICTURES and AXE as in
// operators.test.mjs.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { blankPage, checkAxe, findChromium, openBrowser, openPage, picture } from './browser.mjs';
import { serveFor, until } from './service.mjs';

const { PAGE_WORK } = process.env;
assert.ok(findChromium(), 'there is no chromium');
const browser = await openBrowser(PAGE_WORK);
after(() => browser.close());

const serve = (t, options) => serveFor(t, browser, options);

const shop = [
    'hello lease=3600 keep=yes',
    'resource orders',
    'resource stock',
    'resource cache',
    'request till orders',
    'request clerk stock',
    'request robot cache',
    'label process till team:pay env:prod',
    'label process clerk team:store',
    'label resource stock kind:table',
];

const names = (page) => page.evaluate(() => [...window.gordian.graph.processes.values()].map((one) => one.name).sort());

test('labels are shown, and what has one is found by it', async (t) => {
    const service = await serve(t);
    const client = await service.client();
    await client.send(...shop, 'label process robot evil:<script>alert(1)</script>\u202e');
    client.close();
    await service.restart();
    const page = await openPage(browser, service.url);
    const select = page.locator('#label');
    await until(async () => await select.isVisible(), 'labels to choose from');
    assert.deepEqual(await select.locator('option').allInnerTexts(), [
        'any label',
        'env:prod',
        'evil:<script>alert(1)</script>‹U+202E›',
        'kind:table',
        'team:pay',
        'team:store',
    ]);
    await select.selectOption('team:pay');
    await until(async () => (await names(page)).join() === 'till', 'only what has it');
    await until(async () => /Only nodes with the label team:pay/.test(await page.locator('#notice').innerText()), 'it is said');
    await page.locator('#find').fill('till');
    await page.keyboard.press('Enter');
    await until(async () => (await page.locator('dd.labels button').count()) === 2, 'its labels');
    await checkAxe(page);
    await picture(page, 'labels');
    await page.locator('dd.labels button', { hasText: 'env:prod' }).click();
    await until(async () => (await select.inputValue()) === 'env:prod', 'a click on one looks for it');
    await page.locator('#notice').getByRole('button', { name: 'Show everything' }).click();
    await until(async () => (await names(page)).join() === 'clerk,robot,till', 'everything again');
    assert.deepEqual(page.problems, []);
});

test('deadlocks and blockers are found by a label', async (t) => {
    const service = await serve(t);
    const client = await service.client();
    t.after(() => client.close());
    await client.send(...shop, 'request till stock', 'request robot orders', 'request clerk orders');
    const page = await openPage(browser, service.url);
    await until(async () => await page.locator('#banner').isVisible(), 'the deadlock');
    await page.getByRole('tab', { name: 'Deadlocks' }).click();
    const found = page.locator('.incidents > [role=listitem]');
    await until(async () => (await found.count()) === 1, 'one deadlock');
    assert.match(await found.first().innerText(), /team:pay/);
    await page.locator('.fields input[list=labels]').fill('team:nobody');
    await until(async () => (await found.count()) === 0, 'none of theirs');
    await page.locator('.fields input[list=labels]').fill('kind:table');
    await until(async () => (await found.count()) === 1, 'by what is in it, too');
    await page.locator('#label').selectOption('team:store');
    await page.getByRole('tab', { name: 'Blockers' }).click();
    await until(async () => /clerk/.test(await page.locator('.blockers').innerText()), 'clerk blocks somebody');
    assert.doesNotMatch(await page.locator('.blockers').innerText(), /robot/);
    await checkAxe(page);
    assert.deepEqual(page.problems, []);
});

test('the slider goes back to any moment, and says that it is the past', async (t) => {
    const service = await serve(t);
    const client = await service.client();
    await client.send('hello lease=3600 keep=yes', 'resource a', 'resource b', 'request ann a', 'label process ann team:x');
    const wait = async () => {
        const before = Date.now();
        await until(() => Date.now() > before + 1, 'the clock goes on');
    };
    await wait();
    const early = Date.now();
    await wait();
    await client.send('request bob b', 'request ann b', 'request bob a');
    await wait();
    const late = Date.now();
    await wait();
    await client.send('exit bob', 'release ann b', 'release ann a', 'exit ann', 'forget ann', 'forget bob');
    client.close();
    await service.restart();
    const page = await openPage(browser, service.url);
    assert.deepEqual(await names(page), []);
    await page.getByRole('button', { name: 'History: the graph at an earlier time' }).click();
    const bar = page.locator('#past');
    await until(async () => await bar.isVisible(), 'the slider');
    assert.match(await bar.innerText(), /kept since/);
    const seek = (at) =>
        page.locator('#past-slider').evaluate((slider, to) => {
            slider.step = '1';
            slider.value = String(to);
            slider.dispatchEvent(new Event('input'));
        }, at);
    await seek(late);
    await until(async () => (await names(page)).join() === 'ann,bob', 'both are there');
    assert.equal(await page.evaluate(() => window.gordian.graph.judge()), 2);
    await until(async () => /This is the state of .*, not the current one/.test(await page.locator('#notice').innerText()), 'it is said');
    assert.ok(await page.locator('.stage').evaluate((stage) => stage.classList.contains('past')));
    assert.equal(await page.locator('#link').innerText(), 'history');
    assert.match(page.url(), new RegExp(`at=${late}`));
    await page.locator('#find').fill('ann');
    await page.keyboard.press('Enter');
    await until(async () => (await page.locator('dd.labels').count()) === 1, 'labels of then');
    assert.equal(await page.getByRole('button', { name: 'End…' }).count(), 0); // nothing is done to the past
    await checkAxe(page);
    await picture(page, 'past');
    await seek(early);
    await until(async () => (await names(page)).join() === 'ann', 'before bob came');
    // The address leads there.
    const again = await openPage(browser, page.url());
    await until(async () => (await names(again)).join() === 'ann', 'the same moment');
    await again.close();
    // What is not kept is said.
    await page.route('**/graph?at=*', (route) =>
        route.fulfill({ status: 410, json: { error: { status: 410, message: 'that time is before the start of the history' } } }),
    );
    await seek(late);
    await until(async () => /before the start/.test(await bar.innerText()), 'it is not kept');
    await page.unroute('**/graph?at=*');
    await page.locator('#past-close').click();
    await until(async () => !(await bar.isVisible()), 'back to now');
    assert.deepEqual(await names(page), []);
    assert.equal(await page.locator('#link').innerText(), 'live');
    assert.ok(!(await page.locator('.stage').evaluate((stage) => stage.classList.contains('past'))));
    assert.deepEqual(page.problems.filter((problem) => !/410/.test(problem)), []);
});

test('who leads is shown, and that a server only stands by', async (t) => {
    const service = await serve(t);
    const client = await service.client();
    t.after(() => client.close());
    await client.send('resource a', 'request ann a');
    const page = await blankPage(browser);
    const context = page.context();
    await page.route('**/api/v1/cluster', (route) =>
        route.fulfill({
            json: {
                shared: true,
                leads: false,
                address: '10.0.0.2:7420',
                leader: '10.0.0.1:7420',
                fence: 1837905469440004,
                epoch: 7,
                servers: [
                    { address: '10.0.0.1:7420', leads: true, since: Date.now() - 60000 },
                    { address: '10.0.0.2:7420', leads: false, since: Date.now() - 30000 },
                ],
            },
        }),
    );
    await page.goto(service.url);
    await until(async () => (await page.locator('#link').innerText()) === 'live, standby', 'it is a standby');
    assert.match(await page.locator('#notice').innerText(), /This server is a standby: 10\.0\.0\.1:7420 is the leader/);
    const text = (await page.locator('#page-overview').innerText()).replace(/\s+/g, ' ');
    assert.match(text, /10\.0\.0\.1:7420 leads/);
    assert.match(text, /10\.0\.0\.2:7420 \(this one\) standby/);
    assert.match(text, /in epoch 7\. Newest fencing token: 1837905469440004/);
    await checkAxe(page);
    await picture(page, 'servers');
    await context.close();
});
