"""A simulator's step in C with a loop around it that keeps pace with a clock: for hardware in the loop, and for flight software."""

from __future__ import annotations

from engine.code.exported import Exported
from engine.code.memory import with_tables
from engine.code.texts import STACK, comment
from engine.code.translate import decimal

#: what stands in the header, in front of its end: NAME is the function's, PERIOD its step in s
HEADER = """
#include <stdint.h>

/* What a loop is asked for, all zero but for the callbacks by default.
 *   steps : how many; 0: until a callback ends it
 *   period : of the clock, s; 0: the step itself, PERIOD s, which is real time
 *   free_running : whether it goes as fast as it can, without a clock
 *   slip : what a step that is late by more than a period does: 0, the next ones follow at once until they have caught up; 1, all later
 *       ones are late too, and "slipped" says by how much
 *   priority : of SCHED_FIFO, from 1 to 99, with all memory locked; 0: as it is. Where that is not allowed it goes on without. At its end
 *       the thread has the policy that it had before; memory stays locked, as it may have been before: munlockall() lets it go
 *   before : called at the beginning of step k at t, s, with the state: sets parameters, from sensors or commands
 *   after : called with the state after it, at t + PERIOD s: hands it to actuators or the wire
 *       Both may be 0. They end the loop by returning what is not 0.
 *   first : number of the first step, k, which begins at t = k PERIOD s: 0 where x is at its beginning. A loop that goes on with the x of
 *       one that has ended must be given how many steps that has behind it, its own first and the report's steps; else what happens
 *       every so often, held commands and all that reads the time begin anew
 */
typedef struct {
    int64_t steps;
    double period;
    int free_running, slip, priority;
    int (*before)(void *user, int64_t k, double t, const double *x, double *p);
    int (*after)(void *user, int64_t k, double t, const double *x, const double *p);
    void *user;
    int64_t first;
} NAME_options;

/* What came of it: steps that were taken; how many ended after the next was due; the worst and the sum of what steps began too late, s; by
 * how much later steps are late for good, s; whether SCHED_FIFO and locked memory were had; what a callback ended it with */
typedef struct {
    int64_t steps, missed;
    double worst, late, slipped;
    int scheduled, ended;
} NAME_report;

/* Step x with parameters p, in pace; report may be 0. It returns 0, -1 for options that cannot be (none; steps below zero; a first one
 * below zero or beyond 2^53; a period below zero, beyond 1e6 s or not a number), or what a step returns that fails, such as 1 where the
 * state would not be finite any more: x is then the last that is. It allocates nothing. Another clock, for processors without POSIX:
 * -DLOOP_NOW=f -DLOOP_WAIT=g, of int64_t f(void), ns, and void g(int64_t), which waits until then. */
int NAME_loop(const NAME_options *options, double *p, double *x, NAME_report *reportLENT);
"""

