"""How the libraries below use threads. They read it when they are loaded: import this first."""

import os

# numpy multiplies few rows at a time here: threads cost it more than they gain, however many CPUs
# the run has. Those are for torch.
os.environ["OPENBLAS_NUM_THREADS"] = "1"
# A thread of torch that waits for another spins for milliseconds. With both cores busy elsewhere
# the other cannot even start meanwhile: TD3 made 3 steps per second on two cores beside two other
# trainings, 45 with this tenth of the usual limit, which costs it 5 to 10 % on an idle machine.
os.environ.setdefault("GOMP_SPINCOUNT", "30000")
