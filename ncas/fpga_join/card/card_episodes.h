// Random joins through the RTL of a card, of any variant, beside a reference; and how fast it is with DDR3 controllers.
#pragma once
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>
#include <string>

#include "card_model.h"
#include "ddr3.h"

namespace jg::card {

using Random = std::mt19937_64;

constexpr uint64_t SECRET = 0x0123456789ABCDEF;
constexpr size_t COLUMN_BYTES = 8;
constexpr int ADDRESS_BITS = 26;

[[noreturn]] inline void wrong(const char* what, size_t at) {
  std::fprintf(stderr, "the card differs from the reference: %s %zu\n", what, at);
  std::exit(1);
}

// Rows of equal size as frames with random many of them.
inline std::vector<Bytes> frames_of(uint16_t flow, const std::vector<Bytes>& rows, Random* random) {
  std::vector<Bytes> frames;
  for (size_t i = 0; i < rows.size();) {
    const size_t most = PAYLOAD_MAX / rows[0].size(), end = std::min(rows.size(), i + 1 + (*random)() % most);
    Bytes payload;
    for (; i < end; i++) payload.insert(payload.end(), rows[i].begin(), rows[i].end());
    frames.push_back(frame_of(flow, payload, SECRET));
  }
  return frames;
}

// Some frames are longer than their headers say.
inline void pad(std::vector<Bytes>* frames, Random* random) {
  for (Bytes& frame : *frames) {
    if ((*random)() % 4 == 0) frame.resize(frame.size() + (*random)() % 300);
  }
}

struct Coverage {
  uint64_t built = 0, probed = 0, joined = 0, rested = 0, overflowed = 0, dropped = 0, frames = 0, kinds[5] = {},
           aggregated = 0, forwards = 0, several = 0, never_null = 0;
};

// Bytes of NULL bits that rows begin with.
struct NullBytes {
  size_t probe = 1, out = 1;
  std::vector<size_t> build;
};

// A row: NULL bits, keys, then a column of COLUMN_BYTES, which is a number.
inline Bytes row_of(const std::vector<uint64_t>& keys, const std::vector<bool>& nulls, uint64_t value, size_t key_bytes,
                    size_t null_bytes) {
  Bytes row(null_bytes + keys.size() * key_bytes + COLUMN_BYTES);
  for (size_t i = 0; i < nulls.size(); i++) {
    if (nulls[i]) row[0] = static_cast<uint8_t>(row[0] | 1u << i);
  }
  uint8_t* at = &row[null_bytes];
  for (size_t i = 0; i < keys.size(); i++, at += key_bytes) big_endian(at, nulls[i] ? 0 : keys[i], key_bytes);
  big_endian(at, nulls.back() ? 0 : value, COLUMN_BYTES);
  return row;
}

struct Rate {
  double build, probe;  // entries and look-ups a second
};

template <class V, size_t TABLES, size_t BANKS, size_t KEY, size_t VALUE>
struct Bench {
  static constexpr int MEMORY_BITS = ADDRESS_BITS + (TABLES > 2 ? 2 : static_cast<int>(TABLES) - 1);
  // values hold a byte of NULL bits, if rows have one, and a column as far as there is room
  static constexpr size_t COLUMN = std::min(VALUE - 1, COLUMN_BYTES), SLOTS = std::min<size_t>(7, 63 / (KEY + VALUE));
  static constexpr size_t PROBE_BYTES = TABLES * KEY + COLUMN_BYTES, NULLS = 8 * ((VALUE + 8) / 8);
  static constexpr size_t JOINED_NULLS = 64 + TABLES * NULLS, JOINED_BYTES = 8 + ROW_MAX + TABLES * (KEY + VALUE);
  using Model = CardModel<V, BANKS, MEMORY_BITS>;

  struct Entry {
    uint64_t key;
    Bytes value;  // byte of NULL bits, if there is one, and column
  };
  struct List {
    std::vector<Entry> entries;
    bool overflown = false;
  };

