// Bundles the tests with the page's own compiler and runs them with node's own test runner, which is the same
// in node 18 and 20.

import { build } from 'esbuild';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'gordian-page-'));
let status = 1;
try {
    const tests = readdirSync(here).filter((name) => name.endsWith('.test.ts'));
    await build({
        entryPoints: tests.map((name) => join(here, name)),
        outdir: folder,
        outExtension: { '.js': '.mjs' },
        bundle: true,
        format: 'esm',
        platform: 'node',
        target: 'node18',
        logLevel: 'warning',
    });
    const built = tests.map((name) => join(folder, name.replace(/\.ts$/, '.mjs')));
    status = spawnSync(process.execPath, ['--test', ...built], { stdio: 'inherit' }).status ?? 1;
} finally {
    rmSync(folder, { recursive: true });
}
process.exit(status);
