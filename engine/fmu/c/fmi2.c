/* The functions of FMI 2.0, by its standard, over core.c. */
#include "core.h"

#ifdef FMI2_FUNCTION_PREFIX
#define FMI(name) PASTE(FMI2_FUNCTION_PREFIX, fmi2##name)
#else
#define FMI(name) fmi2##name
#endif
#define VERSION "fmi2"
#include "both.h"

typedef struct {                                 /* the standard's fmi2CallbackFunctions */
    void (*logger)(void *environment, const char *instance, Status status, const char *category, const char *message, ...);
    void *(*allocate)(size_t, size_t);
    void (*release)(void *);
    void (*finished)(void *environment, Status status);
    void *environment;
} Callbacks;

typedef struct {                                 /* fmi2EventInfo */
    int again, terminate, nominals_changed, states_changed, next_defined;
    double next;
} EventInfo;

void told(Instance *i, Status status)
{
    const Callbacks *const f = i->log;
    char text[2 * sizeof i->text], *end = text;
    for (const char *c = i->text; *c; *end++ = *c++)                           /* a format of its own, for loggers that take no more */
        if (*c == '%')
            *end++ = '%';
    *end = 0;
    if (f && f->logger)
        f->logger(f->environment, i->name, status, "logStatusError", text);
}

EXPORT const char *FMI(GetTypesPlatform)(void) { return "default"; }
EXPORT const char *FMI(GetVersion)(void) { return "2.0"; }

EXPORT void *FMI(Instantiate)(const char *name, int type, const char *token, const char *resources, const void *callbacks, int visible,
                              int logging)
{
    Instance *const i = made(name, type == 0, NULL, (void *)callbacks);
    (void)resources, (void)visible, (void)logging;
    if (i && !accepted(i, token)) {
        free(i);
        return NULL;
    }
    return i;
}

EXPORT Status FMI(SetDebugLogging)(void *i, int on, size_t n, const char *const categories[])
{
    WITHIN(SetDebugLogging, ANY);
    (void)on, (void)n, (void)categories;
    return OK;
}

EXPORT Status FMI(SetupExperiment)(void *i, int tolerant, double tolerance, double t, int stops, double stop)
{
    WITHIN(SetupExperiment, INSTANTIATED);
    (void)tolerant, (void)tolerance;
    return experiment(ME(i), t, stops, stop);
}

EXPORT Status FMI(EnterInitializationMode)(void *i)
{
    WITHIN(EnterInitializationMode, INSTANTIATED);
    ME(i)->s.mode = INITIALIZING;
    return OK;
}

/* ---------------------------------------------------------------- values */

EXPORT Status FMI(GetReal)(void *i, const Reference r[], size_t n, double x[])
{
    WITHIN(GetReal, ANY);
    return get(ME(i), "fmi2GetReal", r, n, x, n);
}

EXPORT Status FMI(SetReal)(void *i, const Reference r[], size_t n, const double x[])
{
    WITHIN(SetReal, ANY);
    return set(ME(i), "fmi2SetReal", r, n, x, n);
}

