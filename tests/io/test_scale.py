"""Large files: reading them takes as long as they are large, and what grows faster than they do has a bound that is named."""

from __future__ import annotations

import gc
import time
import warnings

import numpy as np
import pytest

import engine
from engine.io import RobotFileError, RobotFileWarning
from engine.io.sdf import document
from engine.io.sdf.document import Node
from engine.io.sdf.frames import Frame, Scope, relative
from engine.spatial import se3

INERTIAL = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'


def mjcf(world: str, more: str = "") -> str:
    return f"<mujoco><worldbody>{world}</worldbody>{more}</mujoco>"


def sdf(model: str) -> str:
    return f'<sdf version="1.9"><model name="m"><link name="l0"/>{model}</model></sdf>'


def each(n: int, text: str, first: int = 0) -> str:
    """A text n times, with its number in place of N and the number before in place of M."""
    return "".join(text.replace("N", str(k)).replace("M", str(k - 1)) for k in range(first, n))


GROWING = {
    "free bodies that may touch": lambda n: mjcf('<geom type="plane" size="0 0 1"/>' + each(
        n, '<body name="bN" pos="N 0 1"><freejoint/><geom size="0.1"/></body>')),
    "hinges with actuators and sites": lambda n: mjcf(each(
        n, '<body pos="N 0 0"><joint name="jN" stiffness="1"/><geom size="0.1" contype="0"/><site name="sN"/></body>'),
        f'<actuator>{each(n, """<motor joint="jN"/>""")}</actuator>'),
    "geoms of two bodies": lambda n: mjcf(2 * f'<body><freejoint/>{each(n, """<geom size="0.1" pos="N 0 0"/>""")}</body>'),
    "frames that hang on each other": lambda n: sdf('<frame name="f0"/>' + each(
        n, '<frame name="fN" attached_to="fM"><pose>0.1 0 0 0 0 0</pose></frame>', 1)),
    "links placed by each other": lambda n: sdf(each(n, '<link name="lN"><pose relative_to="lM">0.1 0 0 0 0 0</pose></link>', 1)),
    "links of a chain": lambda n: '<robot name="r"><link name="l0"/>' + each(
        n, f'<link name="lN">{INERTIAL}</link><joint name="jN" type="continuous"><parent link="lM"/><child link="lN"/></joint>', 1)
        + "</robot>",
}  # fmt: skip


@pytest.mark.parametrize("text", GROWING.values(), ids=GROWING)
def test_four_times_as_large_a_file_takes_about_four_times_as_long(text):
    """Sixteen times as long is what each to each would take. Garbage of other tests is not collected meanwhile."""
    def cost(n: int) -> float:
        x, began = text(n), time.process_time()
        engine.load(x)
        return time.process_time() - began

    gc.collect()
    gc.freeze()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RobotFileWarning)
        cost(2)
        assert min(cost(400), cost(400)) < 9.0 * min(cost(100), cost(100))
    gc.unfreeze()


def test_too_many_contacts_to_list_are_said_and_refused_by_a_simulator():
    text = mjcf(each(220, '<body><freejoint/><geom size="0.1"/></body>'))
    with pytest.warns(RobotFileWarning, match=r"more than 20000 pairs of shapes may touch, and are not listed: a simulation with contacts"):
        model = engine.load(text)
    assert model.nv == 6 * 220
    assert model.described is not None and model.described.contacts is not None
    with pytest.raises(engine.EngineError, match=r"lets more than 20000 pairs .*; expected 3000 pairs of shapes at most: contacts="):
        engine.simulator_of(model)
    with pytest.raises(engine.EngineError, match=r"have more than 3000 pairs of shapes; expected fewer: name them"):
        engine.Contacts().bind(model)


def test_too_many_contacts_of_models_are_said():
    ball = '<collision name="c"><geometry><sphere><radius>0.1</radius></sphere></geometry></collision>'
    models = each(220, f'<model name="mN"><link name="l">{ball}</link></model>')
    with pytest.warns(RobotFileWarning, match=r"more than 20000 pairs of shapes may touch"):
        model = engine.load(f'<sdf version="1.9"><world name="w">{models}</world></sdf>')
    assert model.described is not None and model.described.contacts is not None
    assert model.described.contacts.values == {"pairs": 20000}


def doubled(folder, levels: int) -> str:
    """The path of a file that includes another twice, which includes another twice, and so on."""
    (folder / "m0.sdf").write_text('<sdf version="1.9"><model name="m0"><link name="l"/></model></sdf>')
    for k in range(1, levels + 1):
        twice = "".join(f"<include><uri>m{k - 1}.sdf</uri><name>{name}</name></include>" for name in "ab")
        (folder / f"m{k}.sdf").write_text(f'<sdf version="1.9"><model name="m{k}">{twice}</model></sdf>')
    return str(folder / f"m{levels}.sdf")


def test_a_file_that_is_included_often_is_read_once(tmp_path, monkeypatch):
    read: list[str] = []
    parsed = document.Document.parsed
    monkeypatch.setattr(document.Document, "parsed", lambda self, said: (read.append(said.file), parsed(self, said))[1])
    model = engine.load(doubled(tmp_path, 6))
    assert len(model.links) == 2**6 + 1 and len(read) == 7
    assert model.links[1].name == "a::a::a::a::a::a::l"


def test_files_that_are_included_have_a_bound(tmp_path, monkeypatch):
    monkeypatch.setattr(document, "MOST_INCLUDED", 100)
    with pytest.raises(RobotFileError, match="more than 100 files are included; expected fewer"):
        engine.load(doubled(tmp_path, 6))
    monkeypatch.undo()
    monkeypatch.setattr(document, "MOST", 300)
    with pytest.raises(RobotFileError, match="with all that it includes, more than 300 elements; expected fewer"):
        engine.load(doubled(tmp_path, 6))


def test_frames_are_where_the_way_from_one_to_the_other_leads():
    """By leaps as by each step: of n steps either is right to about n roundings of numbers as large as the way is long."""
    rng = np.random.default_rng(0)
    root = Scope(Node("world", {}), None)
    root.own = Frame("world", Node("world", {}), root, np.eye(4))
    frames, T_W = [root.own], [np.eye(4)]
    for k in range(1, 300):
        above = int(rng.integers(max(0, k - 3), k))
        frames.append(Frame(f"f{k}", Node("frame", {}), root, se3.exp(rng.standard_normal(6)), frames[above]))
        T_W.append(T_W[above] @ frames[-1].T)
    far = max(np.abs(T).max() for T in T_W)
    for a, b in rng.integers(0, 300, (200, 2)):
        error = relative(frames[a], frames[b]) - se3.inv(T_W[a]) @ T_W[b]
        assert np.abs(error).max() < 300 * far * np.finfo(float).eps


def test_a_placement_frame_in_a_circle_is_refused():
    circle = '<frame name="f1"><pose relative_to="f2"/></frame><frame name="f2"><pose relative_to="f1"/></frame>'
    text = f'<sdf version="1.9"><model name="m" placement_frame="f1"><link name="l"/>{circle}</model></sdf>'
    with pytest.raises(RobotFileError, match=r"relative to one another in a circle .*expected a tree"):
        engine.load(text)
