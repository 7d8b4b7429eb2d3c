// The processes of a host: a zygote that has the runtime loaded, and the instances that it forks.
#pragma once

namespace jg {

// Serves the agent on `control` (a SOCK_SEQPACKET unix socket) until it closes; returns the exit status.
//   agent → zygote: the instance's name as text, with the instance's control socket as SCM_RIGHTS
//   zygote → agent: {"spawned": "name", "pid": N} · {"exited": N, "status": N, "signal": N}
int run_zygote(int control);

// Serves the control protocol (ARCHITECTURE.md) on `control` until it closes or `destroy` arrives. Never returns.
[[noreturn]] void run_instance(int control);

}  // namespace jg
