"""C of procedures, translated from LLVM IR: each instruction a statement, each block a label, each variable one of C."""

from __future__ import annotations

import re
from collections.abc import Mapping

from engine.code.memory import ARGUMENT, DESCRIPTOR, NO_ROW, PARAMETER
from engine.code.translate import COMPARISONS, constant
from engine.compiler.kernels import arena, procedure_code
from engine.compiler.kernels.procedure import NUMBER, Procedure
from engine.compiler.kernels.procedure_values import Number, Rows

#: LLVM's type -> that of C: whole numbers have signs, and lie in arrays where doubles might
TYPES = {"i64": "int64_t", "double": "double", "i1": "int", "ptr": "double *", "void": "void"}
OPERATORS = {"add": "+", "sub": "-", "mul": "*", "sdiv": "/", "srem": "%", "and": "&", "or": "|", "xor": "^", "ashr": ">>",
             "fadd": "+", "fsub": "-", "fmul": "*", "fdiv": "/"}  # fmt: skip
ORDER = {"slt": "<", "sle": "<=", "sgt": ">", "sge": ">=", "eq": "==", "ne": "!=", "ult": "<", "ule": "<=", **COMPARISONS}
#: functions of LLVM's, and the arena's, as expressions of C
CALLS = {"llvm.sqrt.f64": "sqrt({})", "llvm.floor.f64": "floor({})", "llvm.fabs.f64": "fabs({})", "llvm.abs.i64": "{0} < 0 ? -{0} : {0}",
         "llvm.fptosi.sat.i64.f64": "(int64_t)whole({})", "llvm.ctpop.i64": "bits_in((uint64_t){})",
         "llvm.cttz.i64": "lowest_bit((uint64_t){})", "array": f"table_array({ARGUMENT}, {{}}, {{}})",
         "results": "results()", "says": f"table_failed({ARGUMENT}, {NO_ROW})",
         "asks": f"{ARGUMENT}->state == {NO_ROW} ? {arena.NO_ROW} : 0"}  # fmt: skip
#: how a procedure says that an entry is not there, and asks whether one that it calls has said so
SAYS = re.compile(r"outside:\n(?:  %\S+ = .*\n){3}  store i64 %marked, ptr %state\.p")
ASKS = re.compile(rf"  %\S+ = getelementptr i64, ptr %arena, i64 {arena.STATE}\n  (%\S+) = load i64, ptr %\S+")


class Lines(procedure_code.Procedure):
    """Writes the lines of a procedure whose arrays are in the arena of the exported C."""

    def zeros(self, n: str, columns: int) -> str:
        at = self.put(f"call ptr @array(i64 {n}, i64 {columns})")
        self.require_some(at)
        return at


def lines_of(f: Procedure) -> tuple[procedure_code.Library, Lines, list[Number | Rows], list[tuple[Rows, str]]]:
    """Return the procedures that one calls, its own lines, its arguments, and its results with their numbers of rows."""
    library = procedure_code.Library(f.checked)
    main = Lines(library, f.fn, inner=False)
    given: list[Number | Rows] = [Number("number", f"%in{k}") if m == NUMBER else Rows("number", m, f"%in{k}", f"%in{k}.n", own=False)
                                  for k, m in enumerate(f.given_columns)]  # fmt: skip
    return library, main, given, main.whole_of(given)


def columns_of(f: Procedure) -> list[int]:
    """Return the columns of each array that a procedure allocates, in the order of its code."""
    return [int(m) for m in re.findall(r"@array\(i64 \S+, i64 (\d+)\)", "\n".join(lines_of(f)[1].lines))]


