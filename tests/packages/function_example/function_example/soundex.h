// A letter and three digits that stand for the sound of a name: the C++ of soundex.
static inline JgStr example_soundex(JgTask* t, JgStr s) {
  static const char codes[] = "01230120022455012623010202";  // of a to z; 0: none
  char* found = jg_temp(t, 4);
  uint64_t n = 0;
  char before = 0;
  for (uint64_t i = 0; i < s.size && n < 4; ++i) {
    char letter = (char)(s.data[i] | 0x20);
    if (letter < 'a' || letter > 'z') continue;
    char code = codes[letter - 'a'];
    if (n == 0)
      found[n++] = (char)(letter - 0x20);
    else if (code != '0' && code != before)
      found[n++] = code;
    if (letter != 'h' && letter != 'w') before = code;
  }
  for (uint64_t end = n ? 4 : 0; n < end; ++n) found[n] = '0';
  return JgStr{found, n};
}
