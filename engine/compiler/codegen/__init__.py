"""Machine code from programs: scheduling, registers, vectors and LLVM IR, and the entry points by which Python calls it."""
