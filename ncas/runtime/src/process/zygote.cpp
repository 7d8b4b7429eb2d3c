// Forks instances from a process that has every library loaded: about a millisecond each, and nothing to initialise.
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include "base/lent_memory.h"
#include "jg/host.h"
#include "jg/json.h"

namespace jg {
namespace {

constexpr int kIdleMs = 20'000;  // without requests for instances, after which unborrowed memory returns to the system

void report(int control, const std::string& message) {
  // The agent reads promptly; if it is gone, the next poll says so.
  (void)!::send(control, message.data(), message.size(), MSG_NOSIGNAL);
}

// A message and the descriptor that came with it (-1: none). False at end of file.
bool receive(int control, std::string* message, int* descriptor) {
  char buffer[4096];
  alignas(cmsghdr) char ancillary[CMSG_SPACE(sizeof(int))];
  iovec part{buffer, sizeof buffer};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = ancillary;
  header.msg_controllen = sizeof ancillary;
  const ssize_t n = ::recvmsg(control, &header, MSG_CMSG_CLOEXEC);
  *descriptor = -1;
  if (n < 0 && errno == EINTR) return message->clear(), true;
  if (n <= 0) return false;
  message->assign(buffer, n);
  for (cmsghdr* c = CMSG_FIRSTHDR(&header); c; c = CMSG_NXTHDR(&header, c)) {
    if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS) memcpy(descriptor, CMSG_DATA(c), sizeof(int));
  }
  return true;
}

void reap(int control, std::set<pid_t>* children) {
  int status;
  for (pid_t pid; (pid = ::waitpid(-1, &status, WNOHANG)) > 0;) {
    children->erase(pid);
    take_back(pid);
    JsonWriter json;
    json.begin_object();
    json.member("exited", static_cast<int64_t>(pid));
    json.member("status", static_cast<int64_t>(WIFEXITED(status) ? WEXITSTATUS(status) : -1));
    json.member("signal", static_cast<int64_t>(WIFSIGNALED(status) ? WTERMSIG(status) : 0));
    json.end_object();
    report(control, json.take());
  }
}

// Becomes `command` (a program's path and arguments, each after a NUL), with the control socket as standard input.
[[noreturn]] void run_program(int descriptor, const std::string& command) {
  std::vector<char*> arguments;
  for (size_t at = 0; at < command.size(); at += strlen(&command[at]) + 1) {
    arguments.push_back(const_cast<char*>(&command[at]));
  }
  arguments.push_back(nullptr);
  ::unsetenv("LD_BIND_NOW");  // for the zygote alone
  ::signal(SIGPIPE, SIG_DFL);
  if (::dup2(descriptor, STDIN_FILENO) == STDIN_FILENO) ::execv(arguments[0], arguments.data());
  ::_exit(127);
}

// `request`: a name, "*" for one that is told later which instance it is, and after a NUL the command to run if the
// instance is not a fork of ours.
void spawn(int control, int signals, const std::string& request, int descriptor, std::set<pid_t>* children) {
  const pid_t zygote = ::getpid();
  const size_t name_end = std::min(request.find('\0'), request.size());
  const std::string name = request.substr(0, name_end);
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != zygote) ::_exit(1);  // it died in between
    ::close(control);
    ::close(signals);
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::prctl(PR_SET_NAME, name == "*" ? kSpareName : ("jg " + name).substr(0, 15).c_str());
    if (name_end < request.size()) run_program(descriptor, request.substr(name_end + 1));
    run_instance(descriptor);
  }
  const int error = errno;
  ::close(descriptor);
  if (pid > 0) children->insert(pid);
  JsonWriter json;
  json.begin_object();
  json.member("spawned", name);
  json.member("pid", static_cast<int64_t>(pid));  // -1: the system refused
  json.member("error", pid < 0 ? strerror(error) : "");
  json.end_object();
  report(control, json.take());
}

// Has malloc ask the system for more memory at once, and keep more of it, in this process and its forks.
void keep_memory() {
  constexpr int kAskedAtOnce = 1 << 20, kKept = 32 << 20;
  ::mallopt(M_TOP_PAD, kAskedAtOnce);
  ::mallopt(M_TRIM_THRESHOLD, kKept);
}

}  // namespace

int run_zygote(int control) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::prctl(PR_SET_NAME, "jghost");
  ::signal(SIGPIPE, SIG_IGN);
  ::fcntl(control, F_SETFD, FD_CLOEXEC);
  keep_memory();
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  ::sigprocmask(SIG_BLOCK, &child, nullptr);
  const int signals = ::signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
  if (signals < 0) return 1;
  begin_lending();
  report(control, "{\"ready\": true}");
  std::set<pid_t> children;  // not yet reaped: their pids are theirs
  bool lends = false;        // memory that nobody has borrowed is kept
  pollfd watched[] = {{control, POLLIN, 0}, {signals, POLLIN, 0}};
  while (true) {
    const int ready = ::poll(watched, 2, lends ? kIdleMs : -1);
    if (ready < 0 && errno != EINTR) return 1;
    if (ready == 0) end_lending();
    lends = ready != 0;
    if (watched[1].revents & POLLIN) {
      signalfd_siginfo info;
      while (::read(signals, &info, sizeof info) == sizeof info) {
      }
      reap(control, &children);
    }
    if (watched[0].revents) {
      std::string text;
      int descriptor;
      if (!receive(control, &text, &descriptor)) break;
      if (descriptor >= 0) {
        spawn(control, signals, text, descriptor, &children);
      } else if (const auto pid = static_cast<pid_t>(std::atol(text.c_str())); children.count(pid)) {
        ::kill(pid, SIGKILL);
      }
    }
  }
  for (const pid_t pid : children) ::kill(pid, SIGKILL);  // the agent is gone: its instances go with it
  return 0;
}

}  // namespace jg
