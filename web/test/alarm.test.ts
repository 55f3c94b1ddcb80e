import assert from 'node:assert/strict';
import { test } from 'node:test';
import { wayOf } from '../src/alarm';
import type { Incident } from '../src/api';

const incident = (witness: Incident['witness']): Incident => ({
    id: 1,
    system: 's',
    at: 0,
    ended: null,
    how: null,
    requester: 'p',
    processes: ['p', 'r'],
    witness,
    victim: null,
});

test('a cycle is told as it is', () => {
    assert.equal(wayOf(['p', 'r'], incident(['p', 'a', 'r', 'b'])), 'p → a → r → b → p');
    const long = Array.from({ length: 20 }, (_, i) => `n${i}`);
    assert.equal(wayOf([], incident(long)), 'n0 → n1 → n2 → n3 → n4 → n5 → n6 → n7 → …');
});

test('of edges a circle through those who wait is told', () => {
    const edges = [
        { process: 'q', waits: 'b', units: 1 },
        { process: 'r', holds: 'b', units: 1 },
        { process: 'runs', holds: 'b', units: 1 },
        { process: 'r', waits: 'a', units: 1 },
        { process: 'p', holds: 'a', units: 1 },
        { process: 'p', waits: 'b', units: 1 },
    ];
    assert.equal(wayOf(['p', 'q', 'r'], incident(edges)), 'p → b → r → a → p');
});

test('without a witness the names are told', () => {
    assert.equal(wayOf(['p', 'r'], undefined), 'p, r');
    assert.equal(wayOf(['p'], incident([{ process: 'x', holds: 'y' }])), 'p');
    const many = Array.from({ length: 11 }, (_, i) => `n${i}`);
    assert.ok(wayOf(many, undefined).endsWith(' and 3 more'));
});
