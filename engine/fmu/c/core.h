/* An instance of the simulator behind FMI's functions: what both versions of FMI do in the same way.
 *
 * model.h, which is written for each FMU, has its tables and the simulator's own functions:
 *   do_step(t0, k, p, x, x_next)        the state after the k-th step from t0, and notes of its impulses
 *   do_observe(t0, k, p, x, y)          the outputs, of the state with the notes of the step from there
 *   do_prepare(t, p, x, x_next)         momenta and the like, of the q and v in x
 *   do_begin(p, x, x_next)              states of components at the start, of the q and v in x
 *   do_open(t, p, x, bad)               whether constraints that move are open at the start
 *   do_apart(q, p, good)                whether shapes lie apart at the start
 *   do_field, do_look(t, p, xc, ...)     of model exchange, the derivatives of the continuous states and the outputs
 *   do_push, do_pull                     of model exchange, their derivatives along a direction, and those of a weighted sum
 */
#ifndef CORE_H
#define CORE_H

#include "model.h"

#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(_WIN32)
#define EXPORT __declspec(dllexport)
#elif defined(__GNUC__)
#define EXPORT __attribute__((visibility("default")))
#else
#define EXPORT
#endif

/* a prefix of all names, for static libraries: -DFMI2_FUNCTION_PREFIX=arm_ */
#define PASTE2(a, b) a##b
#define PASTE(a, b) PASTE2(a, b)

typedef enum { OK, WARNING, DISCARD, ERROR, FATAL } Status;
typedef uint32_t Reference;

/* where an instance is; each is a bit */
enum { INSTANTIATED = 1, INITIALIZING = 2, STEPPING = 4, EVENT = 8, CONTINUOUS = 16, TERMINATED = 32, ANY = 63 };

typedef struct {                                 /* all that a rollback restores */
    uint64_t key, sum;                           /* of the FMU, and of how it goes: others are refused; of bytes that are written */
    int64_t mode, begun, stale, stops, elsewhere; /* whether x is known; momenta are of other masses; stop counts; the start is another */
    double t0, k, t, stop;
    double p[NP + 1], start[NSTART + 1], x[NX + 1], xc[NXC + 1];
} State;

typedef struct {
    State s;
    int exchange, seen;
    double y[NY + 1], dxc[NXC + 1], a[NX + NOTES + 1], b[NX + NOTES + 1], work[WORK + 1];
    char name[128], text[512];
    void *environment, *log;                     /* of the face */
} Instance;

/* the face's own: hands a text to the importer */
void told(Instance *i, Status status);

Status say(Instance *i, Status status, const char *format, ...);
Instance *made(const char *name, int exchange, void *environment, void *log);
int accepted(Instance *i, const char *token);
Status allowed(Instance *i, const char *function, int modes);
void reset(Instance *i);
Status experiment(Instance *i, double t, int stops, double stop);
Status initialized(Instance *i);
Status get(Instance *i, const char *function, const Reference r[], size_t n, double out[], size_t size);
Status set(Instance *i, const char *function, const Reference r[], size_t n, const double in[], size_t size);
Status step_to(Instance *i, double t, double h, double *reached);
Status time_to(Instance *i, double t);
Status states_to(Instance *i, const double x[], size_t n);
Status states_of(Instance *i, double x[], size_t n);
Status derivatives_of(Instance *i, double dx[], size_t n);
Status derive(Instance *i, const Reference u[], size_t nu, const Reference k[], size_t nk, const double seed[], size_t ns,
              double out[], size_t no, int adjoint);
Status state_get(Instance *i, void **state);
Status state_set(Instance *i, const void *state);
Status state_written(Instance *i, const void *state, void *bytes, size_t n);
Status state_read(Instance *i, const void *bytes, size_t n, void **state);
Status none(Instance *i, const char *function, size_t n);

#endif
