/* What a library for Windows would have of MinGW's own C library, of which a first link compiles hundreds of files: all else is Windows'. */
#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stddef.h>

int _fltused = 1;                                /* of objects with floating point */

int __stdcall DllMainCRTStartup(void *library, unsigned long reason, void *reserved)
{
    (void)library, (void)reason, (void)reserved;
    return 1;                                    /* nothing waits to be begun */
}

/* of Windows; option 2: as C99 has it, cut and ended, and the length that it would have */
int __cdecl __stdio_common_vsprintf(unsigned long long options, char *text, size_t size, const char *format, void *locale, va_list a);

int __cdecl vsnprintf(char *text, size_t size, const char *format, va_list a)
{
    return __stdio_common_vsprintf(2, text, size, format, NULL, a);
}

int __cdecl snprintf(char *text, size_t size, const char *format, ...)
{
    va_list a;
    va_start(a, format);
    const int n = vsnprintf(text, size, format, a);
    va_end(a);
    return n;
}

int __cdecl __isnan(double x) { return x != x; }
int __cdecl __signbit(double x) { return __builtin_signbit(x); }

int __cdecl __fpclassify(double x)
{
    if (x != x)
        return FP_NAN;
    if (x - x != 0.0)
        return FP_INFINITE;
    if (x == 0.0)
        return FP_ZERO;
    return fabs(x) < DBL_MIN ? FP_SUBNORMAL : FP_NORMAL;
}
