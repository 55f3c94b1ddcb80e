// Writes the C source that holds the built page: every file, its type, its ETag, and the file packed with gzip
// where that is smaller.
//
//     node embed.mjs DIST OUTPUT.c

import { createHash } from 'node:crypto';
import { readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { gzipSync } from 'node:zlib';

const types = {
    '.html': 'text/html; charset=utf-8',
    '.js': 'text/javascript; charset=utf-8',
    '.css': 'text/css; charset=utf-8',
    '.svg': 'image/svg+xml',
    '.json': 'application/json',
    '.png': 'image/png',
    '.txt': 'text/plain; charset=utf-8',
};

function* walk(folder, prefix = '') {
    for (const name of readdirSync(folder).sort()) {
        const path = join(folder, name);
        if (statSync(path).isDirectory()) {
            yield* walk(path, `${prefix}/${name}`);
        } else {
            yield { path, address: `${prefix}/${name}` };
        }
    }
}

function array(name, bytes) {
    const lines = [];
    for (let i = 0; i < bytes.length; i += 32) {
        lines.push('    ' + Array.from(bytes.subarray(i, i + 32), (byte) => byte + ',').join(''));
    }
    return `static const unsigned char ${name}[] = {\n${lines.join('\n')}\n};\n`;
}

const [, , dist, output] = process.argv;
const arrays = [];
const rows = [];
let number = 0;
for (const { path, address } of walk(dist)) {
    const type = types[extname(address)];
    if (!type) {
        throw new Error(`${address}: of no known type`);
    }
    const plain = readFileSync(path);
    const zipped = gzipSync(plain, { level: 9 });
    const worthIt = zipped.length < plain.length;
    const tag = createHash('sha256').update(plain).digest('hex').slice(0, 24);
    const hashed = /-[\w-]{8}\.\w+$/.test(address) && address.startsWith('/assets/');
    arrays.push(array(`plain_${number}`, plain));
    if (worthIt) {
        arrays.push(array(`zipped_${number}`, zipped));
    }
    rows.push(`    {
        .path = "${address === '/index.html' ? '/' : address}",
        .type = "${type}",
        .etag = "\\"${tag}\\"",
        .etag_zipped = "\\"${tag}-gz\\"",
        .plain = plain_${number},
        .plain_size = sizeof plain_${number},
        .zipped = ${worthIt ? `zipped_${number}` : 'NULL'},
        .zipped_size = ${worthIt ? `sizeof zipped_${number}` : '0'},
        .hashed = ${hashed},
    },`);
    number++;
}

writeFileSync(
    output,
    `/* Written by web/embed.mjs: the page. */
#include "service/serve/http/page_files.h"

${arrays.join('\n')}
const struct page_file page_files[] = {
${rows.join('\n')}
    {.path = NULL},
};
const char page_instead[] = "";
`,
);
