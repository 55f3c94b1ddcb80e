// Before the first paint, so that a chosen theme does not flash.
try {
    const chosen = localStorage.getItem('gordian-theme');
    if (chosen === 'light' || chosen === 'dark') {
        document.documentElement.dataset.theme = chosen;
    }
} catch {
    // Storage is off: the system's theme it is.
}
