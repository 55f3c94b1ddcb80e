// The state of the page: the system, the visible nodes, the selection, a replay. Panels and the canvas read it;
// it notifies them of changes.

import { Alarm } from './alarm';
import { api, ApiError, type Cluster, type Incident, type Rate, type SystemInfo } from './api';
import { logIn } from './dialogs';
import { byId, count, duration, h, icon, replace } from './dom';
import { filterOf, litBy, type Show } from './filters';
import { keyOf, Graph, type Node, type Process } from './graph';
import { Live } from './live';
import { Labels } from './labels';
import { shown } from './names';
import { Actions } from './panels/actions';
import { Blockers } from './panels/blockers';
import { Incidents } from './panels/incidents';
import { Inspect } from './panels/inspect';
import { List } from './panels/list';
import { Moment } from './panels/moment';
import { Overview } from './panels/overview';
import { stateWord } from './panels/parts';
import { PastBar } from './panels/pastbar';
import { ReplayBar } from './panels/replaybar';
import { history, historySeconds, push, type History } from './rates';
import { Replay } from './replay';
import { Tabs } from './tabs';
import { Scene } from './view/scene';
import { Stage } from './view/stage';

export class App {
    readonly live: Live;
    systems: SystemInfo[] = [];
    selected: Node | null = null;
    replay: Replay | null = null;
    /** A point in time, and the graph at that time. */
    then: { graph: Graph; at: number } | null = null;
    cluster: Cluster | null = null;
    readonly labels = new Labels(this);
    show: Show = 'all';
    readonly stage: Stage;
    readonly overview = new Overview(this);
    readonly inspect = new Inspect(this);
    readonly incidents = new Incidents(this);
    readonly list = new List(this);
    readonly blockers = new Blockers(this);
    readonly actions = new Actions(this);
    readonly moment = new Moment(this);
    readonly bar: ReplayBar;
    readonly pastBar: PastBar;
    private readonly alarm: Alarm;
    private readonly tabs: Tabs;
    private whole: Scene; // the live graph, or its connected part; positions persist
    private part: Scene | null = null; // a part of the live graph, or the graph of a replay
    private past: History = history();
    left: number | null = null; // when the service was lost

    constructor() {
        this.live = new Live({
            replaced: (fresh) => this.replaced(fresh),
            changed: () => this.changed(),
            incident: (incident) => this.incident(incident),
            systems: () => void this.loadSystems(),
            rates: (rate) => this.rate(rate),
            connected: (up, again) => this.connected(up, again),
            trouble: (problem) => this.trouble(problem),
        });
        this.alarm = new Alarm({
            isolate: () => this.isolateDead(),
            replay: (incident) => void this.openIncident(incident.id),
        });
        this.whole = new Scene(this.live.graph);
        this.stage = new Stage(byId<HTMLCanvasElement>('graph'), this.whole, {
            select: (node) => this.select(node, false),
            hover: (node, x, y) => this.hover(node, x, y),
        });
        this.stage.camera.inset.top = 56; // pixels for the tools, and for names above their nodes
        this.stage.camera.inset.bottom = 14; // for names below
        this.bar = new ReplayBar(this);
        this.pastBar = new PastBar(this);
        this.tabs = new Tabs(
            [
                ['overview', 'Overview', this.overview.element],
                ['inspect', 'Details', this.inspect.element],
                ['incidents', 'Deadlocks', this.incidents.element],
                ['list', 'List', this.list.element],
                ['blockers', 'Blockers', this.blockers.element],
                ['actions', 'Actions', this.actions.element],
                ['moment', 'Replay', this.moment.element],
            ],
            (id) => this.tabOpened(id),
        );
        this.tabs.show('moment', false);
        this.tabs.open('overview');
        this.buildTools();
        byId<HTMLSelectElement>('system').addEventListener(
            'change',
            (event) => void this.use((event.target as HTMLSelectElement).value),
        );
        window.setInterval(() => this.tabs.current === 'inspect' && this.inspect.update(), 1000);
        window.setInterval(() => void this.loadCluster(), 5000);
        this.labels.start();
    }

    /** The graph in view: live, of a replay, or of a point in time. */
    get graph(): Graph {
        return this.replay?.graph ?? this.then?.graph ?? this.live.graph;
    }

    /** Is the graph in view not the live one? */
    get isPast(): boolean {
        return this.replay !== null || this.then !== null;
    }

