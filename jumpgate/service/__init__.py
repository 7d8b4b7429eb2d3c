"""The service: plans, runs and remembers jobs for clients, over gRPC (jumpgate/v1/service.proto)."""
