#!/usr/bin/env bash
# Regenerates src/mosaic/wire/generated from proto/trainer.proto.
set -euo pipefail
cd "$(dirname "$0")/.."
python="${PYTHON:-.venv/bin/python}"
out=src/mosaic/wire/generated
"$python" -m grpc_tools.protoc -Iproto --python_out="$out" --pyi_out="$out" --grpc_python_out="$out" proto/trainer.proto
# protoc writes a top-level import; inside a package it must be relative.
sed -i 's/^import trainer_pb2 as/from . import trainer_pb2 as/' "$out/trainer_pb2_grpc.py"