    /** Time of the state in view, in ms since 1970. */
    get moment_ms(): number {
        return this.replay?.moment ?? this.then?.at ?? Date.now();
    }

    get system(): string {
        return this.live.system;
    }

    get info(): SystemInfo | null {
        return this.systems.find((one) => one.name === this.system) ?? null;
    }

    // ------------------------------------------------------------ systems

    async start(): Promise<void> {
        const hash = new URLSearchParams(location.hash.slice(1));
        await this.loadSystems();
        const wanted = hash.get('system');
        const first = this.systems.find((one) => one.name === wanted) ?? this.systems[0];
        if (first) {
            await this.use(first.name);
        }
        const incident = Number(hash.get('incident'));
        if (incident > 0) {
            await this.openIncident(incident);
        } else if (Number(hash.get('at')) > 0) {
            await this.openPast(Number(hash.get('at')));
        }
    }

    /** Finds the leader; a service without a cluster is asked once. */
    private async loadCluster(): Promise<void> {
        if (!this.system || this.left !== null || (this.cluster && !this.cluster.shared)) {
            return;
        }
        try {
            this.cluster = await api.cluster();
        } catch {
            return; // it is asked again later
        }
        this.overview.servers();
        this.tellLink(this.left === null);
        this.tellPicture();
    }

    async loadSystems(): Promise<void> {
        try {
            this.systems = await api.systems();
        } catch (problem) {
            await this.trouble(problem);
            if (problem instanceof ApiError && problem.status === 401) {
                await this.loadSystems();
            }
            return;
        }
        const select = byId<HTMLSelectElement>('system');
        const names = this.systems.map((one) => one.name).join('\n');
        if (select.dataset.names !== names) {
            select.dataset.names = names;
            replace(select, ...this.systems.map((one) => h('option', { value: one.name }, shown(one.name))));
            select.value = this.system;
        }
        this.overview.update();
        this.elsewhere();
    }

    async use(name: string): Promise<void> {
        this.closeReplay();
        this.closePast();
        this.past = history();
        this.alarm.clear();
        await this.live.use(name);
        byId<HTMLSelectElement>('system').value = name;
        this.remember();
        this.blockers.clear();
        void this.blockers.load();
        void this.actions.load();
        void this.incidents.load();
        void this.loadOpen();
        void this.loadRates();
        this.overview.update();
        this.overview.again();
        this.elsewhere();
        this.cluster = null;
        this.labels.clear();
        void this.loadCluster();
        void this.labels.load();
    }

    private tellLink(up: boolean): void {
        const link = byId('link');
        const standsBy = this.cluster !== null && this.cluster.shared && !this.cluster.leads;
        link.className = 'link ' + (up ? 'up' : 'down') + (standsBy ? ' stands-by' : '');
        link.textContent = !up ? 'no connection' : this.then ? 'history' : standsBy ? 'live, standby' : 'live';
    }

    /** Alarms for deadlocks in the other systems. */
    private elsewhere(): void {
        const others = this.systems.filter((one) => one.name !== this.system && one.deadlocked > 0);
        this.alarm.elsewhere(
            others.map((one) => ({ system: one.name, dead: one.deadlocked })),
            (name) => void this.use(name),
        );
        for (const option of byId<HTMLSelectElement>('system').options) {
            const info = this.systems.find((one) => one.name === option.value);
            option.textContent = shown(option.value) + (info && info.deadlocked > 0 && info.name !== this.system ? ' · deadlock' : '');
        }
        this.overview.systems();
    }

    /** Loads the open deadlocks: the banner offers their replay. */
    private async loadOpen(): Promise<void> {
        try {
            const { incidents } = await api.incidents({ system: this.system, open: true, limit: 20 });
            incidents.forEach((incident) => this.alarm.know(incident));
            this.raise();
        } catch {
            // The list of deadlocks shows the error.
        }
    }

    private connected(up: boolean, again: boolean): void {
        this.tellLink(up);
        if (!up) {
            this.left ??= Date.now();
            this.tellPicture();
            // An event source gives no reason: the service may want a token.
            api.systems().catch((problem: unknown) => this.trouble(problem));
        } else if (again) {
            this.left = null;
            this.tellPicture();
            void this.loadSystems();
            void this.loadRates();
            void this.loadOpen();
            void this.incidents.load();
        }
    }

