// Part of the Tofino Native Architecture, which is all in tna.p4 here.
#include <tna.p4>
