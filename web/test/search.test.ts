import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Graph } from '../src/graph';
import { history, historySeconds, push } from '../src/rates';
import { matches } from '../src/search';

test('equal names come first, then those that begin, then those that contain', () => {
    const graph = new Graph();
    ['xworker', 'worker10', 'worker', 'Worker2', 'other'].forEach((name, i) => graph.addProcess(i, name));
    assert.deepEqual(
        matches(graph.processes.values(), 'worker').map((one) => one.name),
        ['worker', 'Worker2', 'worker10', 'xworker'],
    );
    assert.deepEqual(matches(graph.processes.values(), 'nothing'), []);
    assert.equal(matches(graph.processes.values(), 'o', 2).length, 2);
});

test('the charts keep ten minutes and take every second once', () => {
    const past = history();
    for (let i = 0; i < historySeconds + 50; i++) {
        const rate = { at: 1000 + i, events: i, waiting: 0, deadlocks: 0, p50_us: 1, p99_us: 2 };
        push(past, rate);
        push(past, rate);
    }
    assert.equal(past.times.length, historySeconds);
    assert.equal(past.events[0], 50);
    assert.equal(past.p99.length, historySeconds);
});
