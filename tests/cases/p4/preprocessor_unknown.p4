#include <tna.p4>
  #warn 1
// error: 2:3 unknown directive #warn