    private incident(incident: Incident): void {
        this.alarm.know(incident);
        this.incidents.touched();
        this.raise();
    }

    private rate(rate: Rate): void {
        const own = rate.systems?.find((one) => one.name === this.system);
        push(this.past, { ...rate, ...own });
        for (const one of rate.systems ?? []) {
            const other = this.systems.find((known) => known.name === one.name);
            if (other && other.name !== this.system) {
                Object.assign(other, {
                    waiting: one.waiting,
                    deadlocked: one.deadlocked,
                    processes: one.processes,
                    resources: one.resources,
                    events: other.events + one.events,
                });
            }
        }
        const info = this.info;
        if (info && own) {
            info.events += own.events;
            info.incidents += own.deadlocks;
            info.waiting = own.waiting;
            info.processes = own.processes;
            info.resources = own.resources;
            info.deadlocked = own.deadlocked;
            this.counts();
        }
        this.elsewhere();
        if (this.tabs.current === 'overview') {
            this.overview.setRates(this.past);
            this.overview.update();
        }
    }

    private async loadRates(): Promise<void> {
        try {
            const rates = await api.rates(this.system, historySeconds);
            this.past = history();
            rates.forEach((rate) => push(this.past, rate));
            this.overview.setRates(this.past);
        } catch {
            // The charts fill with the next seconds.
        }
    }

    private async trouble(problem: unknown): Promise<void> {
        if (problem instanceof ApiError && problem.status === 401) {
            await logIn(this.system !== '');
            if (this.system) {
                await this.use(this.system);
            }
            return;
        }
        if (this.left === null) {
            this.notice(problem instanceof Error ? problem.message : String(problem));
        }
    }

    // ------------------------------------------------------------ visible nodes

    /** The live graph was replaced. */
    private replaced(fresh: boolean): void {
        const graph = this.live.graph;
        if (!this.isPast) {
            this.selected = this.selected ? graph.node(keyOf(this.selected)) : null;
            this.stage.selected = this.selected;
        }
        if (!fresh) {
            this.whole.setGraph(graph);
            if (!this.isPast) {
                this.part?.setGraph(graph);
            }
        } else {
            this.show = 'all';
            this.whole.close();
            this.whole = new Scene(graph);
            if (!this.isPast) {
                this.applyShow();
            }
        }
        this.changed();
    }

    setShow(show: Show): void {
        this.show = show;
        this.applyShow();
        this.raise();
    }

    /** The whole graph keeps its scene and positions; each filtered view and each replay gets its own scene. */
    private applyShow(): void {
        for (const button of byId('filters').querySelectorAll('button')) {
            button.setAttribute('aria-pressed', String(button.dataset.show === this.show));
        }
        const filter = filterOf(this.show, this.graph, this.selected);
        if (this.isPast) {
            this.part?.setFilter(filter);
            this.stage.fit();
        } else {
            this.part?.close();
            this.part = this.show === 'all' ? null : new Scene(this.live.graph, filter, this.whole);
            this.stage.show(this.part ?? this.whole);
        }
        this.stage.selected = this.selected;
        this.light();
        this.tellPicture();
    }

    isolateDead(): void {
        this.setShow(this.show === 'dead' ? 'all' : 'dead');
    }

    isolateAround(node: Node): void {
        this.select(node, false);
        this.setShow('chain');
    }

    select(node: Node | null, details: boolean): void {
        this.selected = node;
        this.stage.selected = node;
        if (node && this.show !== 'all' && this.stage.scene.slotOf(node) < 0) {
            this.setShow('all');
        }
        this.light();
        this.stage.invalidate();
        this.inspect.update();
        if (node && (details || this.tabs.current === 'overview' || this.tabs.current === 'incidents')) {
            this.tabs.open('inspect');
        }
        this.tellPicture();
    }

    centre(node: Node): void {
        if (this.stage.scene.slotOf(node) < 0) {
            this.setShow('all');
        }
        this.stage.centre(node);
    }

    /** Highlights all nodes that the selected node waits for, and all waiters behind it. */
    private light(): void {
        const scene = this.stage.scene;
        this.stage.lit = null;
        if (this.selected && scene.slotOf(this.selected) >= 0) {
            const slots = [...litBy(this.graph, this.selected)].map((node) => scene.slotOf(node));
            this.stage.lit = new Set(slots.filter((slot) => slot >= 0));
        }
    }

