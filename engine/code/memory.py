"""Memory of tables in C: an arena in memory that the caller lends, and how much of it a program needs.

A table is a number, where in this memory its descriptor stands: how many rows there are, and where they begin, which is behind it or, of
what is given or known beforehand, elsewhere. What a row or a pass of a loop took is free again at the next.
"""

from __future__ import annotations

import functools

from engine.compiler.graph.program import Program

#: what a function with tables returns where it could not do its work: no room; a number that is none of a row; different numbers of rows
NO_ROOM, NO_ROW, DIFFERENT = 2, 3, 4
#: doubles of a descriptor, two words
DESCRIPTOR = 2
#: functions in C that take or give tables have this parameter
PARAMETER, ARGUMENT = "struct arena *restrict arena", "arena"

#: name in C -> what it needs, and its text
NEEDS: dict[str, tuple[str, ...]] = {"arena": (), "table_failed": ("arena",), "table_of": ("arena",), "table_put": ("arena",)}
TEXTS = {
    "arena": """/* a table: how many rows, and where they begin; memory that the caller lends, free from top on; what went wrong */
struct table {
    size_t rows;
    const double *at;
};
struct arena {
    double *memory;
    size_t top, size;
    int state;
};""",
    "table_failed": """/* note what went wrong, if nothing has before; 0 */
static size_t table_failed(struct arena *arena, int state)
{
    if (!arena->state)
        arena->state = state;
    return 0;
}""",
    "table_of": """/* the table whose descriptor stands at this place */
static struct table table_of(const struct arena *arena, double place)
{
    struct table t;
    memcpy(&t, arena->memory + (size_t)place, sizeof t);
    return t;
}""",
    "table_put": """/* write a descriptor */
static double table_put(const struct arena *arena, size_t place, size_t rows, const double *at)
{
    const struct table t = {rows, at};
    memcpy(arena->memory + place, &t, sizeof t);
    return (double)place;
}""",
    "table_given": f"""/* a table of rows that lie elsewhere; the empty one, at 0, where there is no room for a descriptor */
static double table_given(struct arena *arena, size_t rows, const double *at)
{{
    const size_t place = arena->top;
    if (arena->size - place < {DESCRIPTOR})
        return (double)table_failed(arena, {NO_ROOM});
    arena->top += {DESCRIPTOR};
    return table_put(arena, place, rows, at);
}}""",
    "table_taken": f"""/* a new table, whose rows begin at at; the empty one where there is no room */
static double table_taken(struct arena *arena, size_t rows, size_t columns, double **at)
{{
    const size_t place = arena->top, room = arena->size - place;
    *at = arena->memory + place + {DESCRIPTOR};
    if (room < {DESCRIPTOR} || (room - {DESCRIPTOR}) / columns < rows)
        return (double)table_failed(arena, {NO_ROOM});
    arena->top += {DESCRIPTOR} + rows * columns;
    return table_put(arena, place, rows, *at);
}}""",
    "table_array": """/* a procedure's array of zeros, before which there is room for a descriptor; NULL where there is no room */
static double *table_array(struct arena *arena, int64_t rows, int64_t columns)
{
    double *at;
    if (rows < 0)
        rows = INT64_MAX;
    table_taken(arena, (size_t)rows, (size_t)columns, &at);
    if (arena->state)
        return NULL;
    memset(at, 0, (size_t)(rows * columns) * sizeof *at);
    return at;
}""",
    "table_row": f"""/* whether a number is that of one of so many rows */
static int table_row(struct arena *arena, double x, size_t rows)
{{
    if (x >= 0.0 && x < (double)rows && x == (double)(size_t)x)
        return 1;
    return (int)table_failed(arena, {NO_ROW});
}}""",
    "table_sum": """/* the sum of eight parts, the second half to the first */
static double table_sum(const double *part)
{
    return ((part[0] + part[4]) + (part[2] + part[6])) + ((part[1] + part[5]) + (part[3] + part[7]));
}""",
    "table_own": f"""/* a table whose rows are not among those that were taken from base on without its descriptor: itself, or a copy */
static double table_own(struct arena *arena, size_t base, double place, size_t columns)
{{
    const struct table t = table_of(arena, place);
    const uintptr_t at = (uintptr_t)t.at, first = (uintptr_t)(arena->memory + base), end = (uintptr_t)(arena->memory + arena->top);
    double *to;
    if (t.at == arena->memory + (size_t)place + {DESCRIPTOR} || at < first || at >= end)
        return place;
    place = table_taken(arena, t.rows, columns, &to);
    for (size_t i = 0; !arena->state && i < t.rows * columns; ++i)
        to[i] = t.at[i];
    return place;
}}""",
    "table_keep": f"""/* of what was taken from base on, keep n tables, of so many columns (0: a number); the lowest moves down first */
static void table_keep(struct arena *arena, size_t base, double *places, const int *columns, int n)
{{
    for (int k = 0; k < n; ++k)
        if (columns[k])
            places[k] = table_own(arena, base, places[k], (size_t)columns[k]);
    arena->top = base;
    for (;;) {{
        int first = -1;
        for (int k = 0; k < n; ++k)
            if (columns[k] && places[k] >= (double)arena->top && (first < 0 || places[k] < places[first]))
                first = k;
        if (first < 0)
            return;
        const size_t from = (size_t)places[first], to = arena->top;
        const struct table t = table_of(arena, places[first]);
        const int own = t.at == arena->memory + from + {DESCRIPTOR};
        const size_t size = {DESCRIPTOR} + (own ? t.rows * (size_t)columns[first] : 0);
        memmove(arena->memory + to, arena->memory + from, size * sizeof(double));
        table_put(arena, to, t.rows, own ? arena->memory + to + {DESCRIPTOR} : t.at);
        for (int k = 0; k < n; ++k)
            if (columns[k] && places[k] == (double)from)
                places[k] = (double)to;
        arena->top = to + size;
    }}
}}""",
    "table_result": f"""/* copy a table to where the caller wants it, if there is room; whether something in it is not finite */
static int table_result(struct arena *arena, double place, size_t columns, double *to, size_t room, size_t *rows)
{{
    const struct table t = table_of(arena, place);
    int bad = 0;
    *rows = t.rows;
    if (t.rows > room)
        return (int)table_failed(arena, {NO_ROOM});
    for (size_t i = 0; i < t.rows * columns; ++i) {{
        to[i] = t.at[i];
        bad |= !isfinite(to[i]);
    }}
    return bad;
}}""",
}
NEEDS |= {"table_given": ("table_failed", "table_put"), "table_taken": ("table_failed", "table_put"), "table_row": ("table_failed",),
          "table_array": ("table_taken",), "table_sum": (), "table_own": ("table_of", "table_taken"),
          "table_keep": ("table_own", "table_of", "table_put"), "table_result": ("table_failed", "table_of")}  # fmt: skip


@functools.cache
def with_tables(f: Program) -> bool:
    """Return whether a function, or one that it calls, takes or returns tables."""
    return any(f.given) or any(f.made) or any(map(with_tables, f.functions))
