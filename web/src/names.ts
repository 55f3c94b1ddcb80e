// Names for display. A name may be any text, also a misleading one: invisible characters are spelled out, and
// right-to-left text is isolated so that it does not reorder the text next to it.

/** Control characters, characters that change the direction of writing, and characters without width. The
 * joiners that scripts and emoji need are not included. */
const unseen = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;
const rightToLeft = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;

const spelled = (sign: string) => `‹U+${sign.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}›`;

export function shown(name: string): string {
    const text = name.replace(unseen, spelled);
    return rightToLeft.test(text) ? `\u2068${text}\u2069` : text;
}

/** The first and last characters of a name, at most `most` in all. */
export function shortened(name: string, most: number): string {
    const signs = [...name.replace(unseen, spelled)];
    return shown(
        signs.length <= most
            ? signs.join('')
            : [...signs.slice(0, most / 2), '…', ...signs.slice(-(most / 2 - 1))].join(''),
    );
}
