"""C whose names are used again: the same bits, in fewer bytes of an archive."""

import zlib

import numpy as np

import engine
from engine.code import export_code
from engine.code.compact import compact
from engine.spatial import inertia, se3
from tests.code.programs import FLAGS, FMA, needed, reported
from tests.fmu.robots import arm, fallen


def test_the_same_bits_in_fewer_bytes(tmp_path):
    """Of forward dynamics and of a step with contacts, with loops, branches and vectors, by a compiler that says what is odd."""
    needed("gcc")
    for f, begin in ((engine.compile(arm(floating=True)).aba, {}), (fallen(), {"q0": [1.0, 0, 0, 0, 0, 0, 0.3]})):
        path = export_code(f, tmp_path / "f.c", **begin)
        text = path.read_text()
        path.write_text(compact(text))
        assert reported(tmp_path, "f", "gcc", *FLAGS, "-O1", *FMA).endswith("bit for bit\n")
        assert len(zlib.compress(compact(text).encode(), 9)) < len(zlib.compress(text.encode(), 9))


def test_what_a_loop_reads_again_keeps_its_name():
    """What a loop reads is written by none within; a function that declares values within one stays as it is."""
    text = """static void f(void)
{
    const double t1 = a;
    for (int i = 0; i < 9; ++i) {
        out[i] = t1;
        g(i);
    }
    const double t4 = b;
    const int t5 = t4 < 1.0;
    out[0] = t5;
}"""
    found = text.replace("const double t1", "double t0").replace("= t1", "= t0").replace("const double t4", "t0").replace("t4", "t0")
    assert compact(text) == found.replace("const int t5", "int t1").replace("t5", "t1")
    within = text.replace("        g(i);", "        const double t9 = c;\n        out[i] = t9;")
    assert compact(within) == within
    both = """static void f(void)
{
    if (a < 1.0) {
        const double t4 = c;
        out[1] = t4;
    }
    const double t4 = b;
    out[0] = t4;
}"""
    assert compact(both) == both                                               # a name within a branch, and outside


def test_a_cart_whose_contacts_branch(tmp_path):
    """A cart between stops, driven by a spring, whose parts may touch: names within branches that are outside, too."""
    builder = engine.Builder("cart")
    for name, size, place in (("rail", (2.0, 0.04, 0.04), 0.0), ("cart", (0.2, 0.1, 0.1), 0.0), ("pole", (0.02, 0.02, 0.6), 0.3)):
        at = se3.pose(np.eye(3), [0.0, 0.1 * (name == "pole"), place])
        builder.add_link(name, inertia=inertia.box(1.0, size), collisions=[engine.Geometry("box", size, at)])
    builder.add_joint("slide", "prismatic", "rail", "cart", axis=[1, 0, 0], limits=engine.Limits(-0.8, 0.8))
    builder.add_joint("hinge", "revolute", "cart", "pole", axis=[0, 1, 0])
    simulator = engine.Simulator(builder.model(), contacts=engine.Contacts())
    path = export_code(simulator, tmp_path / "cart.c")
    assert compact(path.read_text())
