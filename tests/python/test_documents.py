"""The examples of docs/python.md and of the docstrings."""

import doctest
import importlib
import os
import pkgutil
import re
from pathlib import Path

import gordian
import pytest

DOCUMENT = Path(os.environ["GORDIAN_ROOT"]) / "docs" / "python.md"


def test_examples_of_the_document():
    result = doctest.testfile(str(DOCUMENT), module_relative=False)
    assert result.attempted > 40 and result.failed == 0


@pytest.mark.parametrize("name", [each.name for each in pkgutil.iter_modules(gordian.__path__)])
def test_examples_of_docstrings(name):
    module = importlib.import_module("gordian." + name)
    assert doctest.testmod(module).failed == 0
    assert module.__doc__ or name == "_installed"


def test_everything_public_is_documented():
    text = DOCUMENT.read_text()
    missing = [name for name in gordian.__all__ if not re.search(rf"\b{name}\b", text)]
    assert not missing
    for name in gordian.__all__:
        thing = getattr(gordian, name)
        if isinstance(thing, type) or callable(thing):
            assert thing.__doc__, name
