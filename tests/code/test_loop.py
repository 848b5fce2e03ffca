"""A paced loop in C: the bits of a run, no memory from the heap, and a clock that is met, missed, caught up with, or slips."""

import subprocess

import numpy as np
import pytest

import engine
from tests.code.programs import FLAGS, FMA, needed, run
from tests.code.robots import pendulum

MAIN = """#include "swings.h"
#include <stdio.h>
#include <stdlib.h>
static int64_t now, stall;
static int steady;
int64_t fake_now(void) { return now; }
void fake_wait(int64_t until) { now = until + 1000; }
static int before(void *user, int64_t k, double t, const double *x, double *p)
{
    (void)user, (void)x, (void)t;
    p[0] = steady ? 0.5 : 0.25 * (double)(k % 4);
    return 0;
}
static int after(void *user, int64_t k, double t, const double *x, const double *p)
{
    (void)x, (void)p, (void)t;
    if (k == 10)
        now += stall;
    return *(int64_t *)user == k;
}
int main(int n, char **each)
{
    double p[] = SWINGS_INITIAL_P, x[] = SWINGS_INITIAL_X;
    int64_t last = atoll(each[1]);
    swings_options o = {0};
    swings_report r;
    o.before = before;
    o.after = after;
    o.user = &last;
    o.slip = atoi(each[2]);
    o.free_running = atoi(each[3]);
    o.priority = atoi(each[4]);
    stall = atoll(each[5]);
    o.period = n > 6 ? atof(each[6]) : 0.0;
    steady = n > 7;
    const int status = swings_loop(&o, p, x, &r);
    printf("%d %lld %lld %.17g %.17g %.17g %d %lld", status, (long long)r.steps, (long long)r.missed, r.worst, r.late, r.slipped, r.ended,
           (long long)now);
    for (size_t c = 0; c < sizeof x / sizeof *x; ++c)
        printf(" %a", x[c]);
    return 0;
}
"""


@pytest.fixture(scope="module")
def turning(tmp_path_factory):
    """A pendulum's loop, on a clock of its own, and on the system's."""
    needed("gcc")
    folder = tmp_path_factory.mktemp("loop")
    simulator = engine.Simulator(pendulum(), dt=1e-3, controller=lambda t, q, v, push: push - 0.1 * v, parameters={"push": [0.0]})
    engine.export_code(simulator, folder / "swings.c", part="loop")
    (folder / "main.c").write_text(MAIN)
    flags = ["gcc", *FLAGS, "-O1", *FMA, "-ffp-contract=off", "swings.c", "main.c", "-lm"]
    run([*flags, "-DLOOP_NOW=fake_now", "-DLOOP_WAIT=fake_wait", "-o", "fake"], folder)
    run([*flags, "-o", "true"], folder)
    return simulator, folder


def went(folder, program, *each):
    words = run([f"./{program}", *each], folder).split()
    return [*map(int, words[:3]), *map(float, words[3:6]), *map(int, words[6:8])], np.array([float.fromhex(w) for w in words[8:]])


def flown(simulator, steps):
    state = simulator.start(simulator.model.initial(), np.zeros(simulator.model.nv))
    for k in range(steps):
        state = simulator.step(state, parameters={"push": [0.25 * (k % 4)]})
    return state


def test_the_bits_of_the_simulator_and_nothing_from_the_heap(turning):
    simulator, folder = turning
    (status, steps, *_, ended, _), x = went(folder, "fake", 99, 0, 1, 0, 0)
    assert (status, steps, ended) == (0, 100, 1)
    state = flown(simulator, 100)
    assert (x[:2] == [*state.q, *state.v]).all()
    run(["gcc", "-c", "-O1", *FMA, "swings.c", "-o", "swings.o"], folder)
    wanted = run(["nm", "-u", "swings.o"], folder)
    assert not {"malloc", "calloc", "realloc"} & {*wanted.split()}


def test_a_hundred_thousand_steps_are_those_of_a_run(turning):
    """To the last bit, a hundred seconds of swinging."""
    simulator, folder = turning
    steps = 100_000
    (status, done, *_), x = went(folder, "fake", steps - 1, 0, 1, 0, 0, 0.0, 1)
    run = simulator.run(simulator.model.initial(), np.zeros(1), steps * simulator.dt, record_every=steps, parameters={"push": [0.5]})
    assert (status, done) == (0, steps)
    assert np.ptp(simulator.run(simulator.model.initial(), np.zeros(1), 10.0, parameters={"push": [0.5]}).q) > 0.1
    assert x[:2].tobytes() == np.array([run.q[-1, 0], run.v[-1, 0]]).tobytes()


