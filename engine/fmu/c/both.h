/* The functions that FMI 2.0 and 3.0 have alike, over core.c: each face includes them, with its FMI(name) and its VERSION, "fmi2" or "fmi3". */
#ifndef BOTH_H
#define BOTH_H

#include "core.h"

#define ME(i) ((Instance *)(i))
/* what goes no further where a function may not be called now */
#define WITHIN(name, modes) do { if (allowed(ME(i), VERSION #name, modes) != OK) return ERROR; } while (0)

EXPORT void FMI(FreeInstance)(void *i) { free(i); }

EXPORT Status FMI(ExitInitializationMode)(void *i)
{
    WITHIN(ExitInitializationMode, INITIALIZING);
    return initialized(ME(i));
}

EXPORT Status FMI(Terminate)(void *i)
{
    WITHIN(Terminate, STEPPING | EVENT | CONTINUOUS);
    ME(i)->s.mode = TERMINATED;
    return OK;
}

EXPORT Status FMI(Reset)(void *i)
{
    WITHIN(Reset, ANY);
    reset(ME(i));
    return OK;
}

EXPORT Status FMI(EnterEventMode)(void *i)
{
    WITHIN(EnterEventMode, EVENT | CONTINUOUS);
    ME(i)->s.mode = EVENT;
    return OK;
}

EXPORT Status FMI(EnterContinuousTimeMode)(void *i)
{
    WITHIN(EnterContinuousTimeMode, EVENT);
    ME(i)->s.mode = CONTINUOUS;
    return OK;
}

EXPORT Status FMI(SetTime)(void *i, double t)
{
    WITHIN(SetTime, EVENT | CONTINUOUS);
    return time_to(ME(i), t);
}

EXPORT Status FMI(SetContinuousStates)(void *i, const double x[], size_t n)
{
    WITHIN(SetContinuousStates, CONTINUOUS);
    return states_to(ME(i), x, n);
}

EXPORT Status FMI(GetEventIndicators)(void *i, double x[], size_t n)
{
    WITHIN(GetEventIndicators, ANY & ~INSTANTIATED);
    (void)x;
    return n ? say(ME(i), ERROR, "%lu event indicators; expected none", (unsigned long)n) : OK;
}

EXPORT Status FMI(GetContinuousStates)(void *i, double x[], size_t n)
{
    WITHIN(GetContinuousStates, INITIALIZING | EVENT | CONTINUOUS | TERMINATED);
    return states_of(ME(i), x, n);
}

EXPORT Status FMI(GetNominalsOfContinuousStates)(void *i, double x[], size_t n)
{
    WITHIN(GetNominalsOfContinuousStates, ANY);
    while (n)
        x[--n] = 1.0;
    return OK;
}

#endif