  static void configure(V* card, const std::vector<RtlKind>& kinds, const std::vector<int>& bits,
                        const NullBytes& nulls) {
    card->secret = SECRET;
    card->udp_port = PORT;
    card->probe_nulls = static_cast<uint8_t>(nulls.probe);
    for (size_t t = 0; t < TABLES; t++) {
      set_field(&card->kinds, 3 * t, 3, kinds[t]);
      set_field(&card->masks, ADDRESS_BITS * t, ADDRESS_BITS, (uint64_t{1} << bits[t]) - 1);
      set_field(&card->bases, MEMORY_BITS * t, MEMORY_BITS, buckets_in_a_bank({bits.begin(), bits.begin() + t}));
      set_field(&card->build_nulls, 4 * t, 4, nulls.build[t]);
      // the rows of a table that is not used have no size: the parser drops their frames
      set_field(&card->strides, 7 * t, 7, kinds[t] == UNUSED ? 0 : nulls.build[t] + KEY + COLUMN);
    }
    set_field(&card->strides, 7 * TABLES, 7, nulls.probe + PROBE_BYTES);
    const Bytes own = headers(SECRET);
    put(&card->headers, own.data(), own.size());
  }
  static size_t buckets_in_a_bank(const std::vector<int>& bits) {
    size_t buckets = 0;
    for (const int b : bits) buckets += std::max<size_t>(1, (size_t{1} << b) / BANKS);
    return buckets;
  }
  // Which columns leave: of the row that probes, then key and column of each table, by numbers from 0.
  static size_t choose(V* card, const std::vector<size_t>& columns, const NullBytes& of) {
    std::vector<size_t> nulls, bytes;
    for (size_t i = 0; i < of.out; i++) bytes.push_back(i);
    for (const size_t c : columns) {
      const bool probing = c <= TABLES;
      const size_t t = probing ? 0 : (c - TABLES - 1) / 2, part = probing ? 0 : (c - TABLES - 1) % 2;
      nulls.push_back(probing ? c : 64 + t * NULLS + part);
      const size_t base = 8 + ROW_MAX + t * (KEY + VALUE);
      const size_t first = probing ? 8 + of.probe + c * KEY : part == 0 ? base : base + KEY + of.build[t];
      const size_t size = probing ? (c < TABLES ? KEY : COLUMN_BYTES) : part == 0 ? KEY : COLUMN;
      for (size_t i = 0; i < size; i++) bytes.push_back(first + i);
    }
    const Bytes of_nulls = gathering(nulls, JOINED_NULLS), of_bytes = gathering(bytes, JOINED_BYTES);
    put(&card->null_places, of_nulls.data(), of_nulls.size());
    put(&card->byte_places, of_bytes.data(), of_bytes.size());
    card->null_mask = of.out == 0 ? 0 : columns.size() >= 64 ? ~uint64_t{0} : (uint64_t{1} << columns.size()) - 1;
    card->out_stride = static_cast<uint8_t>(bytes.size());
    return bytes.size();
  }

  // Whether one of the columns may be NULL.
  static bool nullable(const std::vector<size_t>& columns, const std::vector<RtlKind>& kinds, const NullBytes& nulls) {
    return std::any_of(columns.begin(), columns.end(), [&](size_t c) {
      if (c <= TABLES) return nulls.probe > 0;
      const size_t t = (c - TABLES - 1) / 2;
      return kinds[t] == LEFT || ((c - TABLES - 1) % 2 == 1 && nulls.build[t] > 0);
    });
  }

