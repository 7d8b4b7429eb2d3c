// The processes of a host: a zygote that has the runtime loaded, and the instances that it forks.
#pragma once

namespace jg {

// Serves the agent on `control` (a SOCK_SEQPACKET unix socket) until it closes; returns the exit status.
//   agent → zygote: an instance's name, with its control socket as SCM_RIGHTS: fork it. "*": one that is named later
//                   a pid as text, with nothing: kill that instance (a pid that has been reaped is ignored)
//   zygote → agent: {"ready": true} · {"spawned": "name", "pid": N, "error": "…"} · {"exited": N, "status": N,
//   "signal": N}
// Instances are its children and are killed when it ends, however it ends.
int run_zygote(int control);

// Return the CPU time of this process so far, without that of the thread that serves the control protocol: monitoring
// an instance is no work of its own.
int64_t work_cpu_ns();

// The name of a process that waits to become an instance.
inline constexpr char kSpareName[] = "jgspare";

// Serves the control protocol (docs/protocol.md) on `control` until it closes or `destroy` arrives. Never returns.
[[noreturn]] void run_instance(int control);

}  // namespace jg
