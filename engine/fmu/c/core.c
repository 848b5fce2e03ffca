/* What both versions of FMI do in the same way: modes, values, steps, states that are saved. See core.h. */
#include "core.h"

#if defined(__x86_64__) && defined(FUSED)        /* by zig's clang, which has no __builtin_cpu_supports of its own */
#include <cpuid.h>
#endif

#define ROOM "the step at t = %.9g s needs memory for more than %d rows of contacts; expected an FMU that was exported with a larger room"

static const Variable variables[NVARIABLES + 1] = VARIABLES;
static const char *const names[NVARIABLES + 1] = NAMES;

Status say(Instance *i, Status status, const char *format, ...)
{
    va_list a;
    va_start(a, format);
    vsnprintf(i->text, sizeof i->text, format, a);
    va_end(a);
    told(i, status);
    return status;
}

/* whether the processor has what the binary was made for: AVX2, FMA, and a system that saves their registers */
static int fast_enough(void)
{
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#elif defined(__x86_64__) && defined(FUSED)
    unsigned a, b, c, d, low, high;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & 1u << 12) || !(c & 1u << 27))
        return 0;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(b & 1u << 5))
        return 0;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (low & 6) == 6;
#else
    return 1;
#endif
}

Instance *made(const char *name, int exchange, void *environment, void *log)
{
    Instance *i = calloc(1, sizeof *i);
    if (i) {
        snprintf(i->name, sizeof i->name, "%s", name ? name : "");
        i->exchange = exchange;
        i->environment = environment;
        i->log = log;
        reset(i);
    }
    return i;
}

int accepted(Instance *i, const char *token)
{
    if (!token || strcmp(token, TOKEN))
        say(i, ERROR, "the token is '%.60s'; expected '%s', that of the model description", token ? token : "", TOKEN);
    else if (i->exchange && !NXC)
        say(i, ERROR, "this FMU has no model exchange; expected co-simulation");
    else if (!fast_enough())
        say(i, ERROR, "this processor has no AVX2 and FMA; expected one of x86-64-v3, or a binary built from the FMU's sources for it");
    else
        return 1;
    return 0;
}

static void modes_in_words(int modes, char *text, size_t size)
{
    static const char *const words[] = {"instantiated", "initialization mode", "step mode", "event mode", "continuous-time mode", "terminated"};
    size_t n = 0;
    text[0] = 0;
    for (int m = 0; m < 6; ++m)
        if (modes & 1 << m && n < size)
            n += (size_t)snprintf(text + n, size - n, "%s'%s'", n ? " or " : "", words[m]);
}

/* whether a function may be called now */
Status allowed(Instance *i, const char *function, int modes)
{
    char now[64], expected[200];
    if (!i)
        return ERROR;
    if (i->s.mode & modes)
        return OK;
    modes_in_words((int)i->s.mode, now, sizeof now);
    modes_in_words(modes, expected, sizeof expected);
    return say(i, ERROR, "%s is called where the FMU is in %s; expected in %s", function, now, expected);
}

/* the first bit is that of model exchange, whose states are of another kind */
static uint64_t own_key(const Instance *i) { return KEY | (uint64_t)(i->exchange != 0) << 63; }

void reset(Instance *i)
{
    static const double p[NP + 1] = P_FIRST, start[NSTART + 1] = START_FIRST;
    memset(&i->s, 0, sizeof i->s);
    i->s.key = own_key(i);
    i->s.mode = INSTANTIATED;
    memcpy(i->s.p, p, sizeof p);
    memcpy(i->s.start, start, sizeof start);
    i->seen = 0;
}

