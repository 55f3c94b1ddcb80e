// The little of node's own modules that the tests use.
declare module 'node:test' {
    export function test(name: string, body: () => void | Promise<void>): void;
}
declare module 'node:assert/strict' {
    const assert: {
        equal(actual: unknown, expected: unknown, message?: string): void;
        deepEqual(actual: unknown, expected: unknown, message?: string): void;
        ok(value: unknown, message?: string): asserts value;
    };
    export default assert;
}
