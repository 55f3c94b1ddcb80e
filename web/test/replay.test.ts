import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { GraphData, IncidentDetail, ReplayEvent } from '../src/api';
import { Graph } from '../src/graph';
import { Replay } from '../src/replay';
import { picture, Random, randomHistory } from './tools';

function dataOf(graph: Graph): GraphData {
    return {
        system: 's',
        seq: 0,
        processes: [...graph.processes.values()].map(({ id, name }) => ({ id, name })),
        resources: [...graph.resources.values()].map(({ id, name, units, free }) => ({
            id,
            name,
            units,
            free,
        })),
        edges: [...graph.processes.values()].flatMap((one) => [
            ...[...one.holds].map(([resource, units]) => ({
                process: one.id,
                resource,
                units,
                waits: false,
            })),
            ...[...one.waits].map(([resource, units]) => ({ process: one.id, resource, units, waits: true })),
        ]),
        truncated: false,
    };
}

function incident(graph: GraphData, events: ReplayEvent[]): IncidentDetail {
    const [at, id] = [10000, 1];
    return {
        id,
        system: 's',
        at,
        ended: null,
        how: null,
        requester: 'p0',
        processes: ['p0'],
        witness: [],
        victim: null,
        replay: { graph, events },
    };
}

test('any way along the slider shows the state after exactly that many events', () => {
    for (let seed = 1; seed <= 60; seed++) {
        const random = new Random(seed * 7919);
        const graph = new Graph();
        for (let i = 0; i < 5; i++) {
            graph.addProcess(i, `p${i}`);
            graph.addResource(i, `q${i}`, 1 + random.below(3));
        }
        const states = [picture(graph)];
        const events: ReplayEvent[] = [];
        for (let i = 0; i < 30; i++) {
            const effects = randomHistory(graph, random, 1)[0]!;
            events.push({
                at: 10000 - (30 - i) * 50,
                seq: i + 1,
                op: 'request',
                process: 'p0',
                result: 'granted',
                effects,
            });
            states.push(picture(graph));
        }
        const replay = new Replay(incident(dataOf(graph), events));
        assert.equal(replay.position, 30);
        for (let i = 0; i < 60; i++) {
            const aim = random.below(31);
            replay.seek(aim);
            assert.equal(picture(replay.graph), states[aim], `seed ${seed}, at ${aim}`);
        }
    }
});

test('what happened outside the neighbourhood is left out', () => {
    const graph = new Graph();
    graph.addProcess(1, 'a');
    graph.addResource(1, 'q');
    graph.apply(['+h', 1, 1, 1]);
    const event = (effects: ReplayEvent['effects']): ReplayEvent => ({
        at: 0,
        seq: 1,
        op: 'request',
        process: 'x',
        result: 'granted',
        effects,
    });
    const replay = new Replay(
        incident(dataOf(graph), [
            event([['+h', 1, 1, 1]]),
            event([['+h', 50, 60, 1]]),
            event([['-h', 70, 1, 1]]),
        ]),
    );
    assert.equal(replay.events[1]!.effects.length, 0);
    replay.seek(0);
    // Somebody who is gone since held it: shown under a number.
    assert.equal(replay.graph.processes.get(70)!.holds.get(1), 1);
    replay.seek(3);
    assert.equal(replay.graph.processes.get(70)!.holds.size, 0);
    assert.equal(replay.graph.processes.has(50), false);
});

test('connections hold whatever was connected at any time', () => {
    const graph = new Graph();
    graph.addProcess(1, 'a');
    graph.addResource(1, 'q');
    graph.addResource(2, 'r');
    const event: ReplayEvent = {
        at: 9900,
        seq: 1,
        op: 'release',
        process: 'a',
        result: 'released',
        effects: [['-h', 1, 2, 1]],
    };
    const replay = new Replay(incident(dataOf(graph), [event]));
    assert.deepEqual(replay.connections(), [['p1', 'r2']]);
    assert.equal(replay.offset(0), -100);
});

test('events are told with names', () => {
    const graph = new Graph();
    graph.addProcess(1, 'a');
    graph.addProcess(2, 'b');
    graph.addResource(1, 'q', 4);
    graph.apply(['+h', 2, 1, 3]);
    const event: ReplayEvent = {
        at: 9900,
        seq: 1,
        op: 'release',
        process: 1,
        result: 'released',
        effects: [
            ['-h', 1, 1, 2],
            ['-w', 2, 1, 3],
            ['+h', 2, 1, 3],
        ],
    };
    const replay = new Replay(incident(dataOf(graph), [event]));
    assert.equal(replay.events[0]!.process, 'a');
    assert.equal(replay.events[0]!.things, 'q ×2');
});

test('an incident without a replay can be opened', () => {
    const replay = new Replay({ ...incident(dataOf(new Graph()), []), replay: null });
    replay.seek(5);
    assert.equal(replay.position, 0);
    assert.equal(replay.current, null);
});

test('pauses are as recorded, within limits', () => {
    const event = (at: number): ReplayEvent => ({
        at,
        seq: 1,
        op: 'request',
        process: 'x',
        result: 'granted',
        effects: [],
    });
    const replay = new Replay(incident(dataOf(new Graph()), [event(0), event(500), event(501), event(9000)]));
    replay.seek(1);
    assert.equal(replay.pause(1), 500);
    assert.equal(replay.pause(2), 250);
    replay.seek(2);
    assert.equal(replay.pause(1), 120);
    replay.seek(3);
    assert.equal(replay.pause(1), 1200);
});

test('how long somebody has waited is told as of the moment that is shown', () => {
    const graph = new Graph();
    graph.addProcess(0, 'p0');
    graph.addProcess(1, 'p1');
    graph.addResource(0, 'q0', 1);
    graph.apply(['+h', 0, 0, 1]);
    graph.apply(['+w', 1, 0, 1]);
    const data = dataOf(graph);
    data.processes[1]!.since_ms = 9400;
    const events: ReplayEvent[] = [
        { seq: 1, at: 9000, op: 'request', process: 'p0', result: 'granted', effects: [['+h', 0, 0, 1]] },
        { seq: 2, at: 9400, op: 'request', process: 'p1', result: 'blocked', effects: [['+w', 1, 0, 1]] },
    ];
    const replay = new Replay(incident(data, events));
    const since = () => replay.graph.processes.get(1)!.since;
    assert.equal(replay.moment - since()!, 600); // when the deadlock formed
    replay.seek(1);
    assert.equal(since(), null);
    assert.equal(replay.moment, 9000);
    replay.seek(2);
    assert.equal(since(), 9400);
    assert.equal(replay.moment, 10000);
});
