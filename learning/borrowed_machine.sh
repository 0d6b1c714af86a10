#!/bin/sh
# One round of trainings on a machine with a GPU and nothing but torch and unpacked wheels.
# usage: borrowed_machine.sh OUT SECONDS < lines of "ALGO ENV STEPS SEED [FLAGS…]"
set -u
out=$1
export LEARNING_SECONDS=$2 OPENBLAS_NUM_THREADS=1 MUJOCO_GL=disabled
number=0
while read -r algo env steps seed flags; do
    number=$((number + 1))
    # shellcheck disable=SC2086
    python3 -W ignore -m learning.alone "$algo" "$env" "$steps" "$seed" "$out/$number.json" $flags \
        > "$out/$number.log" 2>&1 < /dev/null &
done
wait
for log in "$out"/*.log; do tail -n 2 "$log"; done
