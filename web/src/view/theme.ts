// The canvas's colours come from the style sheet, so that there is one palette.

export interface Theme {
    paper: string;
    surface: string;
    ink: string;
    muted: string;
    line: string;
    hold: string;
    idle: string;
    busy: string;
    resource: string;
    wait: string;
    waitLine: string;
    dead: string;
    deadSoft: string;
    deadText: string;
    doomed: string;
    accent: string;
    font: string;
}

const names: (keyof Theme)[] = [
    'paper',
    'surface',
    'ink',
    'muted',
    'line',
    'hold',
    'idle',
    'busy',
    'resource',
    'wait',
    'waitLine',
    'dead',
    'deadSoft',
    'deadText',
    'doomed',
    'accent',
    'font',
];

export function readTheme(): Theme {
    const style = getComputedStyle(document.documentElement);
    const theme = {} as Theme;
    for (const name of names) {
        const property = '--' + name.replace(/[A-Z]/g, (letter) => '-' + letter.toLowerCase());
        theme[name] = style.getPropertyValue(property).trim();
    }
    return theme;
}
