#if 1 + 1 == 2
#error this program needs another switch
#endif
// error: 2:1 #error this program needs another switch
