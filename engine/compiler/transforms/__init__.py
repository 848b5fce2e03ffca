"""Programs from functions, and from programs: traces, calls, loops, roots, derivatives."""
