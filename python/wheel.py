"""Makes a wheel of the package, with the library in it: nothing is downloaded, nothing compiled.

    wheel.py LIBRARY FOLDER      writes FOLDER/gordian-VERSION-py3-none-PLATFORM.whl

The same files make the same bytes.
"""

from __future__ import annotations

import base64
import hashlib
import re
import sys
import sysconfig
import zipfile
from pathlib import Path
from typing import Dict

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
DATE = (1980, 1, 1, 0, 0, 0)

METADATA = """\
Metadata-Version: 2.1
Name: gordian
Version: {version}
Summary: Cuts deadlocks: detection, avoidance, composition, makespans
License: MIT
Requires-Python: >=3.9
Provides-Extra: numpy
Requires-Dist: numpy; extra == "numpy"
Classifier: Framework :: Pytest
Classifier: Operating System :: POSIX :: Linux
Classifier: Typing :: Typed
Description-Content-Type: text/markdown

"""

ENTRY_POINTS = "[pytest11]\ngordian = gordian.pytest_plugin\n"


def version() -> str:
    return re.search(r'^VERSION = "(.+)"$', (HERE / "gordian/_library.py").read_text(), re.M)[1]


def metadata() -> str:
    return METADATA.format(version=version()) + (ROOT / "docs" / "guide" / "python.md").read_text()


def contents(library: Path, platform: str) -> Dict[str, bytes]:
    """What is in it, by path."""
    info = f"gordian-{version()}.dist-info/"
    files = {
        f"gordian/{file.name}": file.read_bytes()
        for file in sorted((HERE / "gordian").iterdir())
        if file.suffix in (".py", ".typed") and file.name != "_installed.py"
    }
    files["gordian/libgordian.so.0"] = library.read_bytes()
    tls = library.with_name("libgordian-tls.so")  # loaded where OpenSSL is
    if tls.exists():
        files[f"gordian/gordian/{tls.name}"] = tls.read_bytes()  # not where Python looks for modules
    files[info + "METADATA"] = metadata().encode()
    files[info + "WHEEL"] = (
        "Wheel-Version: 1.0\nGenerator: gordian\nRoot-Is-Purelib: false\n"
        f"Tag: py3-none-{platform}\n"
    ).encode()
    files[info + "entry_points.txt"] = ENTRY_POINTS.encode()
    files[info + "LICENSE"] = (ROOT / "LICENSE").read_bytes()
    files[info + "RECORD"] = record(files, info + "RECORD").encode()
    return files


def record(files: Dict[str, bytes], itself: str) -> str:
    lines = []
    for path, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        lines.append(f"{path},sha256={digest},{len(content)}\n")
    return "".join(lines) + f"{itself},,\n"


def main(library: str, folder: str) -> None:
    platform = re.sub(r"[-.]", "_", sysconfig.get_platform())
    target = Path(folder) / f"gordian-{version()}-py3-none-{platform}.whl"
    target.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, content in contents(Path(library), platform).items():
            entry = zipfile.ZipInfo(path, DATE)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o755 if ".so" in path else 0o644) << 16
            wheel.writestr(entry, content)
    print(target)


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[1] == "--info":  # for `meson install`
        folder = Path(sys.argv[2])
        (folder / "METADATA").write_text(metadata())
        (folder / "entry_points.txt").write_text(ENTRY_POINTS)
    elif len(sys.argv) == 3:
        main(sys.argv[1], sys.argv[2])
    else:
        sys.exit("usage: wheel.py LIBRARY FOLDER")