    /** Asks the service for the neighborhood of a node that is not loaded. */
    async lookAround(name: string): Promise<void> {
        const here = this.graph.find(name);
        if (!here) {
            try {
                await api.graph(this.system, { around: name, depth: 1, limit: 10 });
            } catch (problem) {
                await this.trouble(problem);
                return;
            }
            this.closeReplay();
            this.closePast();
            await this.live.lookAround(name);
        }
        const node = here ?? this.graph.find(name);
        if (node) {
            this.select(node, true);
            this.centre(node);
        }
    }

    // ------------------------------------------------------------ the replay

    async openIncident(id: number): Promise<void> {
        this.closePast();
        try {
            this.replay = new Replay(await api.incident(id));
        } catch (problem) {
            await this.trouble(problem);
            return;
        }
        this.selected = null;
        this.stage.selected = null;
        this.show = 'all';
        this.part?.close();
        this.part = new Scene(this.graph, () => true, undefined, this.replay.connections());
        this.bar.open(this.replay);
        this.inReplay(true);
        this.stage.show(this.part);
        this.applyShow();
        this.tabs.open('moment');
        byId('replay-slider').focus({ preventScroll: true });
    }

    seek(position: number): void {
        if (this.replay) {
            this.replay.seek(position);
            this.bar.update();
            this.changed();
        }
    }

    closeReplay(): void {
        if (!this.replay) {
            return;
        }
        this.replay = null;
        this.bar.close();
        this.selected = null;
        this.stage.selected = null;
        this.show = 'all';
        this.inReplay(false);
        this.whole.refresh(true);
        this.applyShow();
        this.tabs.open('incidents');
    }

    // ------------------------------------------------------------ point in time

    /** Opens the slider over the kept history, at this time or now. */
    async openPast(at?: number): Promise<void> {
        this.closeReplay();
        try {
            await this.pastBar.open(at);
        } catch (problem) {
            await this.trouble(problem);
        }
    }

    /** Shows the graph at that time. */
    showThen(graph: Graph, at: number): void {
        const first = this.then === null;
        this.then = { graph, at };
        this.selected = this.selected ? graph.node(keyOf(this.selected)) : null;
        this.stage.selected = this.selected;
        if (first) {
            this.show = 'all';
            this.part?.close();
            this.part = new Scene(graph, () => true, this.whole);
            this.stage.show(this.part);
            this.applyShow();
            this.inPast(true);
        } else {
            this.part?.setGraph(graph);
            this.list.clear();
            this.remember();
            this.changed();
        }
    }

    closePast(): void {
        this.pastBar.close();
        if (!this.then) {
            return;
        }
        this.then = null;
        this.selected = null;
        this.stage.selected = null;
        this.show = 'all';
        this.inPast(false);
        this.whole.refresh(true);
        this.applyShow();
    }

    private inPast(yes: boolean): void {
        this.tellLink(this.left === null);
        this.stage.canvas.parentElement?.classList.toggle('past', yes);
        this.stage.camera.inset.bottom = yes && innerWidth > 820 ? 130 : 14;
        this.list.clear();
        this.remember();
        this.changed();
    }

    private inReplay(yes: boolean): void {
        this.stage.canvas.parentElement?.classList.toggle('past', yes);
        this.stage.camera.inset.bottom = yes && innerWidth > 820 ? 130 : 14;
        this.tabs.show('moment', yes);
        this.list.clear();
        this.remember();
        this.changed();
        this.incidents.show();
    }

    /** The address contains the view, so that it can be shared. */
    remember(): void {
        const hash = new URLSearchParams({ system: this.system });
        if (this.replay) {
            hash.set('incident', String(this.replay.incident.id));
        } else if (this.then) {
            hash.set('at', String(this.then.at));
        }
        window.history.replaceState(null, '', '#' + hash.toString());
    }

    // ------------------------------------------------------------ notifications

    /** Updates every view of the graph after a change. */
    private changed(): void {
        if (this.show === 'chain' && !this.isPast) {
            this.part?.setFilter(filterOf(this.show, this.graph, this.selected));
        }
        this.stage.scene.refresh();
        this.light();
        this.counts();
        this.raise();
        this.inspect.update();
        this.moment.update();
        if (this.tabs.current === 'list') {
            this.list.update();
        }
        this.tellPicture();
    }