def test_late_steps_are_counted_and_caught_up_with(turning):
    """A stall of 4.5 ms: four steps follow at once; a microsecond late are all that wait."""
    _, folder = turning
    (status, steps, missed, worst, late, slipped, _, now), _ = went(folder, "fake", 49, 0, 0, 0, 4_500_000)
    assert (status, steps, slipped, missed) == (0, 50, 0.0, 4)
    assert worst == pytest.approx(3.501e-3)
    assert now == 49_000_000 + 1000
    assert late == pytest.approx((3.501 + 2.501 + 1.501 + 0.501) * 1e-3 + 45e-6)


def test_or_all_that_comes_slips(turning):
    _, folder = turning
    (status, steps, missed, worst, _, slipped, _, now), _ = went(folder, "fake", 49, 1, 0, 0, 4_500_000)
    assert (status, steps, missed) == (0, 50, 1)
    assert slipped == worst == pytest.approx(3.501e-3)
    assert now == pytest.approx(49_000_000 + 3_501_000 + 1000, abs=1000)


def test_its_clock_does_not_drift(turning):
    """Due times are of k, not sums: a day in 10^8 steps is met to the nanosecond, by the formula; a million by the loop."""
    _, folder = turning
    period = 1e9 * 0.864e-3
    assert int(period * 1e8 + 0.5) == 86_400 * 10**9
    (_, steps, missed, *_, now), _ = went(folder, "fake", 10**6, 0, 0, 0, 0)
    assert (steps, missed, now) == (10**6 + 1, 0, 10**12 + 1000)


def test_a_day_in_a_hundred_million_steps(turning):
    """All of them, by a clock that waiting moves: the last begins where the day ends, to the nanosecond, and none is late."""
    _, folder = turning
    words = run(["./fake", 10**8, 0, 0, 0, 0, 0.864e-3], folder, 600.0).split()
    assert [*map(int, [*words[:3], words[7]])] == [0, 10**8 + 1, 0, 86_400 * 10**9 + 1000]
    assert float(words[3]) == pytest.approx(1e-6)                              # of waking up


def test_the_systems_clock(turning):
    """It is not ahead of it; SCHED_FIFO is asked for, and gone on without."""
    import time

    _, folder = turning
    begun = time.monotonic()
    (status, steps, _, worst, *_), x = went(folder, "true", 99, 0, 0, 10, 0)
    assert time.monotonic() - begun > 0.098
    assert (status, steps) == (0, 100)
    assert 0.0 <= worst < 10.0
    assert np.isfinite(x).all()


BAD = """#include "swings.h"
#include <math.h>
#include <stdio.h>
int main(void)
{
    for (int c = 0; c < 7; ++c) {
        double p[] = SWINGS_INITIAL_P, x[] = SWINGS_INITIAL_X;
        swings_options o = {0};
        swings_report r;
        o.steps = c == 0 ? -5 : 20;
        o.free_running = 1;
        o.period = c == 1 ? -1.0 : c == 2 ? (double)NAN : c == 3 ? (double)INFINITY : 0.0;
        x[0] = c == 4 ? (double)NAN : x[0];
        const int status = swings_loop(c == 5 ? 0 : &o, p, x, c == 6 ? 0 : &r);
        printf("%d,%d ", status, c == 6 ? -1 : (int)r.steps);
    }
    return 0;
}
"""


def test_options_that_cannot_be(turning):
    """Steps below zero, periods that are none, a state that is not finite, no options; and no report, without which it goes, too."""
    _, folder = turning
    (folder / "bad.c").write_text(BAD)
    checked = ["-fsanitize=address,undefined", "-fno-sanitize-recover"]
    run(["gcc", *FLAGS, "-O1", *checked, "-ffp-contract=off", "swings.c", "bad.c", "-o", "bad", "-lm"], folder)
    assert run(["./bad"], folder).split() == [*["-1,0"] * 4, "1,0", "-1,0", "0,-1"]


ON = """#include "held.h"
#include <stdio.h>
static double first_t;
static int before(void *user, int64_t k, double t, const double *x, double *p)
{
    (void)x, (void)p;
    if (*(int64_t *)user == k)
        first_t = t;
    return 0;
}
int main(void)
{
    double x[] = HELD_INITIAL_X;
    int64_t told = 255;
    held_options o = {.free_running = 1, .before = before, .user = &told};
    held_report r;
    for (int part = 0; part < 2; ++part) {
        o.steps = part ? 245 : 255;
        if (held_loop(&o, 0, x, &r) || r.steps != o.steps)
            return 1;
        o.first += FORGETS ? 0 : r.steps;
    }
    printf("%.17g", first_t);
    for (size_t c = 0; c < sizeof x / sizeof *x; ++c)
        printf(" %a", x[c]);
    o.first = -1;
    return held_loop(&o, 0, x, &r) == -1 ? 0 : 1;
}
"""


