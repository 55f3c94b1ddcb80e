// What operators need of the page, in Chromium against the built service: very many processes, deadlocks in
// systems that are not looked at, who blocks whom, ending a victim and the trail of it. PICTURES names a
// folder for pictures of it, AXE the file axe.min.js to look for faults of accessibility with.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, test } from 'node:test';
import { blankPage, checkAxe, findChromium, openBrowser, openPage, picture } from './browser.mjs';
import { serveFor, until } from './service.mjs';

const { PAGE_WORK } = process.env;
assert.ok(findChromium(), 'there is no chromium');
const browser = await openBrowser(PAGE_WORK);
after(() => browser.close());

const serve = (t, options) => serveFor(t, browser, options);

/** Everybody waits for what number i / 5 has; 0 to 4 for nobody. */
function forest(count) {
    const lines = [];
    for (let i = 0; i < count; i++) {
        lines.push(`resource r${i}`);
    }
    for (let i = 0; i < count; i++) {
        lines.push(`request p${i} r${i}`);
    }
    for (let i = 5; i < count; i++) {
        lines.push(`request p${i} r${Math.floor(i / 5)}`);
    }
    return lines;
}

const knot = ['resource a', 'resource b', 'request ann a', 'request bob b', 'request ann b', 'request bob a'];

test('fifty thousand processes: who blocks most, opened step by step', async (t) => {
    const service = await serve(t);
    const client = await service.client();
    t.after(() => client.close());
    const lines = forest(50000);
    for (let i = 0; i < lines.length; i += 10000) {
        await client.send(...lines.slice(i, i + 10000));
    }
    const page = await openPage(browser, service.url);
    await page.getByRole('tab', { name: 'Blockers' }).click();
    const first = page.locator('.blockers > li').first();
    await until(async () => (await page.locator('.blockers > li').count()) === 4, 'four who wait for nobody');
    assert.match((await first.innerText()).replace(/\s+/g, ' '), /19,530 p1 runs has r1/);
    assert.match(await page.locator('#page-blockers [role=status]').innerText(), /49,995 processes wait/);
    await first.getByRole('button', { name: 'Waiters for p1' }).click();
    await until(async () => (await first.locator(':scope > ul > li').count()) === 5, 'five wait for it');
    const second = first.locator(':scope > ul > li').first();
    await second.getByRole('button', { name: 'Waiters for p5' }).click();
    await until(async () => (await second.locator(':scope > ul > li').count()) === 5, 'and five for one of them');
    await checkAxe(page);
    await picture(page, 'blockers');
    // With the keys alone.
    await page.keyboard.press('1');
    await page.keyboard.press('5');
    assert.equal(await page.locator('#tab-blockers').getAttribute('aria-selected'), 'true');
    assert.deepEqual(page.problems, []);
});

test('a deadlock in a system that is not looked at is not missed', async (t) => {
    const service = await serve(t);
    const client = await service.client();
    t.after(() => client.close());
    await client.send('resource q', 'request eve q', 'open shop detect', 'resource q', 'request max q');
    const page = await openPage(browser, service.url);
    assert.equal(await page.title(), 'Gordian');
    assert.equal(await page.locator('#elsewhere').isVisible(), false);
    await client.send('open stock detect', ...knot);
    await until(async () => (await page.title()) === '(2) deadlocked · Gordian', 'the title tells');
    await until(async () => await page.locator('#elsewhere').isVisible(), 'the button');
    assert.equal(await page.locator('#elsewhere').innerText(), 'Deadlock in stock');
    assert.match(await page.locator('#favicon').getAttribute('href'), /knot-dead/);
    const rows = page.locator('.systems tbody tr');
    assert.equal(await rows.count(), 3);
    assert.match((await rows.first().innerText()).replace(/\s+/g, ' '), /stock 2 2 2/);
    assert.match(await page.locator('#system').innerText(), /stock · deadlock/);
    await until(async () => /Deadlock in stock/.test(await page.locator('#live').innerText()), 'it is said');
    await checkAxe(page);
    await picture(page, 'elsewhere');
    await page.locator('#elsewhere').click();
    await until(async () => (await page.evaluate(() => window.gordian.system)) === 'stock', 'it is looked at');
    await until(async () => !(await page.locator('#elsewhere').isVisible()), 'nothing elsewhere');
    await until(async () => await page.locator('#banner').isVisible(), 'the banner');
    await client.send('cancel bob');
    await until(async () => (await page.title()) === 'Gordian', 'it is over');
    assert.deepEqual(page.problems, []);
});

