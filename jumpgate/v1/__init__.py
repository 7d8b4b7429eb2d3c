"""The wire messages of version 1 (protobuf): request, network tuple formats, service. The *_pb2 files are generated."""