    private raise(): void {
        const dead = this.live.graph.dead().map((one) => one.name);
        this.alarm.update(this.system, dead, this.show === 'dead', this.isPast);
    }

    private counts(): void {
        const graph = this.graph;
        const dead = graph.judge();
        // If the graph is not complete, only the service knows the numbers.
        const info = this.isPast || !graph.truncated ? null : this.info;
        const waiting = [...graph.processes.values()].filter((one) => one.waits.size > 0).length;
        const entry = (name: string, value: number, className = '') =>
            h(
                'div',
                { class: value > 0 ? className : '' },
                h('dt', {}, name),
                h('dd', {}, value.toLocaleString('en')),
            );
        const stuck = info ? Math.max(info.deadlocked, dead) : dead;
        const processes = info ? info.processes : graph.processes.size;
        const resources = info ? info.resources : graph.things;
        replace(
            byId('counts'),
            entry(processes === 1 ? 'process' : 'processes', processes),
            entry(resources === 1 ? 'resource' : 'resources', resources),
            entry('waiting', info ? info.waiting : waiting, 'some-wait'),
            entry('deadlocked', stuck, 'some-dead'),
        );
        byId('filters')
            .querySelector('[data-show=dead]')
            ?.classList.toggle('alarm', stuck > 0);
    }

    /** Describes the picture in one sentence for screen readers, and updates the notice above it. */
    private tellPicture(): void {
        const scene = this.stage.scene;
        const dead = this.graph.judge();
        const stuck = dead === 0 ? 'none is' : count(dead, 'process is', 'processes are');
        const chosen = this.selected ? ` ${shown(this.selected.name)} is selected: ${stateWord(this.selected)}.` : '';
        byId('graph-description').textContent =
            `${count(scene.count, 'node')} and ${count(scene.links.length / 2, 'edge')} shown; ${stuck} deadlocked.` +
            `${chosen} The tab List has the same as text.`;
        this.tellEmpty();
        const { graph, around, label } = this.live;
        if (this.replay) {
            this.notice(null);
        } else if (this.then) {
            this.notice(`This is the state of ${when(this.then.at)}, not the current one.`, () => this.closePast(), 'Back to now');
        } else if (this.left !== null) {
            const since = new Date(this.left).toLocaleTimeString('en-GB');
            this.notice(`No answer from the service since ${since}: this is the state at that time. Retrying.`);
        } else if (around !== null) {
            this.notice(`Only the neighborhood of ${shown(around)}.`, () => void this.live.lookAround(null));
        } else if (label !== '') {
            this.notice(
                `Only nodes with the label ${shown(label)}, and their neighbors.`,
                () => void this.labels.lookFor(''),
            );
        } else if (graph.truncated) {
            const loaded = (graph.processes.size + graph.things).toLocaleString('en');
            const all = this.info
                ? ` of ${(this.info.processes + this.info.resources).toLocaleString('en')}`
                : '';
            this.notice(
                `${loaded}${all} nodes are loaded, the most important ones first; the search finds the rest.`,
            );
        } else if (this.cluster?.shared && !this.cluster.leads) {
            const leader = this.cluster.leader ? `${shown(this.cluster.leader)} is the leader` : 'the leader is not known';
            this.notice(`This server is a standby: ${leader}. It shows committed events and changes nothing.`);
        } else if (scene.count === 0 && this.show !== 'all') {
            this.notice(emptyText[this.show], () => this.setShow('all'));
        } else {
            this.notice(null);
        }
    }

    /** First steps, for an empty system. */
    private tellEmpty(): void {
        const element = byId('empty');
        const info = this.info;
        element.hidden =
            !info ||
            this.isPast ||
            this.live.label !== '' ||
            this.left !== null ||
            this.live.around !== null ||
            this.show !== 'all' ||
            this.stage.scene.count > 0;
        const what = `${info?.kind} ${info?.name}`;
        if (!info || element.hidden || element.dataset.what === what) {
            return;
        }
        element.dataset.what = what;
        const claim = info.kind === 'avoid' ? String.raw`process ann disk=1\nprocess bob disk=1\n` : '';
        const system =
            info.name === 'default' ? '' : ` --system '${info.name.replaceAll("'", String.raw`'\''`)}'`;
        const line = String.raw`printf 'resource disk\n${claim}request ann disk\nrequest bob disk\n' |`;
        replace(
            element,
            h('h2', {}, 'Nothing here yet'),
            h('p', {}, 'This system has no process and no resource. Send some from a shell:'),
            h('pre', { tabindex: '0', role: 'group', 'aria-label': 'Command' }, `${line}\n    gordian send${system}`),
            h('p', {}, 'They appear here immediately.'),
        );
    }

