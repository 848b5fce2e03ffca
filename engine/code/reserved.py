"""Reserved names in C: words of C and C++, and what generated code and the C library have as theirs."""

from __future__ import annotations

import re

from engine.code.vectors import FUNCTIONS, TYPE

#: functions of <math.h>, which are there for float and long double, too, and of <complex.h>, which compilers know without it
MATH = """
    acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh drem erf erfc exp exp10 exp2 expm1 fabs fdim finite floor fma
    fmax fmin fmod frexp gamma hypot ilogb isinf isnan j0 j1 jn ldexp lgamma llrint llround log log10 log1p log2 logb lrint lround modf
    nan nearbyint nextafter nexttoward pow pow10 remainder remquo rint round roundeven scalb scalbln scalbn signbit significand sin
    sincos sinh sqrt tan tanh tgamma trunc y0 y1 yn
"""
COMPLEX = """
    abs acos acosh arg asin asinh atan atanh cos cosh exp imag log pow proj real sin sinh sqrt tan tanh onj
"""
#: words of C and C++, and what generated code, <math.h> and <stdint.h> call theirs
WORDS = """
    APART FP_NAN HUGE_VAL INFINITY NAN NULL SOFT_FMA WIDE alignas alignof and and_eq angles_of arena asm atomic_cancel auto bad bitand
    bitor bits_in bits_of bool break case catch char char16_t char32_t char8_t class co_await co_return co_yield compl concept const
    const_cast consteval constexpr constinit continue decltype default delete do double dynamic_cast else enum errno exp_of explicit
    export extern false float for fpclassify friend goto high if inline int isfinite isgreater isless isnormal isunordered linux log_of
    long lowest_bit main math_errhandling mutable namespace negated new noexcept not not_eq nullptr number_of once operator or or_eq pair
    private protected ptrdiff_t public put_whole register reinterpret_cast requires restrict return short signed signgam sincos_near
    sincos_of size_t sizeof soft_fma static static_assert static_cast struct stumpff_far stumpff_of sum switch table_array table_failed
    table_given table_keep table_of table_own table_put table_result table_row table_sum table_taken tanh_of template this thread_local
    throw true try turn typedef typeid typename typeof typeof_unqual union unix unsigned using virtual void volatile wchar_t while whole
    whole_at work xor xor_eq
"""
#: functions of the C library and of systems, which compilers know, or which a linker may put in place of one's own
LIBRARY = """
    a64l abort abs access alarm aligned_alloc alloca arc4random arc4random_buf arc4random_uniform at_quick_exit atexit atof atoi atol
    atoll bcmp bcopy be16toh be32toh be64toh bsearch bzero calloc clearenv clearerr clearerr_unlocked clock close connect ctermid
    dcgettext dgettext div dprintf drand48 drand48_r dup ecvt ecvt_r erand48 erand48_r execl execv exit explicit_bzero fclose fcvt
    fcvt_r fd_mask fd_set fdopen feof feof_unlocked ferror ferror_unlocked fflush fflush_unlocked ffs ffsl ffsll fgetc fgetc_unlocked
    fgetpos fgets fileno fileno_unlocked flockfile fmemopen fopen fork fprintf fputc fputc_unlocked fputs fputs_unlocked fread
    fread_unlocked free freopen fscanf fseek fseeko fsetpos ftell ftello ftrylockfile funlockfile fwrite fwrite_unlocked gcvt getc
    getc_unlocked getchar getchar_unlocked getdelim getenv getline getloadavg gets getsubopt gettext getw htobe16 htobe32 htobe64
    htole16 htole32 htole64 imaxabs index initstate initstate_r iswalpha jrand48 jrand48_r kill l64a labs lcong48 lcong48_r ldiv le16toh
    le32toh le64toh lgamma_r lgammaf_r lgammal_r link listen llabs lldiv longjmp lrand48 lrand48_r malloc mblen mbstowcs mbtowc memccpy
    memchr memcmp memcpy memmove mempcpy memset mkdtemp mkstemp mkstemps mktemp mktime mrand48 mrand48_r nice nrand48 nrand48_r on_exit
    open open_memstream pause pclose perror pipe poll popen posix_memalign printf printf_unlocked pselect putc putc_unlocked putchar
    putchar_unlocked putenv puts putw qecvt qecvt_r qfcvt qfcvt_r qgcvt qsort quick_exit raise rand rand_r random random_r read realloc
    reallocarray realpath remove rename renameat rewind rindex rpmatch scanf seed48 seed48_r select send setbuf setbuffer setenv setjmp
    setlinebuf setstate setstate_r setvbuf signal sleep snprintf socket sprintf srand srand48 srand48_r srandom srandom_r sscanf stat
    stderr stdin stdout stpcpy stpncpy strcasecmp strcasecmp_l strcat strchr strcmp strcoll strcoll_l strcpy strcspn strdup strerror
    strerror_l strerror_r strfmon strlen strncasecmp strncasecmp_l strncat strncmp strncpy strndup strnlen strpbrk strrchr strsep
    strsignal strspn strstr strtod strtof strtok strtok_r strtol strtold strtoll strtoq strtoul strtoull strtouq strxfrm strxfrm_l
    system tempnam time times tmpfile tmpnam tmpnam_r toascii truncate typeof u_char u_int u_long u_short uint ulong ungetc unlink
    unsetenv ushort va_list valloc vdprintf vfprintf vfscanf vprintf vscanf vsnprintf vsprintf vsscanf wait wcstombs wctomb write
"""
#: macros of its headers, besides those that begin as others do
MACROS = """
    BIG_ENDIAN BUFSIZ BYTE_ORDER EOF FILE LITTLE_ENDIAN NFDBITS PDP_ENDIAN P_tmpdir WCONTINUED WEXITED WEXITSTATUS WIFCONTINUED
    WIFEXITED WIFSIGNALED WIFSTOPPED WNOHANG WNOWAIT WSTOPPED WSTOPSIG WTERMSIG WUNTRACED
"""
BEGINNINGS = (
    "_", "M_", "FP_", "EXIT_", "RAND_", "FLT_", "DBL_", "LDBL_", "SIZE_", "PTRDIFF_", "SIG_", "WCHAR_", "WINT_", "FD_",
    "SEEK_", "L_", "TMP_", "MB_", "MATH_", "HUGE_", "FOPEN_", "FILENAME_", "DECIMAL_",
)
#: names in self-tests
TESTS = "RESULTS SAMPLES apart expected found given made made_rows memory ordered results rows wrong"

#: what no argument may be called either
RESERVED = {*FUNCTIONS, *TYPE.values(), *WORDS.split(), *MACROS.split()} | {
    f"{name}{end}" for name in MATH.split() for end in ("", "f", "l")}
TAKEN = RESERVED | {f"c{name}{end}" for name in COMPLEX.split() for end in ("", "f", "l")} | {*LIBRARY.split(), *TESTS.split()}


def is_taken(name: str) -> bool:
    """Return whether a function of that name would be another's; whatever ends in _t is a type.

    >>> [is_taken(name) for name in ("cbrt", "sqrtf", "INT8_MAX", "size_t", "while", "torques", "INTEGRAL")]
    [True, True, True, True, True, False, False]
    """
    return name in TAKEN or name.startswith(BEGINNINGS) or re.fullmatch(r"\w+_t|U?INT(\d|MAX|PTR|_)\w*", name) is not None
