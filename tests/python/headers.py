"""Reads the prototypes of the public headers: what `gordian/_functions.py` must have.

    headers.py INCLUDE-FOLDER     prints that file
"""

import re
import sys
from pathlib import Path

HEADERS = ["gordian", "avoid", "makespan", "ptx", "compose", "client"]
PLAIN = {
    "void": "-",
    "gordian_status": "s",
    "bool": "b",
    "char": "c",
    "short": "w",
    "int": "i",
    "unsigned": "n",
    "uint32_t": "u",
    "uint64_t": "U",
    "int64_t": "I",
    "size_t": "z",
    "gordian_source": "S",
    "gordian_writer": "W",
    "gordian_hiding": "H",
}
LISTS = {"const uint32_t *": "r", "const gordian_graph_arc *": "a"}


def letter(kind, returned):
    """One letter for a type, as gordian/_abi.py reads them."""
    kind = " ".join(kind.split())
    if kind == "gordian_error *":
        return "e"
    if kind == "const char *":
        return "t"
    if "*" in kind or "[" in kind:
        return LISTS.get(kind, "p") if returned else "p"
    return PLAIN.get(kind, "i")  # what is left are enumerations


def argument(text):
    """The type of a parameter, without its name."""
    text = text.strip()
    if text.endswith("]"):
        return text
    return re.sub(r"(\w+)$", "", text) if not text == "void" else ""


def prototypes(include):
    found = {}
    for name in HEADERS:
        text = (Path(include) / "gordian" / (name + ".h")).read_text()
        text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
        for returns, function, arguments in re.findall(
            r"^GORDIAN_API\s+([\w\s]+?[\s*])gordian_(\w+)\(([^;]*)\);", text, flags=re.M
        ):
            kinds = [argument(each) for each in " ".join(arguments.split()).split(",")]
            letters = letter(returns, True) + "".join(letter(kind, False) for kind in kinds if kind)
            found[function] = letters
    # These texts do not end in a NUL.
    found["ptx_entry"] = "p" + found["ptx_entry"][1:]
    return found


def module(include):
    lines = [f"{name} {letters}\n" for name, letters in prototypes(include).items()]
    return (
        '"""The functions of the public headers: what each returns and takes, a letter each, as\n'
        "`_abi` reads them. Made by tests/python/headers.py, and compared with it in the tests.\n"
        '"""\n\nFUNCTIONS = """\\\n' + "".join(lines) + '"""\n'
    )


if __name__ == "__main__":
    sys.stdout.write(module(sys.argv[1]))
