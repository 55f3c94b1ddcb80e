import { defineConfig } from 'vite';

// Relative addresses: the page works below any path of a reverse proxy. Nothing is inlined, so that the
// content security policy needs no exceptions.
export default defineConfig({
    base: './',
    worker: { format: 'es' },
    build: {
        target: 'es2021',
        assetsInlineLimit: 0,
        modulePreload: { polyfill: false },
        cssCodeSplit: false,
        reportCompressedSize: false,
    },
});
