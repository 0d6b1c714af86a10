"""Written by protoc; never edit. See tools/generate_proto.sh."""