#define OTHER(Type, type)                                                                                                               \
    EXPORT Status FMI(Get##Type)(void *i, const Reference r[], size_t n, type x[])                                                      \
    {                                                                                                                                   \
        (void)r, (void)x;                                                                                                               \
        return none(ME(i), "fmi2Get" #Type, n);                                                                                         \
    }                                                                                                                                   \
    EXPORT Status FMI(Set##Type)(void *i, const Reference r[], size_t n, const type x[])                                                \
    {                                                                                                                                   \
        (void)r, (void)x;                                                                                                               \
        return none(ME(i), "fmi2Set" #Type, n);                                                                                         \
    }
typedef const char *Text;
OTHER(Integer, int)
OTHER(Boolean, int)
OTHER(String, Text)

EXPORT Status FMI(GetDirectionalDerivative)(void *i, const Reference u[], size_t nu, const Reference k[], size_t nk, const double seed[],
                                            double out[])
{
    WITHIN(GetDirectionalDerivative, ANY & ~INSTANTIATED);
    return derive(ME(i), u, nu, k, nk, seed, nk, out, nu, 0);
}

/* ---------------------------------------------------------------- states that are saved */

EXPORT Status FMI(GetFMUstate)(void *i, void **state)
{
    WITHIN(GetFMUstate, ANY);
    return state_get(ME(i), state);
}

EXPORT Status FMI(SetFMUstate)(void *i, void *state)
{
    WITHIN(SetFMUstate, ANY);
    return state_set(ME(i), state);
}

EXPORT Status FMI(FreeFMUstate)(void *i, void **state)
{
    (void)i;
    if (state) {
        free(*state);
        *state = NULL;
    }
    return OK;
}

EXPORT Status FMI(SerializedFMUstateSize)(void *i, void *state, size_t *n)
{
    WITHIN(SerializedFMUstateSize, ANY);
    (void)state;
    *n = sizeof(State);
    return OK;
}

EXPORT Status FMI(SerializeFMUstate)(void *i, void *state, char bytes[], size_t n)
{
    WITHIN(SerializeFMUstate, ANY);
    return state_written(ME(i), state, bytes, n);
}

EXPORT Status FMI(DeSerializeFMUstate)(void *i, const char bytes[], size_t n, void **state)
{
    WITHIN(DeSerializeFMUstate, ANY);
    return state_read(ME(i), bytes, n, state);
}

/* ---------------------------------------------------------------- model exchange */

EXPORT Status FMI(NewDiscreteStates)(void *i, EventInfo *info)
{
    WITHIN(NewDiscreteStates, EVENT);
    memset(info, 0, sizeof *info);
    return OK;
}

EXPORT Status FMI(CompletedIntegratorStep)(void *i, int no_rollback, int *event, int *terminate)
{
    WITHIN(CompletedIntegratorStep, CONTINUOUS);
    (void)no_rollback;
    *event = *terminate = 0;
    return OK;
}

EXPORT Status FMI(GetDerivatives)(void *i, double dx[], size_t n)
{
    WITHIN(GetDerivatives, INITIALIZING | EVENT | CONTINUOUS | TERMINATED);
    return derivatives_of(ME(i), dx, n);
}

/* ---------------------------------------------------------------- co-simulation */

EXPORT Status FMI(SetRealInputDerivatives)(void *i, const Reference r[], size_t n, const int order[], const double x[])
{
    WITHIN(SetRealInputDerivatives, ANY);
    (void)r, (void)order, (void)x;
    return n ? say(ME(i), ERROR, "derivatives of inputs are given; expected none: inputs are held over a communication step") : OK;
}

EXPORT Status FMI(GetRealOutputDerivatives)(void *i, const Reference r[], size_t n, const int order[], double x[])
{
    WITHIN(GetRealOutputDerivatives, ANY);
    (void)r, (void)order, (void)x;
    return n ? say(ME(i), ERROR, "derivatives of outputs are asked for; expected none: this FMU has none") : OK;
}

EXPORT Status FMI(DoStep)(void *i, double t, double h, int no_rollback)
{
    double reached;
    WITHIN(DoStep, STEPPING);
    (void)no_rollback;
    return step_to(ME(i), t, h, &reached);
}

EXPORT Status FMI(CancelStep)(void *i)
{
    WITHIN(CancelStep, ANY);
    return say(ME(i), ERROR, "a step is cancelled; expected none that is under way: they end before they return");
}

EXPORT Status FMI(GetStatus)(void *i, int kind, Status *status)
{
    WITHIN(GetStatus, ANY);
    (void)kind, (void)status;
    return DISCARD;
}

EXPORT Status FMI(GetRealStatus)(void *i, int kind, double *x)
{
    WITHIN(GetRealStatus, ANY);
    *x = ME(i)->s.t;
    return kind == 2 ? OK : DISCARD;                                           /* fmi2LastSuccessfulTime */
}

EXPORT Status FMI(GetIntegerStatus)(void *i, int kind, int *x)
{
    WITHIN(GetIntegerStatus, ANY);
    (void)kind, (void)x;
    return DISCARD;
}

EXPORT Status FMI(GetBooleanStatus)(void *i, int kind, int *x)
{
    WITHIN(GetBooleanStatus, ANY);
    *x = 0;
    return kind == 3 ? OK : DISCARD;                                           /* fmi2Terminated */
}

EXPORT Status FMI(GetStringStatus)(void *i, int kind, const char **x)
{
    WITHIN(GetStringStatus, ANY);
    (void)kind, (void)x;
    return DISCARD;
}