Status experiment(Instance *i, double t, int stops, double stop)
{
    if (!isfinite(t) || (stops && !(stop >= t)))
        return say(i, ERROR, "the experiment goes from %.12g s to %.12g s; expected finite times in their order", t, stops ? stop : t);
    if (fabs(t) * DBL_EPSILON > 1e-3 * DT)
        return say(i, ERROR, "the experiment starts at %.15g s, where times are %.3g s apart; expected a start within %.3g s of zero, where "
                   "steps of %.6g s differ", t, nextafter(fabs(t), INFINITY) - fabs(t), 1e-3 * DT / DBL_EPSILON, (double)DT);
    i->s.t0 = i->s.t = t;
    i->s.stops = stops;
    i->s.stop = stop;
    i->s.begun = i->seen = 0;
    return OK;
}

/* the whole state where nothing has moved yet, of start, whose quaternions are made unit ones */
static Status begin(Instance *i)
{
    static const double x[NX + 1] = X_FIRST;
    static const int quaternions[NQUATERNIONS + 1] = QUATERNIONS, times[NTIMES + 1] = TIMES;
    memcpy(i->a, x, sizeof x);
    memcpy(i->a, i->s.start, sizeof(double) * NSTART);
    for (int j = 0; j < NTIMES; ++j)
        i->a[times[j]] += i->s.t0;
    for (int j = 0; j < NQUATERNIONS; ++j) {
        double *const u = i->a + quaternions[j];
        const double square = u[0] * u[0] + u[1] * u[1] + u[2] * u[2] + u[3] * u[3];
        if (!(fabs(square - 1.0) < 0.04))
            return say(i, ERROR, "start.q[%d...] is the quaternion %.4g %.4g %.4g %.4g of length %.4g; expected a unit one, scalar first",
                       quaternions[j] + 1, u[0], u[1], u[2], u[3], sqrt(square));
        if (fabs(square - 1.0) > 1e-15)                                        /* else as it stands */
            for (int c = 0; c < 4; ++c)
                u[c] *= 1.0 / sqrt(square);
    }
#if HAS_APART
    double good[1];
    do_apart(i->a, i->s.p, good WORKED);
    if (good[0] == 0.0)
        return say(i, ERROR, "shapes lie deep in each other at start.q; expected shapes that touch at most");
#endif
#if HAS_OPEN
    double open[1];
    do_open(i->s.t0, i->s.p, i->a, open WORKED);
    if (open[0] != 0.0)
        return say(i, ERROR, "constraints that move are not closed at the start, t = %.9g s; expected the start time and the parameters that "
                   "the FMU was exported with", i->s.t0);
#endif
#if HAS_BEGIN
    if (i->s.elsewhere) {                                                      /* else as a run has it, to the bit */
        if (do_begin(i->s.p, i->a, i->s.x WORKED))
            return say(i, ERROR, "the state at the start is not finite; expected start values and parameters of a motion");
        memcpy(i->a, i->s.x, sizeof i->s.x);
    }
#endif
#if HAS_PREPARE
    if (do_prepare(i->s.t0, i->s.p, i->a, i->s.x WORKED))
        return say(i, ERROR, "the state at the start is not finite; expected start values and parameters of a motion");
#else
    memcpy(i->s.x, i->a, sizeof i->s.x);
#endif
    memcpy(i->s.xc, i->s.x, sizeof(double) * NXC);
    i->s.begun = 1;
    i->s.stale = i->seen = 0;
    return OK;
}

/* x with the momenta of the masses that are there now, as Simulator.step has it */
static void renewed(Instance *i)
{
#if HAS_PREPARE
    if (i->s.stale && do_prepare(i->s.t, i->s.p, i->s.x, i->a WORKED) == 0)
        memcpy(i->s.x + STATES_FIRST, i->a + STATES_FIRST, sizeof(double) * STATES);
#endif
    i->s.stale = 0;
}

