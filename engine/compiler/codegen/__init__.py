"""Machine code from programs: its order, registers and vectors, in LLVM IR, and how it is entered."""
