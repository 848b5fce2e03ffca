"""Choice of a campaign's storage by its address: a folder of HDF5 files, or a hierarchy of Zarr in a directory or a store of objects."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

from engine.campaign.folder import Folder
from engine.campaign.hierarchy import Hierarchy
from engine.campaign.places import Disk, Objects
from engine.campaign.storage import Storage
from engine.campaign.zarr import META
from engine.checks import path_of
from engine.recording import StorageError


def storage_of(target: str | Path) -> Storage:
    """Return what is at a path, or is to be: Zarr where it ends in .zarr, where there is some, and where it is a URL."""
    if isinstance(target, str) and "://" in target:
        if not target.startswith("file://"):
            return Hierarchy(Objects(target))
        return Hierarchy(Disk(url2pathname(urlsplit(target).path)))
    path = path_of(target, StorageError)
    if found := re.match(r"(\w{2,}):/", str(path)):
        raise StorageError(f"'{path}' was a URL, which a pathlib.Path is not any more; expected a text, '{found[1]}://…'")
    return Hierarchy(Disk(path)) if path.suffix == ".zarr" or (path / META).is_file() else Folder(path)
