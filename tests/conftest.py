"""One hypothesis profile for all machines: no deadline, because a busy CI machine is not a slow function."""

from __future__ import annotations

import os

import pytest
from ansible.module_utils import _internal
from ansible.module_utils.common import warnings
from hypothesis import settings

settings.register_profile("hostprep", deadline=None, print_blob=True, derandomize="CI" in os.environ)
settings.load_profile("hostprep")


@pytest.fixture
def module_process(monkeypatch):
    """This process for one of a module on a host: other tests here run action plugins, which are the controller's."""
    monkeypatch.setattr(_internal, "is_controller", False)
    monkeypatch.setattr(warnings, "_global_warnings", {})