  static void episode(Random* random, bool ddr3, bool forgetful, Coverage* coverage) {
    const auto below = [&](uint64_t n) { return (*random)() % n; };
    const int latency = static_cast<int>(1 + below(60));
    std::vector<int> bits(TABLES);
    const uint64_t most = 5 + below(5);
    for (int& b : bits) b = static_cast<int>(below(8) ? most : below(10));
    const size_t buckets = buckets_in_a_bank(bits);
    const uint64_t idle = below(3) * 20, pressure = below(3) * 25;  // percent
    typename Model::Memories memories;
    for (size_t b = 0; b < BANKS; b++) {
      if (ddr3) {
        memories.push_back(std::make_unique<Ddr3Memory>(buckets));
      } else {
        memories.push_back(std::make_unique<IdealMemory>(buckets, latency, forgetful));
      }
    }
    Model model(std::move(memories));
    model.offers = [&] { return below(100) >= idle; };
    model.takes = [&] { return below(100) >= pressure; };
    std::vector<RtlKind> kinds(TABLES);
    for (RtlKind& kind : kinds) coverage->kinds[kind = static_cast<RtlKind>(below(5))]++;
    NullBytes nulls{below(2), 1, {}};
    while (nulls.build.size() < TABLES) nulls.build.push_back(below(2));
    configure(&model.card, kinds, bits, nulls);
    const bool aggregates = below(4) == 0;
    std::vector<size_t> columns;
    size_t stride = 0;
    do {
      columns.clear();
      for (size_t c = 0; c <= TABLES + 2 * TABLES; c++) {
        const bool pairs = c <= TABLES || kinds[(c - TABLES - 1) / 2] == INNER || kinds[(c - TABLES - 1) / 2] == LEFT;
        if (pairs && below(3) == 0) columns.push_back(c);
      }
      if (aggregates) columns = {TABLES};
      nulls.out = nullable(columns, kinds, nulls) ? (columns.size() + 7) / 8 : 0;
      stride = columns.empty() ? 0 : choose(&model.card, columns, nulls);
    } while (stride == 0 || stride > ROW_MAX);
    coverage->never_null += nulls.out == 0;
    model.card.aggregates = aggregates;
    model.reset();
    if (below(2)) interrupt(&model, nulls, random);

    // build sides; what has no room comes out, of each table in its order
    const uint64_t keys = 1 + below(1500);
    const auto a_key = [&] { return below(keys) * 0x9E3779B97F4A7C15 & ~uint64_t{0} >> (64 - 8 * KEY); };
    std::vector<std::map<uint32_t, List>> tables(TABLES);
    std::vector<std::vector<Entry>> overflow(TABLES);
    std::vector<size_t> overflowed(TABLES);
    std::vector<Bytes> frames;
    size_t built = 0;
    for (size_t t = 0; t < TABLES; t++) {
      std::vector<Bytes> rows;
      for (size_t i = 0, n = below(400); i < n; i++) {
        const size_t first = nulls.build[t];
        const bool null_key = first > 0 && below(12) == 0, null_column = first > 0 && below(6) == 0;
        Bytes row(first + KEY + COLUMN);
        if (first > 0) row[0] = static_cast<uint8_t>((null_key ? 1 : 0) | (null_column ? 2 : 0));
        if (!null_key) big_endian(&row[first], a_key(), KEY);
        for (size_t c = 0; c < COLUMN && !null_column; c++) row[first + KEY + c] = static_cast<uint8_t>((*random)());
        rows.push_back(row);
        built += !null_key && kinds[t] != UNUSED;
      }
      for (Bytes& frame : frames_of(static_cast<uint16_t>(t), rows, random)) frames.push_back(std::move(frame));
      if (below(2)) frames.push_back(frame_of(static_cast<uint16_t>(t), {1, 2, 3}, SECRET + 1)), coverage->dropped++;
    }
    std::shuffle(frames.begin(), frames.end(), *random);
    pad(&frames, random);
    fill(frames, kinds, bits, nulls, &tables, &overflow);
    model.overflowed = [&] {
      const size_t t = model.card.overflow_table;
      if (overflowed[t] == overflow[t].size()) wrong("overflow", t);
      const Entry& entry = overflow[t][overflowed[t]++];
      if (model.card.overflow_key != entry.key ||
          std::memcmp(&model.card.overflow_value, entry.value.data(), entry.value.size()) != 0) {
        wrong("overflow", overflowed[t]);
      }
    };
    model.rested = [] { wrong("a row for the host while building", 0); };
    if (!model.run(frames, 1'000'000)) wrong("stands still while building", 0);
    for (size_t t = 0; t < TABLES; t++) {
      if (overflowed[t] != overflow[t].size()) wrong("overflows", t);
      coverage->overflowed += overflowed[t];
    }
    if (model.card.built != built) wrong("built", model.card.built);
    coverage->built += built;
    coverage->forwards += model.card.forwards;

    // rows that probe; those whose buckets have overflown are the host's
    std::vector<Bytes> rows, expected, left;
    uint64_t added = 0;
    __int128 sum = 0;
    const size_t count = 1 + below(300);
    for (size_t i = 0; i < count; i++) {
      std::vector<uint64_t> wanted;
      std::vector<bool> absent;
      for (size_t t = 0; t < TABLES; t++) {
        wanted.push_back(a_key());
        absent.push_back(nulls.probe > 0 && below(12) == 0);
      }
      absent.push_back(nulls.probe > 0 && below(6) == 0);
      const Bytes row = row_of(wanted, absent, (*random)(), KEY, nulls.probe);
      rows.push_back(row);
      join(row, wanted, absent, kinds, bits, nulls, tables, columns, &expected, &left, coverage);
    }
    for (const Bytes& row : expected) {
      if (!aggregates || (nulls.out > 0 && (row[0] & 1))) continue;
      added++;
      sum += static_cast<int64_t>(number(&row[nulls.out], 8));
    }
    size_t rested = 0;
    model.rested = [&] {
      if (rested == left.size()) wrong("a row for the host", rested);
      if (std::memcmp(&model.card.rest_row, left[rested].data(), left[rested].size()) != 0)
        wrong("a row for the host", rested);
      rested++;
    };
    std::vector<Bytes> asking = frames_of(TABLES, rows, random);
    pad(&asking, random);
    if (!model.run(asking, 1'000'000)) wrong("stands still while probing", 0);
    if (rested != left.size()) wrong("rows for the host", rested);
    if (model.card.joined != expected.size()) wrong("joined", model.card.joined);
    if (aggregates) {
      __int128 seen = 0;
      std::memcpy(&seen, &model.card.sum, sizeof seen);
      if (model.card.added != added || seen != sum || !model.sent.empty()) wrong("sum", added);
      coverage->aggregated++;
    } else {
      compare(model.sent, expected, stride);
    }
    coverage->probed += count;
    coverage->joined += expected.size();
    coverage->rested += rested;
    coverage->frames += model.sent.size();
  }

