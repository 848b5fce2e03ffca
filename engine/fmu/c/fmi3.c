/* The functions of FMI 3.0, by its standard, over core.c. */
#include "core.h"

#include <stdbool.h>

#ifdef FMI3_FUNCTION_PREFIX
#define FMI(name) PASTE(FMI3_FUNCTION_PREFIX, fmi3##name)
#else
#define FMI(name) fmi3##name
#endif
#define VERSION "fmi3"
#include "both.h"

typedef void (*Log)(void *environment, Status status, const char *category, const char *message);

/* a pointer to a function as one to data, which standard C has no cast for */
typedef union {
    void *data;
    Log log;
} Pointer;

void told(Instance *i, Status status)
{
    Pointer p;
    p.data = i->log;
    if (p.data)
        p.log(i->environment, status, "logStatusError", i->text);
}

EXPORT const char *FMI(GetVersion)(void) { return "3.0"; }

static void *instance(const char *name, const char *token, int exchange, void *environment, Log log)
{
    Pointer p = {NULL};
    p.log = log;
    Instance *const i = made(name, exchange, environment, p.data);
    if (i && !accepted(i, token)) {
        free(i);
        return NULL;
    }
    return i;
}

EXPORT void *FMI(InstantiateModelExchange)(const char *name, const char *token, const char *resources, bool visible, bool logging,
                                           void *environment, Log log)
{
    (void)resources, (void)visible, (void)logging;
    return instance(name, token, 1, environment, log);
}

EXPORT void *FMI(InstantiateCoSimulation)(const char *name, const char *token, const char *resources, bool visible, bool logging,
                                          bool events, bool early, const Reference between[], size_t n, void *environment, Log log,
                                          void (*update)(void))
{
    (void)resources, (void)visible, (void)logging, (void)events, (void)early, (void)between, (void)n, (void)update;
    return instance(name, token, 0, environment, log);
}

EXPORT void *FMI(InstantiateScheduledExecution)(const char *name, const char *token, const char *resources, bool visible, bool logging,
                                                void *environment, Log log, void (*clock)(void), void (*lock)(void), void (*unlock)(void))
{
    (void)name, (void)token, (void)resources, (void)visible, (void)logging, (void)clock, (void)lock, (void)unlock;
    if (log)
        log(environment, ERROR, "logStatusError", "this FMU has no scheduled execution; expected co-simulation");
    return NULL;
}

EXPORT Status FMI(SetDebugLogging)(void *i, bool on, size_t n, const char *const categories[])
{
    WITHIN(SetDebugLogging, ANY);
    (void)on, (void)n, (void)categories;
    return OK;
}

EXPORT Status FMI(EnterInitializationMode)(void *i, bool tolerant, double tolerance, double t, bool stops, double stop)
{
    WITHIN(EnterInitializationMode, INSTANTIATED);
    (void)tolerant, (void)tolerance;
    const Status status = experiment(ME(i), t, stops, stop);
    if (status == OK)
        ME(i)->s.mode = INITIALIZING;
    return status;
}

/* ---------------------------------------------------------------- values */

EXPORT Status FMI(GetFloat64)(void *i, const Reference r[], size_t n, double x[], size_t size)
{
    WITHIN(GetFloat64, ANY);
    return get(ME(i), "fmi3GetFloat64", r, n, x, size);
}

EXPORT Status FMI(SetFloat64)(void *i, const Reference r[], size_t n, const double x[], size_t size)
{
    WITHIN(SetFloat64, ANY);
    return set(ME(i), "fmi3SetFloat64", r, n, x, size);
}

