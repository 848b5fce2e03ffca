"""Ctrl-C within long loops: every so many passes, at most once a second, machine code lets Python's main thread handle signals.

What a signal's handler raises ends the loop, and all long loops after it, and is raised where Python goes on: before anybody reads what the
loop made. A handler that raises nothing ends none. Exported code never looks.
"""

from __future__ import annotations

import ctypes
import functools
import os
import threading

from engine.compiler import native_code

#: passes from one look to the next; loops of no more end by themselves
PASSES = 1 << 16
#: the variable of code that holds the address of ``look``, null where nobody looks
VARIABLE = "interrupted"

#: Python's exception, from where a handler raised it until it is raised again, is ``kind value trace``
TEXT = f"""@main = global i64 0
@last = internal global i64 0
@kind = internal global ptr null
@value = internal global ptr null
@trace = internal global ptr null
declare i64 @{"_time64" if os.name == "nt" else "time"}(ptr)
declare i64 @PyThread_get_thread_ident()
declare i32 @PyGILState_Ensure()
declare void @PyGILState_Release(i32)
declare i32 @PyErr_CheckSignals()
declare void @PyErr_Fetch(ptr, ptr, ptr)
declare void @PyErr_Restore(ptr, ptr, ptr)
declare i32 @Py_AddPendingCall(ptr, ptr)

define i1 @look() {{
  %own = call i64 @PyThread_get_thread_ident()
  %main = load i64, ptr @main
  %other = xor i64 %own, %main
  %low = {"and i64 %other, 4294967295" if ctypes.sizeof(ctypes.c_ulong) == 4 else "or i64 %other, 0"}
  %here = icmp eq i64 %low, 0
  br i1 %here, label %heard, label %no
heard:
  %raised = load ptr, ptr @kind
  %ending = icmp ne ptr %raised, null
  br i1 %ending, label %yes, label %when
when:
  %now = call i64 @{"_time64" if os.name == "nt" else "time"}(ptr null)
  %before = load i64, ptr @last
  %same = icmp eq i64 %now, %before
  br i1 %same, label %no, label %ask
ask:
  store i64 %now, ptr @last
  %state = call i32 @PyGILState_Ensure()
  %error = call i32 @PyErr_CheckSignals()
  %some = icmp ne i32 %error, 0
  br i1 %some, label %end, label %on
end:
  call void @PyErr_Fetch(ptr @kind, ptr @value, ptr @trace)
  call i32 @Py_AddPendingCall(ptr @raise, ptr null)
  call void @PyGILState_Release(i32 %state)
  br label %yes
on:
  call void @PyGILState_Release(i32 %state)
  br label %no
yes:
  ret i1 true
no:
  ret i1 false
}}

define i32 @raise(ptr %nothing) {{
  %k = load ptr, ptr @kind
  %v = load ptr, ptr @value
  %t = load ptr, ptr @trace
  store ptr null, ptr @kind
  call void @PyErr_Restore(ptr %k, ptr %v, ptr %t)
  ret i32 -1
}}"""


@functools.cache
def look() -> int:
    """Return the address of ``look()``, which says whether a loop in this thread is to end."""
    code = native_code.Code("looks for Ctrl-C", lambda: TEXT)
    main = ctypes.c_uint64.from_address(code.variable("main"))

    def remember() -> None:
        main.value = threading.main_thread().ident or 0

    remember()
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=remember)
    _kept.append(code)
    return code.function("look")


#: code that loops call as long as the process lives
_kept: list[native_code.Code] = []
native_code.FILLED |= dict.fromkeys((VARIABLE, f"rows.{VARIABLE}"), look)


def next_pass(after: str) -> str:
    """Return the IR that ends a loop's pass: every ``PASSES`` passes it asks ``look`` for Ctrl-C, and sets the loop's limit to 0 if there
    was one. The pass's last block is ``after``, its next number ``%next``; it jumps to ``head`` from ``%on``, with the limit
    ``%limit.next``."""
    return f"""  %since = and i64 %next, {PASSES - 1}
  %looks = icmp eq i64 %since, 0
  br i1 %looks, label %look, label %on
look:
  %ends = call i1 @look()
  %less = select i1 %ends, i64 0, i64 %limit.now
  br label %on
on:
  %limit.next = phi i64 [%limit.now, %{after}], [%less, %look]
  br label %head"""


def look_in(kind: str) -> str:
    """Return IR of ``look()`` within code, and of the variable, which is of a ``kind``."""
    return f"""@{VARIABLE} = {kind} ptr null
define internal i1 @look() noinline nounwind cold {{
  %look = load ptr, ptr @{VARIABLE}
  %never = icmp eq ptr %look, null
  br i1 %never, label %no, label %ask
no:
  ret i1 false
ask:
  %ends = call i1 %look()
  ret i1 %ends
}}"""
