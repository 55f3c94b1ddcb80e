"""What ctypes believes of the headers is what the C compiler makes of them."""

import ctypes
import os
import shutil
import subprocess
import sys
from pathlib import Path

import gordian
import headers
import pytest
from gordian import _abi, _functions

ROOT = Path(os.environ["GORDIAN_ROOT"])


def structs():
    found = [each for each in vars(_abi).values() if hasattr(each, "c_name")]
    assert len(found) > 40
    return found


def test_functions_are_those_of_the_headers():
    assert headers.module(ROOT / "include") == Path(_functions.__file__).read_text()


def test_versions_are_the_same():
    assert gordian.version() == gordian.__version__
    assert f"version: '{gordian.__version__}'" in (ROOT / "meson.build").read_text()


def test_structs_are_those_of_the_compiler(tmp_path):
    compiler = shutil.which("cc") or shutil.which("gcc")
    if not compiler:
        pytest.skip("no compiler")
    lines, expected = [], []
    for struct in structs():
        name = struct.c_name
        lines.append(f'printf("{name} %zu\\n", sizeof({name}));')
        expected.append(f"{name} {ctypes.sizeof(struct)}")
        for field, _ in struct._fields_:
            at = f"offsetof({name}, {field}), sizeof((({name} *)0)->{field})"
            lines.append(f'printf("{name}.{field} %zu %zu\\n", {at});')
            place = getattr(struct, field)
            expected.append(f"{name}.{field} {place.offset} {place.size}")
    includes = "".join(f"#include <gordian/{name}.h>\n" for name in headers.HEADERS)
    source = tmp_path / "layout.c"
    source.write_text(
        f"#include <stdio.h>\n{includes}int main(void)\n{{\n" + "\n".join(lines) + "\nreturn 0;\n}\n"
    )
    program = tmp_path / "layout"
    subprocess.run([compiler, "-I", ROOT / "include", source, "-o", program], check=True)
    told = subprocess.run([program], check=True, stdout=subprocess.PIPE, text=True).stdout
    assert told.splitlines() == expected


def test_types_fit_together(tmp_path):
    folder = Path(gordian.__file__).parent
    assert (folder / "py.typed").exists()
    settings = tmp_path / "mypy.ini"
    settings.write_text("[mypy]\nignore_missing_imports = True\n")
    if int(os.environ.get("GORDIAN_TEST_SCALE", "100")) < 100:
        # One module of ours uses pytest, and half of the time would be spent on pytest's own.
        with settings.open("a") as file:
            file.write("[mypy-pytest.*,_pytest.*]\nfollow_imports = skip\n")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", settings, "--cache-dir", os.devnull, folder],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if "No module named mypy" in done.stdout:
        pytest.skip("no mypy")
    assert done.returncode == 0, done.stdout
