// Digests that generated programs call: MD5 (RFC 1321), SHA-1 and SHA-256 (FIPS 180-4). The oracle is Python's hashlib.
#include <bit>
#include <cstring>

#include "jg/kernel.h"

namespace digests {
namespace {

using Word = uint32_t;

constexpr Word kMd5Start[4] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
constexpr int kMd5Shifts[4][4] = {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};
// floor(2^32 · |sin(i + 1)|)
constexpr Word kMd5Terms[64] = {
    0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501,
    0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821,
    0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
    0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a,
    0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70,
    0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
    0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
    0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391};
constexpr Word kSha1Start[5] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
constexpr Word kSha1Terms[4] = {0x5a827999, 0x6ed9eba1, 0x8f1bbcdc, 0xca62c1d6};
constexpr Word kSha256Start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                  0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
constexpr Word kSha256Terms[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

Word load(const unsigned char* p, bool big) {
  Word word;
  std::memcpy(&word, p, 4);
  return big ? __builtin_bswap32(word) : word;
}

void add_md5(Word* state, const unsigned char* block) {
  Word a = state[0], b = state[1], c = state[2], d = state[3];
  for (int i = 0; i < 64; ++i) {
    const int round = i / 16;
    const Word mixed = round == 0   ? (b & c) | (~b & d)
                       : round == 1 ? (d & b) | (~d & c)
                       : round == 2 ? b ^ c ^ d
                                    : c ^ (b | ~d);
    const int at = round == 0 ? i : round == 1 ? (5 * i + 1) % 16 : round == 2 ? (3 * i + 5) % 16 : 7 * i % 16;
    const Word sum = a + mixed + kMd5Terms[i] + load(block + 4 * at, false);
    a = d;
    d = c;
    c = b;
    b += std::rotl(sum, kMd5Shifts[round][i % 4]);
  }
  const Word added[4] = {a, b, c, d};
  for (int i = 0; i < 4; ++i) state[i] += added[i];
}

void add_sha1(Word* state, const unsigned char* block) {
  Word w[80];
  for (int i = 0; i < 16; ++i) w[i] = load(block + 4 * i, true);
  for (int i = 16; i < 80; ++i) w[i] = std::rotl(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
  Word a = state[0], b = state[1], c = state[2], d = state[3], e = state[4];
  for (int i = 0; i < 80; ++i) {
    const int round = i / 20;
    const Word mixed = round == 0 ? (b & c) | (~b & d) : round == 2 ? (b & c) | (b & d) | (c & d) : b ^ c ^ d;
    const Word sum = std::rotl(a, 5) + mixed + e + kSha1Terms[round] + w[i];
    e = d;
    d = c;
    c = std::rotl(b, 30);
    b = a;
    a = sum;
  }
  const Word added[5] = {a, b, c, d, e};
  for (int i = 0; i < 5; ++i) state[i] += added[i];
}

void add_sha256(Word* state, const unsigned char* block) {
  Word w[64];
  for (int i = 0; i < 16; ++i) w[i] = load(block + 4 * i, true);
  for (int i = 16; i < 64; ++i) {
    const Word low = std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ (w[i - 15] >> 3);
    const Word high = std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ (w[i - 2] >> 10);
    w[i] = w[i - 16] + low + w[i - 7] + high;
  }
  Word s[8];
  std::memcpy(s, state, sizeof s);
  for (int i = 0; i < 64; ++i) {
    const Word high = std::rotr(s[4], 6) ^ std::rotr(s[4], 11) ^ std::rotr(s[4], 25);
    const Word first = s[7] + high + ((s[4] & s[5]) ^ (~s[4] & s[6])) + kSha256Terms[i] + w[i];
    const Word low = std::rotr(s[0], 2) ^ std::rotr(s[0], 13) ^ std::rotr(s[0], 22);
    const Word second = low + ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
    std::memmove(s + 1, s, 7 * sizeof(Word));
    s[4] += first;
    s[0] = first + second;
  }
  for (int i = 0; i < 8; ++i) state[i] += s[i];
}

// The state after all blocks of a text, as hex digits; `big`: the order of bytes in words, and of the length's.
template <int Words>
JgStr digest(JgTask* task, JgStr s, const Word (&start)[Words], void (*add)(Word*, const unsigned char*), bool big) {
  constexpr uint64_t kBlock = 64, kLength = 8;
  Word state[Words];
  std::memcpy(state, start, sizeof state);
  const auto* p = reinterpret_cast<const unsigned char*>(s.data);
  uint64_t left = s.size;
  for (; left >= kBlock; left -= kBlock, p += kBlock) add(state, p);
  unsigned char end[2 * kBlock] = {};
  if (left) std::memcpy(end, p, left);
  end[left] = 0x80;
  const uint64_t size = left < kBlock - kLength ? kBlock : 2 * kBlock;
  const uint64_t bits = big ? __builtin_bswap64(s.size * 8) : s.size * 8;
  std::memcpy(end + size - kLength, &bits, kLength);
  for (uint64_t at = 0; at < size; at += kBlock) add(state, end + at);
  char* out = jg_temp(task, 8 * Words);
  for (int i = 0; i < 8 * Words; ++i) {
    const Word word = big ? state[i / 8] : __builtin_bswap32(state[i / 8]);
    out[i] = "0123456789abcdef"[word >> (28 - 4 * (i % 8)) & 15];
  }
  return {out, 8 * Words};
}

}  // namespace
}  // namespace digests

extern "C" {

JgStr jg_md5(JgTask* task, JgStr s) { return digests::digest(task, s, digests::kMd5Start, digests::add_md5, false); }
JgStr jg_sha1(JgTask* task, JgStr s) { return digests::digest(task, s, digests::kSha1Start, digests::add_sha1, true); }
JgStr jg_sha256(JgTask* task, JgStr s) {
  return digests::digest(task, s, digests::kSha256Start, digests::add_sha256, true);
}

}  // extern "C"
