#include "include_itself.p4"
// error: 1:1 #include nested more than 32 deep