def test_a_loop_goes_on_where_one_has_ended(tmp_path):
    """255 steps and 245 are the bits of 500, of a law of the time that is asked every ten steps; of one that forgets they are not."""
    needed("gcc")
    law = engine.Law(lambda t, q, v, memory: (np.sin(3 * t) - 0.1 * v + memory, memory - 0.01 * q), memory=np.zeros(1), period=0.01)
    simulator = engine.Simulator(pendulum(), dt=1e-3, controller=law)
    engine.export_code(simulator, tmp_path / "held.c", part="loop")
    (tmp_path / "on.c").write_text(ON)
    whole = simulator.run(simulator.model.initial(), np.zeros(1), 0.5)
    expected = np.array([whole.q[-1, 0], whole.v[-1, 0]])
    for forgets in (0, 1):
        run(["gcc", *FLAGS, "-O1", *FMA, "-ffp-contract=off", f"-DFORGETS={forgets}", "held.c", "on.c", "-o", "on", "-lm"], tmp_path)
        t, *x = run(["./on"], tmp_path).split()
        assert (np.array([float.fromhex(w) for w in x[:2]]) == expected).all() == (not forgets)
        assert float(t) == (0.0 if forgets else 0.255)


POLICY = """#define _GNU_SOURCE
#include "swings.h"
#include <sched.h>
#include <stdio.h>
/* a system of its own, which lets a thread have what it asks for, and memory not always */
static int policy = SCHED_RR, priority = 7, locks, within;
int own_get(pid_t p) { (void)p; return policy; }
int own_param(pid_t p, struct sched_param *s) { (void)p; s->sched_priority = priority; return 0; }
int own_set(pid_t p, int to, const struct sched_param *s) { (void)p; policy = to; priority = s->sched_priority; return 0; }
int own_lock(int flags) { (void)flags; return locks ? 0 : -1; }
static int after(void *user, int64_t k, double t, const double *x, const double *p)
{
    (void)user, (void)t, (void)x, (void)p;
    within = policy == SCHED_FIFO && priority == 12;
    return k == 3;
}
int main(void)
{
    for (int c = 0; c < 4; ++c) {
        double p[] = SWINGS_INITIAL_P, x[] = SWINGS_INITIAL_X;
        swings_options o = {.steps = c == 1 ? 2 : 9, .free_running = 1, .priority = c == 3 ? 0 : 12, .after = after};
        swings_report r;
        locks = c != 2;
        within = 0;
        x[0] = c == 1 ? 1e300 * 1e10 : x[0];
        const int status = swings_loop(&o, p, x, &r);
        printf("%d,%d,%d,%d,%d ", status, r.scheduled, within, policy == SCHED_RR, priority);
    }
    return 0;
}
"""


def test_the_policy_of_before_is_there_again(turning):
    """After a callback's end, a step that fails, and memory that may not be locked; a loop without a priority has none of its own."""
    _, folder = turning
    (folder / "policy.c").write_text(POLICY)
    own = [f"-Dsched_{n}=own_{m}" for n, m in (("getscheduler", "get"), ("getparam", "param"), ("setscheduler", "set"))]
    run(["gcc", *FLAGS, "-O1", "-ffp-contract=off", *own, "-Dmlockall=own_lock", "swings.c", "policy.c", "-o", "policy", "-lm"], folder)
    assert run(["./policy"], folder).split() == ["0,1,1,1,7", "1,1,0,1,7", "0,0,1,1,7", "0,0,0,1,7"]


def test_what_is_no_loop(tmp_path, turning):
    simulator, _ = turning
    with pytest.raises(engine.ExportError, match=r"a loop is written as C, and 'x.so' ends in '.so'; expected '.c'"):
        engine.export_code(simulator, tmp_path / "x.so", part="loop")
    with pytest.raises(engine.ExportError, match=r"part is 'lop' \(did you mean 'loop'\?\); expected one of step, controller, loop"):
        engine.export_code(simulator, tmp_path / "x.c", part="lop")
    with pytest.raises(engine.ExportError, match="has events, which interrupt runs from outside"):
        engine.export_code(engine.Simulator(pendulum(), events=[lambda t, q, v: q[0]]), tmp_path / "x.c", part="loop")


def test_its_own_self_test_still_runs(turning):
    _, folder = turning
    run(["gcc", *FLAGS, *FMA, "-ffp-contract=off", "swings.c", "swings_test.c", "-o", "selftest", "-lm"], folder)
    assert subprocess.run(["./selftest"], cwd=folder, capture_output=True, text=True, check=True).stdout.startswith("ok: swings")