    private notice(text: string | null, back?: () => void, label = 'Show everything'): void {
        const element = byId('notice');
        element.hidden = text === null;
        if (text !== null && element.dataset.text !== text) {
            const button =
                back && h('button', { type: 'button', class: 'name', onclick: back }, label);
            replace(element, text, button ? ' ' : null, button);
        }
        element.dataset.text = text ?? '';
    }

    /** Duration of a process's wait, now or at the time of the replay; null: it does not wait, or the start is not
     * known. */
    waited(process: Process): number | null {
        const now = this.moment_ms;
        return process.waits.size > 0 && process.since !== null ? Math.max(0, now - process.since) : null;
    }

    private hover(node: Node | null, x: number, y: number): void {
        const tip = byId('tip');
        tip.hidden = !node;
        if (!node) {
            return;
        }
        let description = stateWord(node);
        if (node.kind === 'process') {
            const waited = this.waited(node);
            description += waited !== null ? ` for ${duration(waited)}` : '';
            description += `; holds ${node.holds.size}, waits for ${node.waits.size}`;
        } else {
            description += `; ${node.units - node.free} of ${count(node.units, 'unit')} in use, ${node.waiters.size} waiting`;
        }
        replace(tip, h('b', {}, shown(node.name)), description);
        const { width, height } = this.stage.camera;
        const below = y + 18 + tip.offsetHeight <= height;
        tip.style.left = `${Math.max(8, Math.min(x + 16, width - tip.offsetWidth - 8))}px`;
        tip.style.top = `${Math.max(8, below ? y + 18 : y - tip.offsetHeight - 12)}px`;
    }

    // ------------------------------------------------------------ tabs and tools

    openTab(id: string): void {
        this.tabs.open(id);
    }

    private tabOpened(id: string): void {
        this.blockers.watch(id === 'blockers');
        if (id === 'actions') {
            void this.actions.load();
        }
        if (id === 'list') {
            this.list.update();
        } else if (id === 'moment') {
            this.moment.update();
        } else if (id === 'overview') {
            this.overview.setRates(this.past);
            this.overview.update();
        }
    }

    private buildTools(): void {
        const shows: [Show, string, string][] = [
            ['all', 'All', 'Everything'],
            ['busy', 'Busy', 'Nodes that are held or waited for'],
            ['waiting', 'Waiting', 'Waiters and what they wait for'],
            ['dead', 'Deadlocked', 'Deadlocked nodes only'],
        ];
        const filter = ([show, text, title]: (typeof shows)[number]) =>
            h(
                'button',
                {
                    type: 'button',
                    'data-show': show,
                    title,
                    'aria-pressed': String(show === this.show),
                    onclick: () => this.setShow(show),
                },
                text,
            );
        replace(
            byId('filters'),
            ...shows.map(filter),
            h('select', { id: 'label', 'aria-label': 'Nodes with this label only', hidden: true }),
        );
        const tool = (name: 'plus' | 'minus' | 'fit' | 'clock', label: string, act: () => void) =>
            h('button', { type: 'button', 'aria-label': label, title: label, onclick: act }, icon(name));
        replace(
            byId('tools'),
            tool('plus', 'Closer', () => this.stage.zoom(1.4)),
            tool('minus', 'Further', () => this.stage.zoom(1 / 1.4)),
            tool('fit', 'Fit everything', () => this.stage.fit()),
            tool('clock', 'History: the graph at an earlier time', () => (this.then ? this.closePast() : void this.openPast())),
        );
    }
}

/** A date and time in the format of the locale. */
export const when = (at: number): string =>
    new Date(at).toLocaleString('en-GB', { dateStyle: 'medium', timeStyle: 'medium' });

const emptyText: Record<Exclude<Show, 'all'>, string> = {
    busy: 'No process holds or waits for a resource.',
    waiting: 'No process waits.',
    dead: 'No process is deadlocked.',
    chain: 'This node no longer exists.',
};
