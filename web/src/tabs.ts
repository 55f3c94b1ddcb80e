// The panel's tabs, after the ARIA pattern: arrow keys move between them, and only the active tab is in the tab order.

import { byId, h } from './dom';

export class Tabs {
    current = '';

    constructor(
        pages: [id: string, text: string, page: HTMLElement][],
        private readonly opened: (id: string) => void,
    ) {
        for (const [id, text, page] of pages) {
            const tab = h(
                'button',
                {
                    type: 'button',
                    role: 'tab',
                    id: 'tab-' + id,
                    'aria-controls': 'page-' + id,
                    onclick: () => this.open(id),
                },
                text,
            );
            page.id = 'page-' + id;
            page.setAttribute('role', 'tabpanel');
            page.setAttribute('aria-labelledby', 'tab-' + id);
            page.tabIndex = 0;
            byId('tabs').append(tab);
            byId('pages').append(page);
        }
        byId('tabs').addEventListener('keydown', (event) => this.key(event));
    }

    show(id: string, shown: boolean): void {
        byId('tab-' + id).hidden = !shown;
    }

    open(id: string): void {
        this.current = id;
        for (const tab of byId('tabs').querySelectorAll<HTMLElement>('[role=tab]')) {
            const chosen = tab.id === 'tab-' + id;
            tab.setAttribute('aria-selected', String(chosen));
            tab.tabIndex = chosen ? 0 : -1;
            byId('page-' + tab.id.slice(4)).hidden = !chosen;
            if (chosen && !tab.hidden) {
                // On a phone the tabs scroll, and the page itself does not.
                const row = byId('tabs');
                row.scrollLeft = tab.offsetLeft - row.offsetLeft - (row.clientWidth - tab.offsetWidth) / 2;
            }
        }
        this.opened(id);
    }

    private key(event: KeyboardEvent): void {
        const all = [...byId('tabs').querySelectorAll<HTMLElement>('[role=tab]:not([hidden])')];
        const at = all.indexOf(document.activeElement as HTMLElement);
        const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? all.length - 1 : 0;
        if (at >= 0 && step) {
            const next = all[(at + step) % all.length]!;
            next.focus();
            next.click();
            event.preventDefault();
            event.stopPropagation();
        }
    }
}
