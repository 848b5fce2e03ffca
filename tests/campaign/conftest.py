"""What several tests of campaigns ask for."""

import logging

import pytest


@pytest.fixture
def quiet():
    """Dask's remarks about workers that die are no warnings of these tests."""
    logger = logging.getLogger("distributed")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    yield
    logger.setLevel(before)
