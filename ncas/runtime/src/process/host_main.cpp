// jghost FD: the zygote of a host's agent. FD is its control socket.
#include <cstdio>
#include <cstdlib>

#include "jg/host.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "jghost is started by `jumpgate agent`, with its control socket's number\n");
    return 2;
  }
  return jg::run_zygote(std::atoi(argv[1]));
}
