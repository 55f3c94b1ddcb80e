"""The examples of docs/guide/python.md and of the docstrings."""

import doctest
import importlib
import os
import pkgutil
import re
from pathlib import Path

import gordian
import pytest

DOCUMENT = Path(os.environ["GORDIAN_ROOT"]) / "docs" / "guide" / "python.md"


def test_examples_of_the_document(service, monkeypatch):
    monkeypatch.setenv("GORDIAN_SERVICE", service.uri)
    text = re.sub(r"^```.*$", "", DOCUMENT.read_text(), flags=re.M)
    examples = doctest.DocTestParser().get_doctest(text, {}, DOCUMENT.name, str(DOCUMENT), 0)
    result = doctest.DocTestRunner(verbose=False).run(examples)
    assert result.attempted > 60 and result.failed == 0


@pytest.mark.parametrize("name", [each.name for each in pkgutil.iter_modules(gordian.__path__)])
def test_examples_of_docstrings(name):
    module = importlib.import_module("gordian." + name)
    assert module.__doc__ and doctest.testmod(module).failed == 0


def test_everything_public_is_documented():
    text = DOCUMENT.read_text()
    assert [name for name in gordian.__all__ if not re.search(rf"\b{name}", text)] == []
    for name in gordian.__all__:
        thing = getattr(gordian, name)
        assert thing.__doc__ or not callable(thing), name
