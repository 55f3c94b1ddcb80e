// Labels of processes and resources: the list to choose from, and the filter by label.

import { api } from './api';
import type { App } from './app';
import { byId, h, replace } from './dom';
import { shown } from './names';

const every = 5000; // ms between two requests for the list

export class Labels {
    /** Systems that contain the chosen label; null: no label is chosen. */
    systems: Set<string> | null = null;

    constructor(private readonly app: App) {}

    start(): void {
        window.setInterval(() => void this.load(), every);
        byId<HTMLSelectElement>('label').addEventListener(
            'change',
            (event) => void this.lookFor((event.target as HTMLSelectElement).value),
        );
    }

    clear(): void {
        this.systems = null;
    }

    /** Loads the list of labels. */
    async load(): Promise<void> {
        const select = byId<HTMLSelectElement>('label');
        const { system, label } = this.app.live;
        if (!system || this.app.left !== null || this.app.isPast || document.activeElement === select) {
            return;
        }
        try {
            const labels = (await api.labels(system)).map((one) => one.label).sort((a, b) => a.localeCompare(b));
            if (system !== this.app.system) {
                return;
            }
            const all = label && !labels.includes(label) ? [...labels, label] : labels;
            select.hidden = all.length === 0;
            if (select.dataset.labels !== all.join('\n')) {
                select.dataset.labels = all.join('\n');
                replace(
                    select,
                    h('option', { value: '' }, 'any label'),
                    ...all.map((one) => h('option', { value: one }, shown(one))),
                );
                replace(byId('labels'), ...all.map((one) => h('option', { value: one })));
            }
            select.value = label;
        } catch {
            // No list: the filter stays hidden.
        }
    }

    /** Shows only nodes with this label; '' shows all. */
    async lookFor(label: string): Promise<void> {
        this.app.closeReplay();
        this.app.closePast();
        this.app.select(null, false);
        await this.app.live.lookFor(label);
        byId<HTMLSelectElement>('label').value = label;
        this.app.remember();
        void this.app.blockers.load();
        void this.loadSystems();
        void this.load();
    }

    private async loadSystems(): Promise<void> {
        const { label } = this.app.live;
        try {
            this.systems = label ? new Set((await api.systems(label)).map((one) => one.name)) : null;
        } catch {
            this.systems = null;
        }
        this.app.overview.systems();
    }
}
