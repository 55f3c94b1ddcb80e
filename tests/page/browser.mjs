// Chromium without a window, driven by playwright-core; everything the page complains about is an error.

import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { accessSync, constants, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';

const patience = 600000; // ms: a busy machine takes its time

export function findChromium() {
    for (const name of ['chromium', 'chromium-browser', 'google-chrome']) {
        for (const folder of (process.env.PATH ?? '').split(delimiter)) {
            try {
                accessSync(join(folder, name), constants.X_OK);
                return join(folder, name);
            } catch {
                // Not there.
            }
        }
    }
    return null;
}

async function launch(packages) {
    const { chromium } = createRequire(join(packages, 'package.json'))('playwright-core');
    // As root, and in containers, there is no sandbox to be had; the only page it opens is ours.
    const args = ['--no-sandbox', '--disable-dev-shm-usage', '--font-render-hinting=none'];
    return chromium.launch({ executablePath: findChromium(), args, timeout: patience });
}

let opened = null;

/** One for all who ask. `packages`: the folder with node_modules in it. */
export function openBrowser(packages) {
    opened ??= launch(packages);
    return opened;
}

/** A page with nothing in it yet, in a context of its own. */
export async function blankPage(browser, options = {}) {
    const context = await browser.newContext(options);
    context.setDefaultTimeout(patience);
    return context.newPage();
}

/** A page that looks at the service. `problems` fills with everything that went wrong in it. */
export async function openPage(browser, url, options = {}) {
    const { expected = [], ...rest } = options;
    const page = await blankPage(browser, { viewport: { width: 1280, height: 800 }, ...rest });
    page.problems = [];
    const note = (text) => {
        if (!expected.some((pattern) => pattern.test(text))) {
            page.problems.push(text);
        }
    };
    page.on('pageerror', (error) => note(`error: ${error.stack ?? error}`));
    page.on('console', (message) => {
        if (message.type() === 'error' || message.type() === 'warning') {
            note(`console: ${message.text()} ${message.location().url}`);
        }
    });
    await page.addInitScript(() => {
        document.addEventListener('securitypolicyviolation', (event) =>
            console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`),
        );
    });
    await page.goto(url);
    await page.waitForFunction(() => document.querySelector('#link')?.classList.contains('up'));
    return page;
}

export const picture = async (page, name) => {
    if (process.env.PICTURES) {
        await page.screenshot({ path: join(process.env.PICTURES, name + '.png') });
    }
};

/** Nothing that axe finds fault with, if it is here. */
export async function checkAxe(page) {
    const { AXE } = process.env;
    if (!AXE) {
        return;
    }
    // The page's policy forbids scripts of others; a new page in the same context would be another page.
    const found = await page.evaluate(readFileSync(AXE, 'utf8') + '; axe.run().then((all) => all.violations)');
    assert.deepEqual(
        found.map((one) => `${one.id}: ${one.nodes.map((node) => node.html).join(' ')}`),
        [],
    );
}
