"""Gradients derived by hand, in numpy, for small networks on a CPU.

For networks of a few thousand weights autograd spends its time on bookkeeping, not on arithmetic:
these updates do the same maths with a tenth of the calls. Every one of them is tested against
autograd; larger networks and GPUs use autograd itself.
"""
