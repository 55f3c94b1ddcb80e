// Starts the page.

import { App } from './app';
import { openHelp } from './dialogs';
import { byId, h, icon, replace } from './dom';
import { listenToKeys, toggleTheme } from './keys';
import { Search } from './search';

const app = new App();
const search = new Search(app);

replace(byId('mark'), h('img', { src: 'assets/knot.svg', alt: '', width: 28, height: 28 }));
replace(byId('theme'), icon('sun'));
replace(byId('help-open'), icon('help'));
byId('theme').addEventListener('click', () => toggleTheme(app));
byId('help-open').addEventListener('click', openHelp);
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => app.stage.retheme());

const overlay = byId('overlay');

function toggleOverlay(): void {
    overlay.hidden = !overlay.hidden;
    app.stage.drawTimes.clear();
    app.stage.frameGaps.clear();
    app.stage.invalidate();
}

app.stage.onFrame = () => {
    if (!overlay.hidden) {
        const { drawTimes, frameGaps, scene } = app.stage;
        const gap = frameGaps.quantile(0.5);
        overlay.textContent = [
            `nodes  ${scene.count}   edges ${scene.links.length / 2}`,
            `draw   ${drawTimes.quantile(0.5).toFixed(2)} ms   99 % ${drawTimes.quantile(0.99).toFixed(2)} ms`,
            `frames ${gap > 0 ? (1000 / gap).toFixed(0) : '–'} /s   longest ${frameGaps.quantile(1).toFixed(0)} ms`,
            `layout ${scene.stepMs.toFixed(2)} ms a step${scene.moving ? '' : ', settled'}`,
        ].join('\n');
    }
};

listenToKeys(app, search, toggleOverlay);
// For tests and for debugging in the console.
Object.defineProperty(window, 'gordian', { value: app });
void app.start();