test('a victim is ended from the page, and that is kept', async (t) => {
    const service = await serve(t);
    const client = await service.client();
    t.after(() => client.close());
    await client.send(...knot);
    const page = await openPage(browser, service.url);
    await until(async () => await page.locator('#banner').isVisible(), 'the deadlock');
    await page.locator('#find').fill('bob');
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'End…' }).click();
    assert.match(await page.locator('#act').innerText(), /End bob\?/);
    await page.keyboard.type('ann was <b>first</b>');
    await checkAxe(page);
    await picture(page, 'end');
    await page.getByRole('button', { name: 'End it' }).click();
    await until(async () => !(await page.locator('#act').isVisible()), 'it is done');
    await until(async () => !(await page.locator('#banner').isVisible()), 'no deadlock any more');
    await page.getByRole('tab', { name: 'Actions' }).click();
    await until(async () => (await page.locator('.trail li').count()) === 1, 'the trail');
    assert.match(await page.locator('.trail').innerText(), /ended bob by a user of this machine: ann was <b>first<\/b>/);
    await checkAxe(page);
    await picture(page, 'trail');
    // Who does not wait has nothing to cancel, and there is a way back.
    await page.locator('#find').fill('ann');
    await page.keyboard.press('Enter');
    assert.equal(await page.getByRole('button', { name: 'Cancel its wait…' }).count(), 0);
    await page.getByRole('button', { name: 'End…' }).click();
    await page.getByRole('button', { name: 'Do nothing' }).click();
    const { actions } = await (await fetch(service.url + 'api/v1/audit')).json();
    assert.equal(actions.length, 1);
    assert.deepEqual(page.problems, []);
});

test('what is loaded is saved as CSV, JSON and SVG; charts have times', async (t) => {
    const service = await serve(t);
    const client = await service.client();
    t.after(() => client.close());
    await client.send(...knot, 'resource @1+1', 'request <go>&gone @1+1');
    const page = await openPage(browser, service.url);
    await until(async () => await page.locator('#banner').isVisible(), 'the deadlock');
    await page.getByRole('tab', { name: 'List' }).click();
    const saved = async (format) => {
        const [download] = await Promise.all([
            page.waitForEvent('download'),
            page.getByRole('button', { name: 'Save as ' + format }).click(),
        ]);
        assert.equal(download.suggestedFilename(), `default.${format.toLowerCase()}`);
        return readFileSync(await download.path(), 'utf8');
    };
    const csv = await saved('CSV');
    assert.match(csv, /^process,relation,resource,units,state\r\n/);
    assert.match(csv, /"ann",waits for,"b",1,dead\r\n/);
    assert.match(csv, /,"'@1\+1",1,busy\r\n/); // not a formula
    const json = JSON.parse(await saved('JSON'));
    assert.equal(json.system, 'default');
    assert.equal(json.edges.filter((edge) => edge.waits).length, 2);
    const svg = await saved('SVG');
    assert.equal(svg.match(/<circle/g).length, 3);
    assert.doesNotMatch(svg, /<go>/);
    await page.getByRole('tab', { name: 'Overview' }).click();
    await until(
        async () => /\d\d:\d\d/.test(await page.locator('.chart .axis').first().innerText()),
        'times under the chart',
    );
    await page.getByLabel('Charts of the last').selectOption('day');
    await checkAxe(page);
    await picture(page, 'charts');
    assert.deepEqual(page.problems, []);
});

test('who may only look cannot end anybody', async (t) => {
    const service = await serve(t, { token: 'reader-0123456789abcdef' });
    const client = await service.client();
    t.after(() => client.close());
    await client.send(...knot);
    const page = await blankPage(browser);
    await page.goto(service.url);
    await page.locator('#token').fill('reader-0123456789abcdef');
    await page.keyboard.press('Enter');
    await until(async () => await page.locator('#banner').isVisible(), 'the deadlock');
    await page.locator('#find').fill('bob');
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Cancel its wait…' }).click();
    await page.getByRole('button', { name: 'Cancel its wait', exact: true }).click();
    await until(async () => /permission denied/.test(await page.locator('#act').innerText()), 'it is refused');
    assert.ok(await page.locator('#banner').isVisible());
});