def written(f: Procedure, name: str) -> list[str]:
    """Return C of a procedure, and of those that it calls."""
    library, main, given, results = lines_of(f)
    names = {g.name: f"{name}_{g.name[1:]}" for g in library.functions.values()}
    returned = f"  call void @results({', '.join(f'i64 {n}' for _, n in results)})"
    body = statements("\n".join([*main.begin, *main.lines, "end:", returned, "  ret void", *main.outside("br label %none"), "none:"]),
                      names, "void")  # fmt: skip
    end = [f"out[{k}] = table_put({ARGUMENT}, (size_t)({value(x.at)} - {ARGUMENT}->memory) - {DESCRIPTOR}, (size_t){value(n)}, "
           f"{value(x.at)});" for k, (x, n) in enumerate(results)]  # fmt: skip
    last = body.index("results();")
    body = [*body[:last], *end, *body[last + 1 :], *(f"out[{k}] = 0.0;" for k in range(len(results)))]
    begin = [f"if ({ARGUMENT}->state)", "    goto none;"]                         # lest tables that are missing are looked into
    for k, x in enumerate(given):
        if isinstance(x, Number):
            begin.append(f"const double in{k} = in[{k}];")
        else:
            begin += [f"const struct table t{k} = table_of({ARGUMENT}, in[{k}]);", f"double *const in{k} = (double *)t{k}.at;",
                      f"const int64_t in{k}_n = (int64_t)t{k}.rows;"]  # fmt: skip
    silent = [f"(void)in{k};" for k, x in enumerate(given) if isinstance(x, Number)]
    silent += [f"(void)in{k}; (void)in{k}_n;" for k, x in enumerate(given) if isinstance(x, Rows)]
    own = "\n".join([f"static void {name}(const double *restrict in, double *restrict out, {PARAMETER})", "{",
                     *(f"    {x}" for x in [*begin, *silent, *body]), "}"])  # fmt: skip
    texts = {g.name: g.text for g in library.functions.values()}
    order = dict.fromkeys(name for g in texts for name in callees(g, texts))
    return [*(called(texts[g], names) for g in order), own]


def callees(name: str, texts: Mapping[str, str]) -> list[str]:
    """Return a function, and before it all that it calls."""
    own = dict.fromkeys(re.findall(r"call \w+ (@called\d+)\(", texts[name]))
    return [*(g for other in own for g in callees(other, texts)), name]


def called(text: str, names: Mapping[str, str]) -> str:
    """Return C of a procedure that another calls."""
    head, _, *body, _ = text.split("\n")
    kind, name, given = re.match(r"define internal (\w+) (@\w+)\((.*)\) nounwind", head).groups()  # type: ignore[union-attr]
    arguments = [(kind, value(x)) for kind, x in re.findall(r"(\w+)(?: noalias)? (%[\w.]+)", given)]
    each = [PARAMETER if x == ARGUMENT else f"{'double *restrict ' if kind == 'ptr' else f'{TYPES[kind]} '}{x}" for kind, x in arguments]
    return "\n".join([f"static {TYPES[kind]} {names[name]}({', '.join(each)})", "{", *(f"    (void){x};" for _, x in arguments),
                      *(f"    {x}" for x in statements("\n".join(body), names, kind)), "}"])  # fmt: skip


def value(x: str, kind: str = "i64") -> str:
    """Return an operand in C: a name, or a constant."""
    if x.startswith("%"):
        return x[1:].replace(".", "_")
    if kind == "double":
        return constant(x, kind)
    if x in ("true", "false", "null"):
        return {"true": "1", "false": "0", "null": "NULL"}[x]
    return x if abs(int(x)) < 2**15 else f"INT64_C({x})"


def statements(text: str, names: Mapping[str, str], returns: str) -> list[str]:
    """Return the statements of a function's lines, without dead code and without jumps to the next line."""
    lines = without_dead_lines(ASKS.sub(r"  \1 = call i64 @asks()", SAYS.sub("outside:\n  call void @says()", text)).split("\n"))
    found = list[str]()
    for line, after in zip(lines, [*lines[1:], ""], strict=True):
        found += [f"{line};"] if line.endswith(":") else statement(line.strip(), names, returns, after.rstrip(":"))
    targets = re.findall(r"goto (\w+);", "\n".join(found))
    return [x for x in found if not x.endswith(":;") or x[:-2] in targets]


def without_dead_lines(lines: list[str]) -> list[str]:
    """Remove dead lines: values and variables that no other line reads."""
    variables = {x for line in lines for x in re.findall(r"  (%\S+) = alloca", line)}

    def split(line: str) -> tuple[str, str]:
        """Return the variable that a line assigns, if it has no other effect, and the rest of the line."""
        if made := re.match(r"  (%\S+) = (?!call \w+ @(called|array))", line):
            return made[1], line[made.end() :]
        put = re.fullmatch(r"  store (.*), ptr (%\S+)", line)
        return (put[2], put[1]) if put and put[2] in variables else ("", line.partition(" = ")[2] or line)

    lines = [line for line in lines if line]
    while True:
        used = {x for line in lines for x in re.findall(r"%[\w.]+", split(line)[1])}
        kept = [line for line in lines if split(line)[0] in {"", *used}]
        if len(kept) == len(lines):
            return [re.sub(r"^  %\S+ = (call \w+ @called)", r"  \1", x) if not {*re.findall(r"^  (%\S+) =", x)} <= used else x
                    for x in lines]  # fmt: skip
        lines = kept