  // A reset amid another job's rows of one table, or its look-ups, with reads on their way.
  static void interrupt(Model* model, const NullBytes& nulls, Random* random) {
    const size_t flow = (*random)() % (TABLES + 1);
    const size_t size = flow == TABLES ? nulls.probe + PROBE_BYTES : nulls.build[flow] + KEY + COLUMN;
    std::vector<Bytes> rows(300, Bytes(size));
    for (Bytes& row : rows) {
      for (uint8_t& byte : row) byte = static_cast<uint8_t>((*random)());
    }
    model->overflowed = model->rested = [] {};
    for (const Bytes& frame : frames_of(static_cast<uint16_t>(flow), rows, random)) model->push(frame);
    for (size_t i = (*random)() % 200; i > 0; i--) model->step();
    model->reset();
    model->clear();
  }

  static uint32_t bucket_of(uint64_t key, int bits) { return hash_of(key) & ((1u << bits) - 1); }
  // The tables as the frames fill them, in their order.
  static void fill(const std::vector<Bytes>& frames, const std::vector<RtlKind>& kinds, const std::vector<int>& bits,
                   const NullBytes& nulls, std::vector<std::map<uint32_t, List>>* tables,
                   std::vector<std::vector<Entry>>* overflow) {
    for (const Bytes& frame : frames) {
      const size_t t = frame[45], size = number(&frame[38], 2) - 24;
      const size_t first = nulls.build[t], stride = first + KEY + COLUMN;
      if (number(&frame[50], 8) != SECRET || kinds[t] == UNUSED) continue;
      for (size_t at = HEADERS; at < HEADERS + size; at += stride) {
        if (first > 0 && (frame[at] & 1)) continue;
        Entry entry{number(&frame[at + first], KEY), Bytes(&frame[at], &frame[at] + first)};
        entry.value.insert(entry.value.end(), &frame[at + first + KEY], &frame[at] + stride);
        List& list = (*tables)[t][bucket_of(entry.key, bits[t])];
        list.overflown |= list.entries.size() == SLOTS;
        (list.entries.size() == SLOTS ? (*overflow)[t] : list.entries).push_back(entry);
      }
    }
  }

  static void join(const Bytes& row, const std::vector<uint64_t>& wanted, const std::vector<bool>& absent,
                   const std::vector<RtlKind>& kinds, const std::vector<int>& bits, const NullBytes& nulls,
                   const std::vector<std::map<uint32_t, List>>& tables, const std::vector<size_t>& columns,
                   std::vector<Bytes>* expected, std::vector<Bytes>* left, Coverage* coverage) {
    std::vector<std::vector<const Bytes*>> found(TABLES);
    bool passes = true;
    for (size_t t = 0; t < TABLES; t++) {
      if (kinds[t] != UNUSED && !absent[t]) {
        const auto at = tables[t].find(bucket_of(wanted[t], bits[t]));
        if (at != tables[t].end()) {
          if (at->second.overflown) {
            left->push_back(row);
            return;
          }
          for (const Entry& e : at->second.entries) {
            if (e.key == wanted[t]) found[t].push_back(&e.value);
          }
        }
      }
      const bool matched = !found[t].empty();
      if (((kinds[t] == INNER || kinds[t] == SEMI) && !matched) || (kinds[t] == ANTI && matched)) passes = false;
      if (!matched || kinds[t] == SEMI) found[t].assign(1, nullptr);
    }
    // all tables are asked before one of them says no
    if (!passes) return;
    std::vector<size_t> at(TABLES);
    for (size_t made = 0;; made++) {
      Bytes out(nulls.out);
      for (size_t i = 0; i < columns.size(); i++) {
        const size_t c = columns[i];
        Bytes bytes;
        bool null = false;
        if (c <= TABLES) {
          const size_t first = nulls.probe + c * KEY;
          bytes.assign(&row[first], &row[first] + (c < TABLES ? KEY : COLUMN_BYTES));
          null = nulls.probe > 0 && (row[0] >> c & 1);
        } else {
          const size_t t = (c - TABLES - 1) / 2;
          const bool key = (c - TABLES - 1) % 2 == 0;
          const Bytes* value = found[t][at[t]];
          bytes.assign(key ? KEY : COLUMN, 0);
          null = value == nullptr || (!key && nulls.build[t] > 0 && (*value)[0] & 2);
          const uint8_t* own = &row[nulls.probe + t * KEY];
          if (value && key) bytes.assign(own, own + KEY);
          if (value && !key) bytes.assign(value->begin() + static_cast<ptrdiff_t>(nulls.build[t]), value->end());
        }
        if (null) out[i / 8] = static_cast<uint8_t>(out[i / 8] | 1u << (i % 8));
        out.insert(out.end(), bytes.begin(), bytes.end());
      }
      expected->push_back(out);
      coverage->several += made > 0;
      size_t t = TABLES;
      while (t > 0 && ++at[t - 1] == found[t - 1].size()) at[--t] = 0;
      if (t == 0) return;
    }
  }