/* y, and of model exchange dxc, of now */
static Status known(Instance *i)
{
    if (!i->s.begun) {
        const Status status = begin(i);
        if (status != OK)
            return status;
    }
    if (i->seen)
        return OK;
    int bad;
#if NXC
    if (i->exchange) {
        bad = do_field(i->s.t, i->s.p, i->s.xc, i->dxc WORKED);
#if NY
        bad |= do_look(i->s.t, i->s.p, i->s.xc, i->y WORKED);
#endif
    } else
#endif
    {
        renewed(i);
        bad = 0;
#if NOTES
        bad = do_step(i->s.t0, i->s.k, i->s.p, i->s.x, i->b WORKED);            /* the step from here, of which impulses are noted */
        memcpy(i->a + NX, i->b + NX, sizeof(double) * NOTES);
#endif
#if HAS_OBSERVE
        memcpy(i->a, i->s.x, sizeof(double) * NX);
        if (!bad)
            bad = do_observe(i->s.t0, i->s.k, i->s.p, i->a, i->y WORKED);
#endif
    }
    i->seen = !bad;
    if (bad == NO_ROOM)
        return say(i, DISCARD, ROOM, i->s.t, ROWS);
    return bad ? say(i, DISCARD, "outputs are not finite at t = %.9g s; expected inputs and states of a motion", i->s.t) : OK;
}

Status initialized(Instance *i)
{
    const Status status = begin(i);
    if (status == OK)
        i->s.mode = i->exchange ? EVENT : STEPPING;
    return status;
}

Status get(Instance *i, const char *function, const Reference r[], size_t n, double out[], size_t size)
{
    size_t at = 0;
    if (n && allowed(i, function, ANY & ~INSTANTIATED) != OK)
        return ERROR;
    for (size_t j = 0; j < n; ++j) {
        if (r[j] >= NVARIABLES)
            return say(i, ERROR, "%s: the value reference %u; expected one below %d", function, (unsigned)r[j], NVARIABLES);
        const Variable v = variables[r[j]];
        if (at + v.n > size)
            return say(i, ERROR, "%s: room for %lu values; expected as many as the variables have", function, (unsigned long)size);
        if (v.kind == X || v.kind == Y || v.kind == DX) {
            const Status status = v.kind != X ? known(i) : i->s.begun ? OK : begin(i);
            if (status != OK)
                return status;
        }
        const double *const from = v.kind == TIME ? &i->s.t : v.kind == P ? i->s.p : v.kind == START ? i->s.start
                                   : v.kind == X ? (i->exchange ? i->s.xc : i->s.x) : v.kind == Y ? i->y : i->dxc;
        memcpy(out + at, from + v.at, sizeof(double) * v.n);
        at += v.n;
    }
    return at == size ? OK : say(i, ERROR, "%s: room for %lu values; expected %lu", function, (unsigned long)size, (unsigned long)at);
}

static Status settable(Instance *i, const char *function, Reference r, const Variable *v, const double x[])
{
    const char *const name = names[r];
    if (v->kind != P && v->kind != START)
        return say(i, ERROR, "%s: '%.120s' is no input, parameter or start value; expected one", function, name);
    if (v->kind == START && !(i->s.mode & (INSTANTIATED | INITIALIZING)))
        return say(i, ERROR, "%s: '%.120s' is a start value; expected it in initialization mode or before", function, name);
    if (v->flags & FIRST && !(i->s.mode & (INSTANTIATED | INITIALIZING)))
        return say(i, ERROR, "%s: '%.120s' is a parameter by which a component begins; expected it in initialization mode or before",
                   function, name);
    if (!(v->flags & INPUT) && i->s.mode == CONTINUOUS)
        return say(i, ERROR, "%s: '%.120s' is a parameter; expected it in event mode", function, name);
    for (size_t c = 0; c < v->n; ++c) {
        if (!isfinite(x[c]))
            return say(i, ERROR, "%s: '%.120s' is set to %g; expected finite numbers", function, name, x[c]);
        if (x[c] < v->least || x[c] > v->most || (v->flags & ABOVE && x[c] == v->least)) {
            char to[40] = "";
            if (isfinite(v->most))
                snprintf(to, sizeof to, " to %.9g", v->most);
            return say(i, ERROR, "%s: '%.120s' is set to %.9g; expected a number %s %.9g%s", function, name, x[c],
                       v->flags & ABOVE ? "above" : "from", v->least, to);
        }
        if (v->flags & WHOLE && !(x[c] >= 0.0 && x[c] < 9007199254740992.0 && x[c] == floor(x[c])))
            return say(i, ERROR, "%s: '%.120s' is set to %.17g; expected a whole number from 0, below 2^53", function,
                       name, x[c]);
    }
    return OK;
}