SOURCE = """
/* ---------------------------------------------------------------- the loop */

#include <string.h>

#ifndef LOOP_NOW
#include <errno.h>
#include <time.h>
#if defined(__linux__)
#include <sched.h>
#include <sys/mman.h>
#endif
static int64_t loop_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void loop_wait(int64_t until)
{
    struct timespec t;
    t.tv_sec = (time_t)(until / 1000000000);
    t.tv_nsec = (long)(until % 1000000000);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, 0) == EINTR)
        ;
}
#define LOOP_NOW loop_now
#define LOOP_WAIT loop_wait
#else
int64_t LOOP_NOW(void);
void LOOP_WAIT(int64_t until);
#endif

/* the policy that a thread has, and whether another is in its place */
typedef struct {
    int policy, priority, other;
} loop_policy;

static int loop_scheduled(int priority, loop_policy *before)
{
#if defined(__linux__) && defined(SCHED_FIFO) && defined(MCL_CURRENT)
    struct sched_param s;
    memset(&s, 0, sizeof s);
    before->policy = sched_getscheduler(0);
    if (before->policy < 0 || sched_getparam(0, &s) != 0)
        return 0;
    before->priority = s.sched_priority;
    s.sched_priority = priority;
    before->other = sched_setscheduler(0, SCHED_FIFO, &s) == 0;
    return before->other && mlockall(MCL_CURRENT | MCL_FUTURE) == 0;
#else
    (void)priority, (void)before;
    return 0;
#endif
}

static void loop_restored(const loop_policy *before)
{
#if defined(__linux__) && defined(SCHED_FIFO) && defined(MCL_CURRENT)
    struct sched_param s;
    memset(&s, 0, sizeof s);
    s.sched_priority = before->priority;
    if (before->other)
        (void)!sched_setscheduler(0, before->policy, &s);
#else
    (void)before;
#endif
}

static int loop_steps(const NAME_options *options, double *p, double *x, NAME_report *reportLENT)
{
    double next[NX + 1];ROOM
    const double period = 1e9 * (options->period > 0.0 ? options->period : PERIOD);
    int64_t begun = LOOP_NOW();
    for (int64_t n = 0; !options->steps || n < options->steps; ++n) {
        const int64_t k = options->first + n;
        const int64_t due = begun + (int64_t)(period * (double)n + 0.5);       /* of n, so that no error adds up */
        if (!options->free_running) {
            int64_t now = LOOP_NOW();
            if (now < due) {
                LOOP_WAIT(due);
                now = LOOP_NOW();
            }
            const double late = now > due ? 1e-9 * (double)(now - due) : 0.0;
            report->late += late;
            if (late > report->worst)
                report->worst = late;
            if (options->slip && 1e9 * late > period) {
                begun += now - due;
                report->slipped += late;
            }
        }
        if (options->before && (report->ended = options->before(options->user, k, PERIOD * (double)k, x, p)) != 0)
            return 0;
        const int status = NAME(STEP);
        if (status)
            return status;
        memcpy(x, next, sizeof(double) * NX);
        report->steps = n + 1;
        if (options->after && (report->ended = options->after(options->user, k, PERIOD * (double)(k + 1), x, p)) != 0)
            return 0;
        if (!options->free_running && LOOP_NOW() > begun + (int64_t)(period * (double)(n + 1) + 0.5))
            ++report->missed;
    }
    return 0;
}

int NAME_loop(const NAME_options *options, double *p, double *x, NAME_report *reportLENT)
{
    loop_policy before = {0, 0, 0};
    NAME_report own;
    report = report ? report : &own;
    memset(report, 0, sizeof *report);
    if (!options || options->steps < 0 || options->first < 0 || options->first > (int64_t)1 << 53
        || !(options->period >= 0.0 && options->period <= 1e6))
        return -1;
    if (options->priority > 0)
        report->scheduled = loop_scheduled(options->priority, &before);
    const int status = loop_steps(options, p, x, reportPASSED);
    loop_restored(&before);
    return status;
}
"""
#: what the clocks of POSIX are asked for by, in front of all that is included
FIRST = "#if !defined(_GNU_SOURCE)\n#define _GNU_SOURCE\n#endif\n"
ABOUT = ("NAME_loop steps in pace with a clock, and calls back before and after each step.",)


def looped(e: Exported, source: str, header: str, work: int) -> tuple[str, str]:
    """Return the source and the header of a step with a loop around it."""
    n, p = e.parameters[-1].size, next((v for v in e.parameters if v.name == "p"), None)
    tabled = with_tables(e.program)
    step = ["(double)k", *(["p"] if p else []), "x", "next", *["work"] * (work > STACK), *["memory", "memory_size"] * tabled]
    lent = ", double *memory, size_t memory_size" * tabled
    dt = next(v.bound for v in e.given if v.name == "dt" and v.bound is not None)
    filled = {"PERIOD": decimal(dt), "ROOM": f"\n    double work[{work}];" * (work > STACK),
              "STEP": ", ".join(step), "LENT": lent, "PASSED": ", memory, memory_size" * tabled, "NX": str(n), "NAME": e.name}  # fmt: skip

    def made(text: str) -> str:
        for word, x in filled.items():
            text = text.replace(word, str(x))
        return text

    silent = "" if p else "\n    (void)p;"
    body = made(SOURCE.replace("    int64_t begun = LOOP_NOW();", f"    int64_t begun = LOOP_NOW();{silent}"))
    at = header.rindex("#ifdef __cplusplus\n}")
    return FIRST + source + body, f"{comment(made(ABOUT[0]))}\n{header[:at]}{made(HEADER)}\n{header[at:]}"
