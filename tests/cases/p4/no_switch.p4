#include <tna.p4>
// error: 1:1 the program needs 'Switch(pipe) main;'