/* all values, or none of them */
Status set(Instance *i, const char *function, const Reference r[], size_t n, const double in[], size_t size)
{
    size_t at = 0;
    if (n && allowed(i, function, ANY & ~TERMINATED) != OK)
        return ERROR;
    for (size_t j = 0; j < n; ++j) {
        if (r[j] >= NVARIABLES)
            return say(i, ERROR, "%s: the value reference %u; expected one below %d", function, (unsigned)r[j], NVARIABLES);
        const Variable *const v = &variables[r[j]];
        if (at + v->n > size)
            return say(i, ERROR, "%s: %lu values; expected as many as the variables have", function, (unsigned long)size);
        if (settable(i, function, r[j], v, in + at) != OK)
            return ERROR;
        at += v->n;
    }
    if (at != size)
        return say(i, ERROR, "%s: %lu values; expected %lu", function, (unsigned long)size, (unsigned long)at);
    at = 0;
    for (size_t j = 0; j < n; ++j) {
        const Variable v = variables[r[j]];
        memcpy((v.kind == P ? i->s.p : i->s.start) + v.at, in + at, sizeof(double) * v.n);
        i->s.stale |= v.flags & OWN;
        i->s.elsewhere |= v.kind == START || v.flags & (OWN | FIRST);
        at += v.n;
    }
    if (i->s.mode & (INSTANTIATED | INITIALIZING))
        i->s.begun = 0;
    i->seen = 0;
    return OK;
}

Status step_to(Instance *i, double t, double h, double *reached)
{
    const double n = round(h / DT), now = i->s.t0 + i->s.k * DT, end = i->s.t0 + (i->s.k + n) * DT;
    /* a master that adds up times has lost half a bit of them in each step */
    const double lost = i->s.k * 0.5 * DBL_EPSILON * fmax(fabs(i->s.t0), fabs(now));
    *reached = now;
    if (!(fabs(t - now) <= 1e-3 * DT + fmin(lost, 0.25 * DT)))
        return say(i, ERROR, "the communication point is %.15g s; expected %.15g s, where the last step ended%s, in steps (now of %.12g s) that "
                   "are multiples of the FMU's own of %.17g s", t, now, t < now ? ", or a state that was saved there" : "", h, (double)DT);
    if (!(n >= 1.0) || !(fabs(n * DT - h) <= 1e-3 * DT) || !(i->s.k + n < 9007199254740992.0))
        return say(i, ERROR, "the communication step is %.12g s; expected a multiple of the FMU's own step of %.17g s", h, (double)DT);
    if (i->s.stops && end > i->s.stop + 1e-3 * DT)
        return say(i, ERROR, "a step to %.12g s, beyond the stop time of %.12g s; expected one to %.12g s at most", end, i->s.stop,
                   i->s.t0 + floor((i->s.stop - i->s.t0) / DT + 1e-3) * DT);
    renewed(i);
#if HAS_STEP
    const double *x = i->s.x;
    double *next = i->b;
    for (double k = 0.0; k < n; ++k) {
        int bad = do_step(i->s.t0, i->s.k + k, i->s.p, x, next WORKED);
        if (bad == NO_ROOM)
            return say(i, DISCARD, ROOM, i->s.t0 + (i->s.k + k) * DT, ROWS);   /* nothing has changed */
        for (int c = 0; c < NPLACES; ++c)
            bad |= !(fabs(next[c]) <= AWAY);
        if (bad)
            return say(i, DISCARD, "the state is not finite any more at t = %.9g s; expected a motion, and a shorter step, or other inputs",
                       i->s.t0 + (i->s.k + k + 1.0) * DT);                     /* nothing has changed */
        x = next;
        next = x == i->a ? i->b : i->a;
    }
    memcpy(i->s.x, x, sizeof(double) * NX);
#endif
    i->s.k += n;
    *reached = i->s.t = end;
    i->seen = 0;
    return OK;
}