def statement(line: str, names: Mapping[str, str], returns: str, after: str) -> list[str]:
    """Return an instruction, of a function that returns a number, or "void", as a statement before the label ``after``, if there is one."""
    if variable := re.fullmatch(r"%(\S+) = alloca (\w+)", line):
        return [f"{TYPES[variable[2]]} {value('%' + variable[1])} = 0;"]
    if put := re.fullmatch(r"store (\w+) (\S+), ptr (%\S+)", line):
        kind, x, to = put[1], value(put[2], put[1]), value(put[3])
        return [f"{to} = {x};" if re.match(r"%[xkc]\d", put[3]) else f"*{to} = {x};" if kind == "double" else f"put_whole({to}, {x});"]
    if jump := re.fullmatch(r"br label %(\w+)", line):
        return [] if jump[1] == after else [f"goto {jump[1]};"]
    if branch := re.fullmatch(r"br i1 (\S+), label %(\w+), label %(\w+)", line):
        c, yes, no = value(branch[1]), branch[2], branch[3]
        if yes == after:
            return [f"if (!{c})", f"    goto {no};"]
        return [f"if ({c})", f"    goto {yes};", *([] if no == after else [f"goto {no};"])]
    if back := re.fullmatch(r"ret (\w+) ?(\S*)", line):
        return ["return;" if returns == "void" else f"return {value(back[2], back[1]) if back[2] else 0};"]
    name, _, text = line.rpartition(" = ")
    c, kind = expression(text, names)
    return [f"{'double *const' if kind == 'ptr' else f'const {TYPES[kind]}'} {value(name)} = {c};" if name else f"{c};"]


def expression(text: str, names: Mapping[str, str]) -> tuple[str, str]:
    """Return an instruction as an expression in C, and LLVM's type of its result."""
    op, _, rest = text.replace(" nsw ", " ").replace(" inbounds ", " ").partition(" ")
    if op == "call":
        kind, name, given = re.fullmatch(r"(\w+) @([\w.]+)\((.*)\)", rest).groups()  # type: ignore[union-attr]
        each = [value(x, k) for k, x in re.findall(r"(\w+) ([^, ]+)", given)]
        return (f"{names[f'@{name}']}({', '.join(each)})" if name.startswith("called") else CALLS[name].format(*each)), kind
    if op == "load":
        kind, x = rest.split(", ptr ")
        variable = re.match(r"%[xkc]\d", x)
        return (value(x) if variable else f"*{value(x)}" if kind == "double" else f"whole_at({value(x)})"), kind
    if op == "getelementptr":
        base, k = re.fullmatch(r"\w+, ptr (\S+), i64 (\S+)", rest).groups()  # type: ignore[union-attr]
        return f"{value(base)} + {value(k)}", "ptr"
    if op == "select":
        c, a, b = (x.split(" ") for x in rest.split(", "))
        return f"{value(c[1])} ? {value(a[1], a[0])} : {value(b[1], b[0])}", a[0]
    if op == "sitofp":
        return f"(double){value(rest.split(' ')[1])}", "double"
    how, kind, operands = re.fullmatch(r"(?:(\w+) )?(\w+) (\S.*)", rest).groups()  # type: ignore[union-attr]
    y = [value(operand, kind) for operand in operands.split(", ")]
    if how:                                                                    # a comparison
        unsigned = "(uint64_t)" if how.startswith("ul") else ""
        return f"{unsigned}{y[0]} {ORDER[how]} {unsigned}{y[1]}", "i1"
    if op == "fneg":
        return f"-({y[0]})", kind
    if op == "shl":
        return f"(int64_t)((uint64_t){y[0]} << {y[1]})", kind
    return f"{y[0]} {OPERATORS[op]} {y[1]}", kind