#define OTHER(Type, type)                                                                                                               \
    EXPORT Status FMI(Get##Type)(void *i, const Reference r[], size_t n, type x[], size_t size)                                         \
    {                                                                                                                                   \
        (void)r, (void)x, (void)size;                                                                                                   \
        return none(ME(i), "fmi3Get" #Type, n);                                                                                         \
    }                                                                                                                                   \
    EXPORT Status FMI(Set##Type)(void *i, const Reference r[], size_t n, const type x[], size_t size)                                   \
    {                                                                                                                                   \
        (void)r, (void)x, (void)size;                                                                                                   \
        return none(ME(i), "fmi3Set" #Type, n);                                                                                         \
    }
typedef const char *Text;
OTHER(Float32, float)
OTHER(Int8, int8_t)
OTHER(UInt8, uint8_t)
OTHER(Int16, int16_t)
OTHER(UInt16, uint16_t)
OTHER(Int32, int32_t)
OTHER(UInt32, uint32_t)
OTHER(Int64, int64_t)
OTHER(UInt64, uint64_t)
OTHER(Boolean, bool)
OTHER(String, Text)

typedef const uint8_t *Binary;

EXPORT Status FMI(GetBinary)(void *i, const Reference r[], size_t n, size_t sizes[], Binary x[], size_t size)
{
    (void)r, (void)sizes, (void)x, (void)size;
    return none(ME(i), "fmi3GetBinary", n);
}

EXPORT Status FMI(SetBinary)(void *i, const Reference r[], size_t n, const size_t sizes[], const Binary x[], size_t size)
{
    (void)r, (void)sizes, (void)x, (void)size;
    return none(ME(i), "fmi3SetBinary", n);
}

EXPORT Status FMI(GetClock)(void *i, const Reference r[], size_t n, bool x[])
{
    (void)r, (void)x;
    return none(ME(i), "fmi3GetClock", n);
}

EXPORT Status FMI(SetClock)(void *i, const Reference r[], size_t n, const bool x[])
{
    (void)r, (void)x;
    return none(ME(i), "fmi3SetClock", n);
}

EXPORT Status FMI(GetDirectionalDerivative)(void *i, const Reference u[], size_t nu, const Reference k[], size_t nk, const double seed[],
                                            size_t ns, double out[], size_t no)
{
    WITHIN(GetDirectionalDerivative, ANY & ~INSTANTIATED);
    return derive(ME(i), u, nu, k, nk, seed, ns, out, no, 0);
}

EXPORT Status FMI(GetAdjointDerivative)(void *i, const Reference u[], size_t nu, const Reference k[], size_t nk, const double seed[],
                                        size_t ns, double out[], size_t no)
{
    WITHIN(GetAdjointDerivative, ANY & ~INSTANTIATED);
    return derive(ME(i), u, nu, k, nk, seed, ns, out, no, 1);
}

/* ---------------------------------------------------------------- states that are saved */

EXPORT Status FMI(GetFMUState)(void *i, void **state)
{
    WITHIN(GetFMUState, ANY);
    return state_get(ME(i), state);
}

EXPORT Status FMI(SetFMUState)(void *i, void *state)
{
    WITHIN(SetFMUState, ANY);
    return state_set(ME(i), state);
}

EXPORT Status FMI(FreeFMUState)(void *i, void **state)
{
    (void)i;
    if (state) {
        free(*state);
        *state = NULL;
    }
    return OK;
}

EXPORT Status FMI(SerializedFMUStateSize)(void *i, void *state, size_t *n)
{
    WITHIN(SerializedFMUStateSize, ANY);
    (void)state;
    *n = sizeof(State);
    return OK;
}

EXPORT Status FMI(SerializeFMUState)(void *i, void *state, uint8_t bytes[], size_t n)
{
    WITHIN(SerializeFMUState, ANY);
    return state_written(ME(i), state, bytes, n);
}

EXPORT Status FMI(DeserializeFMUState)(void *i, const uint8_t bytes[], size_t n, void **state)
{
    WITHIN(DeserializeFMUState, ANY);
    return state_read(ME(i), bytes, n, state);
}

/* ---------------------------------------------------------------- model exchange */

EXPORT Status FMI(EvaluateDiscreteStates)(void *i)
{
    WITHIN(EvaluateDiscreteStates, INITIALIZING | EVENT);
    return OK;
}

EXPORT Status FMI(UpdateDiscreteStates)(void *i, bool *again, bool *terminate, bool *nominals, bool *states, bool *defined, double *next)
{
    WITHIN(UpdateDiscreteStates, EVENT);
    *again = *terminate = *nominals = *states = *defined = false;
    *next = 0.0;
    return OK;
}

EXPORT Status FMI(CompletedIntegratorStep)(void *i, bool no_rollback, bool *event, bool *terminate)
{
    WITHIN(CompletedIntegratorStep, CONTINUOUS);
    (void)no_rollback;
    *event = *terminate = false;
    return OK;
}

EXPORT Status FMI(GetContinuousStateDerivatives)(void *i, double dx[], size_t n)
{
    WITHIN(GetContinuousStateDerivatives, INITIALIZING | EVENT | CONTINUOUS | TERMINATED);
    return derivatives_of(ME(i), dx, n);
}

EXPORT Status FMI(GetNumberOfEventIndicators)(void *i, size_t *n)
{
    WITHIN(GetNumberOfEventIndicators, ANY);
    *n = 0;
    return OK;
}

EXPORT Status FMI(GetNumberOfContinuousStates)(void *i, size_t *n)
{
    WITHIN(GetNumberOfContinuousStates, ANY);
    *n = ME(i)->exchange ? NXC : 0;
    return OK;
}

/* ---------------------------------------------------------------- co-simulation */

EXPORT Status FMI(EnterStepMode)(void *i)
{
    WITHIN(EnterStepMode, ANY);
    return say(ME(i), ERROR, "fmi3EnterStepMode: expected no such call, as co-simulation of this FMU has no event mode to come from");
}

EXPORT Status FMI(GetOutputDerivatives)(void *i, const Reference r[], size_t n, const int32_t order[], double x[], size_t size)
{
    WITHIN(GetOutputDerivatives, ANY);
    (void)r, (void)order, (void)x, (void)size;
    return n ? say(ME(i), ERROR, "derivatives of outputs are asked for; expected none: this FMU has none") : OK;
}

EXPORT Status FMI(DoStep)(void *i, double t, double h, bool no_rollback, bool *event, bool *terminate, bool *early, double *reached)
{
    WITHIN(DoStep, STEPPING);
    (void)no_rollback;
    *event = *terminate = *early = false;
    return step_to(ME(i), t, h, reached);
}

/* ---------------------------------------------------------------- what these FMUs have not: structure, clocks, partitions */

static Status without(void *i, const char *function)
{
    return i ? say(ME(i), ERROR, "%s: this FMU has no structural parameters, clocks or partitions; expected no such call", function) : ERROR;
}

#define WITHOUT(name, ...) EXPORT Status FMI(name)(void *i, __VA_ARGS__)
EXPORT Status FMI(EnterConfigurationMode)(void *i) { return without(i, "fmi3EnterConfigurationMode"); }
EXPORT Status FMI(ExitConfigurationMode)(void *i) { return without(i, "fmi3ExitConfigurationMode"); }
WITHOUT(GetNumberOfVariableDependencies, Reference r, size_t *n) { (void)r, (void)n; return without(i, "fmi3GetNumberOfVariableDependencies"); }
WITHOUT(GetVariableDependencies, Reference r, size_t a[], Reference b[], size_t c[], int d[], size_t n)
{
    (void)r, (void)a, (void)b, (void)c, (void)d, (void)n;
    return without(i, "fmi3GetVariableDependencies");
}
WITHOUT(GetIntervalDecimal, const Reference r[], size_t n, double x[], int q[])
{
    (void)r, (void)x, (void)q;
    return n ? without(i, "fmi3GetIntervalDecimal") : OK;
}
WITHOUT(GetIntervalFraction, const Reference r[], size_t n, uint64_t a[], uint64_t b[], int q[])
{
    (void)r, (void)a, (void)b, (void)q;
    return n ? without(i, "fmi3GetIntervalFraction") : OK;
}
WITHOUT(GetShiftDecimal, const Reference r[], size_t n, double x[]) { (void)r, (void)x; return n ? without(i, "fmi3GetShiftDecimal") : OK; }
WITHOUT(GetShiftFraction, const Reference r[], size_t n, uint64_t a[], uint64_t b[])
{
    (void)r, (void)a, (void)b;
    return n ? without(i, "fmi3GetShiftFraction") : OK;
}
WITHOUT(SetIntervalDecimal, const Reference r[], size_t n, const double x[])
{
    (void)r, (void)x;
    return n ? without(i, "fmi3SetIntervalDecimal") : OK;
}
WITHOUT(SetIntervalFraction, const Reference r[], size_t n, const uint64_t a[], const uint64_t b[])
{
    (void)r, (void)a, (void)b;
    return n ? without(i, "fmi3SetIntervalFraction") : OK;
}
WITHOUT(SetShiftDecimal, const Reference r[], size_t n, const double x[]) { (void)r, (void)x; return n ? without(i, "fmi3SetShiftDecimal") : OK; }
WITHOUT(SetShiftFraction, const Reference r[], size_t n, const uint64_t a[], const uint64_t b[])
{
    (void)r, (void)a, (void)b;
    return n ? without(i, "fmi3SetShiftFraction") : OK;
}
WITHOUT(ActivateModelPartition, Reference r, double t) { (void)r, (void)t; return without(i, "fmi3ActivateModelPartition"); }