/* ---------------------------------------------------------------- model exchange */

Status time_to(Instance *i, double t)
{
    if (!isfinite(t))
        return say(i, ERROR, "the time is %g; expected a finite one, s", t);
    i->s.t = t;
    i->seen = 0;
    return OK;
}

Status states_to(Instance *i, const double x[], size_t n)
{
    if (n != NXC)
        return say(i, ERROR, "%lu continuous states; expected %d", (unsigned long)n, NXC);
    for (size_t c = 0; c < n; ++c)
        if (!isfinite(x[c]))
            return say(i, DISCARD, "continuous state %lu is %g; expected finite numbers", (unsigned long)c, x[c]);
    memcpy(i->s.xc, x, sizeof(double) * n);
    i->seen = 0;
    return OK;
}

Status states_of(Instance *i, double x[], size_t n)
{
    if (n != NXC)
        return say(i, ERROR, "room for %lu continuous states; expected %d", (unsigned long)n, NXC);
    if (n && !i->s.begun && begin(i) != OK)
        return ERROR;
    memcpy(x, i->s.xc, sizeof(double) * n);
    return OK;
}

Status derivatives_of(Instance *i, double dx[], size_t n)
{
    if (n != NXC)
        return say(i, ERROR, "room for %lu derivatives; expected %d", (unsigned long)n, NXC);
    const Status status = n ? known(i) : OK;
    if (status == OK)
        memcpy(dx, i->dxc, sizeof(double) * n);
    return status;
}

#if NXC
/* where a variable lies in [p; xc], and in [dxc; y; xc]; -1: nowhere */
static long known_at(const Variable *v)
{
    return v->kind == P ? (long)v->at : v->kind == X ? NP + (long)v->at : -1;
}

static long unknown_at(const Variable *v)
{
    return v->kind == DX ? (long)v->at : v->kind == Y ? NXC + (long)v->at : v->kind == X ? NXC + NY + (long)v->at : -1;
}

/* numbers of variables to or from their places; which: whether the places are those of unknowns */
static Status placed(Instance *i, const Reference r[], size_t n, int unknowns, double *places, double *out, const double *in, size_t size)
{
    size_t total = 0, at = 0;
    for (size_t j = 0; j < n; ++j) {
        const Variable *const v = r[j] < NVARIABLES ? &variables[r[j]] : NULL;
        if (!v || (unknowns ? unknown_at(v) : known_at(v)) < 0)
            return say(i, ERROR, "a derivative %s '%.120s' (value reference %u); expected %s", unknowns ? "of" : "by",
                       v ? names[r[j]] : "?", (unsigned)r[j],
                       unknowns ? "an output or a derivative of a state" : "an input, a parameter or a continuous state");
        total += v->n;
    }
    if (total != size)
        return say(i, ERROR, "%lu numbers of derivatives; expected %lu, as many as the variables have", (unsigned long)size,
                   (unsigned long)total);
    for (size_t j = 0; j < n; ++j) {
        const Variable *const v = &variables[r[j]];
        double *const own = places + (unknowns ? unknown_at(v) : known_at(v));
        for (size_t c = 0; c < v->n; ++c, ++at) {
            if (in)
                own[c] += in[at];
            else
                out[at] = own[c];
        }
    }
    return OK;
}
#endif