  static void compare(const std::vector<Bytes>& frames, const std::vector<Bytes>& expected, size_t stride) {
    size_t at = 0;
    for (size_t f = 0; f < frames.size(); f++) {
      const Bytes& frame = frames[f];
      const size_t size = frame.size() - HEADERS;
      if (number(&frame[16], 2) != size + 44 || number(&frame[38], 2) != size + 24 || ip_sum(frame) != 0xFFFF ||
          number(&frame[46], 4) != f + 1 || number(&frame[50], 8) != SECRET || size % stride != 0 ||
          size > PAYLOAD_MAX) {
        wrong("headers of frame", f);
      }
      for (size_t i = HEADERS; i < frame.size(); i += stride, at++) {
        if (at == expected.size() || std::memcmp(&frame[i], expected[at].data(), stride) != 0) wrong("row", at);
      }
    }
    if (at != expected.size()) wrong("rows", at);
  }

  template <class MakeMemory>
  static Rate rate(size_t rows, MakeMemory make) {
    const std::vector<int> bits(TABLES, 20);
    Random random(1);
    typename Model::Memories memories;
    for (size_t b = 0; b < BANKS; b++) memories.push_back(make(buckets_in_a_bank(bits)));
    Model model(std::move(memories));
    const NullBytes nulls{1, 1, std::vector<size_t>(TABLES, 1)};
    configure(&model.card, std::vector<RtlKind>(TABLES, SEMI), bits, nulls);
    choose(&model.card, {TABLES}, nulls);
    model.card.aggregates = 1;
    model.overflowed = model.rested = [] {};
    model.reset();
    std::vector<Bytes> frames, probes;
    const size_t per_frame = 20;
    for (size_t i = 0; i < rows; i += per_frame) {
      for (size_t t = 0; t < TABLES; t++) {  // tables take turns, a few rows each
        Bytes payload;
        for (size_t r = 0; r < per_frame; r++) {
          const Bytes row = row_of({random()}, {false, false}, 1, KEY, 1);
          payload.insert(payload.end(), row.begin(), row.begin() + 1 + KEY + COLUMN);
        }
        frames.push_back(frame_of(static_cast<uint16_t>(t), payload, SECRET));
      }
      Bytes payload;
      for (size_t r = 0; r < per_frame; r++) {
        std::vector<uint64_t> keys(TABLES);
        for (uint64_t& key : keys) key = random();
        const Bytes row = row_of(keys, std::vector<bool>(TABLES + 1), 1, KEY, 1);
        payload.insert(payload.end(), row.begin(), row.end());
      }
      probes.push_back(frame_of(TABLES, payload, SECRET));
    }
    const double per_s = 1e9 / Ddr3Memory::CYCLE_NS;
    const auto measure = [&](const std::vector<Bytes>& which, size_t tuples) {
      const uint64_t first = model.cycles();
      if (!model.run(which, 1000 * rows)) wrong("stands still", 0);
      return static_cast<double>(tuples) / static_cast<double>(model.cycles() - first) * per_s;
    };
    const double build = measure(frames, rows * TABLES);
    return {build, measure(probes, rows * TABLES)};
  }
};

}  // namespace jg::card
