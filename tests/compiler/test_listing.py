"""Programs as text, and what their functions are called."""

import pickle

import numpy as np
import pytest

from engine import ops
from engine.compiler import interpret, trace
from engine.compiler.graph.operations import CALLS


def halved(x, least):
    """√x by Newton's method, and the larger of it and another number."""

    def advance(y):
        return 0.5 * (y + x / y), abs(y * y - x) < 1e-12

    y, _ = ops.while_loop(advance, x, 30)
    return ops.maximum(y, least)


def test_a_text_has_an_operation_a_line_and_what_is_called_below_it():
    text = str(trace(halved, [(), ()]))
    assert text == """\
halved(x, least): 12 operations
    %3 = loop halved.advance up to 30 times x, 0.0, x
        halved.advance(x0, x1, outside0): 11 operations
            %3 = div outside0, x0
            %4 = add x0, %3
            %6 = mul %4, 0.5
            %7 = mul x0, x0
            %8 = sub %7, outside0
            %9 = abs %8
            %11 = lt %9, 1e-12
            %13 = eq x1, 0.0
            %14 = not %13
            %15 = select %14, x0, %6
            %16 = or %11, %14
            return (2): %15, %16
    %5 = max least, %3.0
    return: %5"""


def test_rows_branches_names_and_shapes_are_said():
    def sized(x, w):
        rows = ops.rows(lambda row: row @ w, x)
        return {"total": ops.total(rows), "turned": ops.when(w[0] > 0.0, lambda: np.array([w[1], -w[0]]), w)}

    text = str(trace(sized, [(-1, 2), (2,)], named=True))
    for part in ("sized(x (n, 2), w (2)): ", "call rows of ", "sized if not done ", "return total: ", "return turned (2): "):
        assert part in text


def test_what_is_called_is_written_once_and_every_operation_is():
    twice = ops.subroutine(lambda x: np.sin(x) + x)
    program = trace(lambda x: twice(x[0]) + twice(x[1]) + x[2], [(3,)])
    lines = str(program).splitlines()
    assert sum("= sin" in line for line in lines) == 1 and sum("= call" in line for line in lines) == 2
    shown = [n for p in (program, *program.functions) for n in p.nodes if n[0] not in ("input", "const", "get")]
    assert sum(" = " in line for line in lines) == len(shown)


def test_lines_of_source_are_said_where_they_are_noted_and_change_nothing(monkeypatch):
    plain = trace(halved, [(), ()])
    monkeypatch.setenv("ENGINE_DEBUG", "3")
    noted = trace(halved, [(), ()])
    assert noted.key == plain.key and noted.seconds > 0.0 == plain.seconds
    (line,) = (line for line in str(noted).splitlines() if "= div" in line)
    assert line.endswith("return 0.5 * (y + x / y), abs(y * y - x) < 1e-12") and "# test_listing.py:" in line
    assert "return ops.maximum(y, least)" in str(noted) and "return ops.maximum(y, least)" not in str(plain)
    again = pickle.loads(pickle.dumps(noted))
    assert again == plain and str(again) == str(plain)                         # lines are of this machine's files
    assert interpret(again, 2.0, 1.0) == interpret(plain, 2.0, 1.0)


def test_a_function_of_the_engine_names_its_own_lines_beside_the_users(monkeypatch):
    import engine

    monkeypatch.setenv("ENGINE_DEBUG", "3")
    arm = engine.load(engine.example("seven_joint_arm"))

    def energy(q):
        return engine.dynamics.forward_kinematics(arm, q)[-1, 2, 3]

    (line,) = {line.split("#")[1].strip() for line in str(engine.gufunc(energy, "(7)->()").program).splitlines() if "= sin q[1]" in line}
    assert line.startswith("test_listing.py:")
    assert "kinematics.py:" in str(engine.gufunc(energy, "(7)->()").program)


def test_programs_are_named_after_what_they_do():
    import engine

    def follow(t, q, v):
        return ops.when(t > 1.0, lambda: -q, -v)

    arm = engine.load(engine.example("seven_joint_arm"))
    programs = engine.Simulator(arm, dt=1e-3, controller=follow).programs
    names, waiting = set(), [*programs.values()]
    while waiting:
        names.add((p := waiting.pop()).name)
        waiting += p.functions
        assert all(node[1] < len(p.functions) for node in p.nodes if node[0] in CALLS)
    assert {"step", "observe", "acceleration", "after", "minimum.advance"} <= names and "loop" not in names
    assert any(name.endswith("follow") for name in names)


def test_a_plain_simulator_has_no_programs():
    import engine

    arm = engine.load(engine.example("seven_joint_arm"))
    with pytest.raises(engine.EngineError, match=r"the simulator of 'seven_joint_arm' has no programs; expected one without compiled"):
        engine.Simulator(arm, dt=1e-3, compiled=False).programs  # noqa: B018
