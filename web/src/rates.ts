// Data of the charts: the last ten minutes of one system, one value per second.

import type { Rate } from './api';

export interface History {
    times: number[];
    events: number[];
    waiting: number[];
    deadlocks: number[];
    p50: number[];
    p99: number[];
}

export const history = (): History => ({
    times: [],
    events: [],
    waiting: [],
    deadlocks: [],
    p50: [],
    p99: [],
});

export const historySeconds = 600;

/** Adds a second, and drops values older than ten minutes. */
export function push(past: History, rate: Rate, most = historySeconds): void {
    const last = past.times[past.times.length - 1];
    if (last !== undefined && rate.at <= last) {
        return;
    }
    past.times.push(rate.at);
    past.events.push(rate.events);
    past.waiting.push(rate.waiting);
    past.deadlocks.push(rate.deadlocks);
    // A second without events has no latency.
    past.p50.push(rate.events > 0 ? rate.p50_us : NaN);
    past.p99.push(rate.events > 0 ? rate.p99_us : NaN);
    for (const values of Object.values(past) as number[][]) {
        if (values.length > most) {
            values.shift();
        }
    }
}
