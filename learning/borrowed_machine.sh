#!/bin/sh
# One round of trainings on a machine with a GPU and nothing but torch and unpacked wheels.
# usage: borrowed_machine.sh OUT SECONDS < lines of "ALGO ENV STEPS SEED [FLAGS…]"
set -u
out=$1
export LEARNING_SECONDS=$2 OPENBLAS_NUM_THREADS=1 MUJOCO_GL=disabled
# Under NVIDIA's MPS the small kernels of several trainings run side by side; without it the
# processes take turns on the GPU, at half the speed.
if command -v nvidia-cuda-mps-control > /dev/null; then
    CUDA_MPS_PIPE_DIRECTORY=$(mktemp -d)
    export CUDA_MPS_PIPE_DIRECTORY CUDA_MPS_LOG_DIRECTORY="$CUDA_MPS_PIPE_DIRECTORY"
    nvidia-cuda-mps-control -d && trap 'echo quit | nvidia-cuda-mps-control' EXIT
fi
number=0
while read -r algo env steps seed flags; do
    number=$((number + 1))
    # shellcheck disable=SC2086
    python3 -W ignore -m learning.alone "$algo" "$env" "$steps" "$seed" "$out/$number.json" $flags \
        > "$out/$number.log" 2>&1 < /dev/null &
done
wait
for log in "$out"/*.log; do tail -n 1 "$log"; done
