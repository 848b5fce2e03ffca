"""A browser for the tests of a file, of the size that it names, and a simulation that is served."""

import numpy as np
import pytest

import engine
from tests.viewer.browser import Browser
from tests.viewer.mechanism import stone


@pytest.fixture(scope="module")
def browser(request, tmp_path_factory):
    browser = Browser(tmp_path_factory.mktemp("profile"), request.module.SIZE)
    yield browser
    browser.close()


@pytest.fixture
def no_faults(browser):
    """Nothing in a page goes wrong."""
    browser.faults.clear()
    yield
    assert not browser.faults


@pytest.fixture(scope="module")
def simulator():
    return engine.Simulator(stone(), dt=2e-3, gravity=(0, 0, 0), parameters={"gravity": np.zeros(3), "damping.hinge": 0.5})


@pytest.fixture
def server(simulator):
    with engine.serve(simulator, port=0) as server:
        yield server