/* out = (d unknowns / d knowns) seed, or the same transposed */
Status derive(Instance *i, const Reference u[], size_t nu, const Reference k[], size_t nk, const double seed[], size_t ns,
              double out[], size_t no, int adjoint)
{
#if NXC
    if (!i->exchange)
        return say(i, ERROR, "derivatives are asked for in co-simulation; expected model exchange");
    if (!i->s.begun && begin(i) != OK)
        return ERROR;
    double knowns[NP + NXC + 1] = {0.0}, unknowns[NXC + NY + NXC + 1] = {0.0};
    if (placed(i, adjoint ? u : k, adjoint ? nu : nk, adjoint, adjoint ? unknowns : knowns, NULL, seed, ns) != OK)
        return ERROR;
    int bad = 0;
    if (adjoint) {
#if HAS_PULL
        double px[NP + NXC + 1];
        memcpy(px, i->s.p, sizeof(double) * NP);
        memcpy(px + NP, i->s.xc, sizeof(double) * NXC);
        bad = do_pull(i->s.t, px, unknowns, knowns WORKED);
#endif
    } else
        bad = do_push(i->s.t, i->s.p, i->s.xc, knowns, knowns + NP, unknowns WORKED);
    if (bad)
        return say(i, DISCARD, "derivatives are not finite at t = %.9g s; expected a state that has some", i->s.t);
    return placed(i, adjoint ? k : u, adjoint ? nk : nu, !adjoint, adjoint ? knowns : unknowns, out, NULL, no);
#else
    (void)u, (void)nu, (void)k, (void)nk, (void)seed, (void)ns, (void)out, (void)no, (void)adjoint;
    return say(i, ERROR, "this FMU has no derivatives; expected one with model exchange");
#endif
}

/* ---------------------------------------------------------------- states that are saved */

Status state_get(Instance *i, void **state)
{
    if (!state || (!*state && !(*state = malloc(sizeof(State)))))
        return say(i, ERROR, "there is no memory for a state; expected %lu bytes", (unsigned long)sizeof(State));
    memcpy(*state, &i->s, sizeof(State));
    return OK;
}

Status state_set(Instance *i, const void *state)
{
    if (!state || ((const State *)state)->key != own_key(i))
        return say(i, ERROR, "what is to be the state is none of this FMU; expected one that it has given");
    memcpy(&i->s, state, sizeof(State));
    i->seen = 0;
    return OK;
}

/* of the bytes of a state, whose own sum counts as none: FNV-1a, which another value of any byte changes */
static uint64_t sum_of(State s)
{
    const unsigned char *const bytes = (const unsigned char *)&s;
    uint64_t sum = 14695981039346656037ull;
    s.sum = 0;
    for (size_t c = 0; c < sizeof s; ++c)
        sum = (sum ^ bytes[c]) * 1099511628211ull;
    return sum;
}

Status state_written(Instance *i, const void *state, void *bytes, size_t n)
{
    State s;
    if (!state || n < sizeof s)
        return say(i, ERROR, "room for %lu bytes of a state; expected %lu", (unsigned long)n, (unsigned long)sizeof s);
    memcpy(&s, state, sizeof s);
    s.sum = sum_of(s);
    memcpy(bytes, &s, sizeof s);
    return OK;
}

Status state_read(Instance *i, const void *bytes, size_t n, void **state)
{
    State s;
    if (!bytes || n != sizeof s)
        return say(i, ERROR, "%lu bytes of a state; expected %lu", (unsigned long)n, (unsigned long)sizeof s);
    memcpy(&s, bytes, sizeof s);
    if (s.key != own_key(i) || s.sum != sum_of(s))
        return say(i, ERROR, "the bytes are no state of this FMU; expected those that it has written");
    if (!state || (!*state && !(*state = malloc(sizeof s))))
        return say(i, ERROR, "there is no memory for a state; expected %lu bytes", (unsigned long)sizeof s);
    memcpy(*state, &s, sizeof s);
    return OK;
}

/* of what no FMU of these has: n variables of another type */
Status none(Instance *i, const char *function, size_t n)
{
    if (!i)
        return ERROR;
    return n ? say(i, ERROR, "%s: this FMU has 64-bit floating point variables alone; expected none of another type", function) : OK;
}
