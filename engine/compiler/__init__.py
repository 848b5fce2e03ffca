"""Tracing and compilation of NumPy-style functions; knows nothing of physics.

Layers, from the bottom up; a file imports from those named before it only:

- first: ``debug`` (what is said while something is compiled);
- graph: ``vecmath`` and ``exponentials`` (elementary functions in LLVM IR), ``lowering`` (an operation in LLVM IR), ``operations`` (the
  table); ``notes`` (who made a node), ``listing`` (programs as text), ``refusals`` (what cannot be traced), ``chains`` (a < x < b),
  ``expr`` (traced scalars in a graph), ``program`` (a graph's nodes and outputs), ``numbers`` (programs but for their constants),
  ``rewrite`` (the rules that fold a graph), ``kernel`` (the form of functions that are loops), ``interpreter`` (a program run by NumPy);
- frontend: functions as people write them: ``elementary`` (functions of numbers), ``arrays`` (what NumPy asks), ``whole_arrays``
  (functions of arrays), ``patched_functions`` (what NumPy and Python are lent while a function is traced);
- beside: ``native_code`` (the processor, and what has it run), ``trace_cache`` (what is made of the engine's own alone, on disk);
- kernels: ``instructions`` (of LLVM IR), ``dense`` (layers), ``lookups`` (tables), ``solves`` (systems with many right sides),
  ``products`` (of matrices), ``philox`` (random numbers); loops over the rows of tables, of as many as there are: ``arena`` (memory),
  ``row_sources_sinks`` (what loops read and make), ``row_vectors`` (rows as vectors), ``row_reads`` (what is read of a group of rows),
  ``row_loop_code`` (loops in LLVM IR), ``row_loop`` (a loop as a kernel), ``stacks`` (between numbers and tables), ``picks`` (a row by its
  number), ``procedure_values``, ``procedure_code`` (loops as people write them, in LLVM IR), ``procedure`` (those as a kernel),
  ``loop_fusion`` (two as one);
- transforms: ``parts`` (named ones as functions), ``bodies`` (of loops), ``table_hints`` (what to write in place of what tables do not
  have), ``table`` (traced tables), ``loop`` (a loop as one node), ``implicit`` (roots and their derivatives), ``sparse`` (tangents),
  ``autodiff`` (derivatives), ``row_derivatives`` (of loops over rows), ``loop_derivatives`` (of loops of several passes), ``jacobians`` (of
  programs), ``trace`` (the program of a function);
- codegen: ``schedule`` (fusion and registers), ``equal_inputs``, ``packs`` (equal parts), ``lanes`` (those as vectors), ``work`` (its
  memory), ``counters`` (of calls, for profiles), ``body`` (instructions of nodes), ``interrupt_checks`` (Ctrl-C), ``short_loop`` (a loop
  whose body is inlined), ``llvm`` (a program in LLVM IR), ``call_writer`` (of what Python calls), ``entry`` (its calls), ``shelf``
  (states that wait to be looked at together), ``rollout`` (a step repeated);
- last: ``thread_pool``, ``signature`` (shapes as text), ``gufunc``, ``scan``, ``derivative`` (compiled functions).
"""

from engine.compiler.derivative import gradient, jacobian
from engine.compiler.graph.interpreter import interpret
from engine.compiler.graph.program import Program, Shape, verify
from engine.compiler.graph.refusals import ArgumentError, TraceError
from engine.compiler.gufunc import Gufunc, gufunc
from engine.compiler.scan import rollout_ufunc
from engine.compiler.signature import signature_of
from engine.compiler.thread_pool import get_threads, set_threads
from engine.compiler.transforms.trace import calling, name_of, trace

__all__ = ["ArgumentError", "Gufunc", "Program", "Shape", "TraceError", "calling", "get_threads", "gradient", "gufunc", "interpret",
           "jacobian", "name_of", "rollout_ufunc", "set_threads", "signature_of", "trace", "verify"]  # fmt: skip
