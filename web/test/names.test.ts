import assert from 'node:assert/strict';
import { test } from 'node:test';
import { wayOf } from '../src/alarm';
import { shortened, shown } from '../src/names';

test('ordinary names are shown as they are', () => {
    for (const name of ['p0', 'a&b"c\'d/e<f>', 'drucker-ä', '印刷機', '👩‍🚒', 'می‌خواهم'.replace(/[^\u200c]/g, 'x')]) {
        assert.equal(shown(name), name);
    }
});

test('what cannot be seen is spelled out', () => {
    assert.equal(shown('\u202egnp.exe'), '‹U+202E›gnp.exe');
    assert.equal(shown('a\u200bb\u0007\ufeff'), 'a‹U+200B›b‹U+0007›‹U+FEFF›');
    assert.equal(shown('\u2066x\u2069'), '‹U+2066›x‹U+2069›');
});

test('what is written from right to left keeps to itself', () => {
    assert.equal(shown('מדפסת'), '\u2068מדפסת\u2069');
    assert.equal(wayOf(['מדפסת', 'b'], undefined), '\u2068מדפסת\u2069, b');
});

test('long names lose their middle, never half a character', () => {
    assert.equal(shortened('short', 22), 'short');
    assert.equal(shortened('x'.repeat(30) + 'end', 10), 'xxxxx…xend');
    assert.equal(shortened('👍'.repeat(30), 10), '👍'.repeat(5) + '…' + '👍'.repeat(4));
    assert.equal(shortened('\u202e'.repeat(30), 10).includes('\u202e'), false);
});
