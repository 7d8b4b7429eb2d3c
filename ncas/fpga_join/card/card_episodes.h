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

constexpr uint64_t kSecret = 0x0123456789ABCDEF;
constexpr size_t kColumnBytes = 8;
constexpr int kAddressBits = 26;

[[noreturn]] inline void wrong(const char* what, size_t at) {
  std::fprintf(stderr, "the card differs from the reference: %s %zu\n", what, at);
  std::exit(1);
}

// Rows of equal size as frames with random many of them.
inline std::vector<Bytes> frames_of(uint16_t flow, const std::vector<Bytes>& rows, Random* random) {
  std::vector<Bytes> frames;
  for (size_t i = 0; i < rows.size();) {
    const size_t most = kPayloadMax / rows[0].size(), end = std::min(rows.size(), i + 1 + (*random)() % most);
    Bytes payload;
    for (; i < end; i++) payload.insert(payload.end(), rows[i].begin(), rows[i].end());
    frames.push_back(frame_of(flow, payload, kSecret));
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

// A row: NULL bits, keys, then a column of kColumnBytes, which is a number.
inline Bytes row_of(const std::vector<uint64_t>& keys, const std::vector<bool>& nulls, uint64_t value, size_t key_bytes,
                    size_t null_bytes) {
  Bytes row(null_bytes + keys.size() * key_bytes + kColumnBytes);
  for (size_t i = 0; i < nulls.size(); i++) {
    if (nulls[i]) row[0] = static_cast<uint8_t>(row[0] | 1u << i);
  }
  uint8_t* at = &row[null_bytes];
  for (size_t i = 0; i < keys.size(); i++, at += key_bytes) big_endian(at, nulls[i] ? 0 : keys[i], key_bytes);
  big_endian(at, nulls.back() ? 0 : value, kColumnBytes);
  return row;
}

struct Rate {
  double build, probe;  // entries and look-ups a second
};

template <class V, size_t TABLES, size_t kBanks, size_t KEY, size_t VALUE>
struct Bench {
  static constexpr int kMemoryBits = kAddressBits + (TABLES > 2 ? 2 : static_cast<int>(TABLES) - 1);
  // values hold a byte of NULL bits, if rows have one, and a column as far as there is room
  static constexpr size_t kColumn = std::min(VALUE - 1, kColumnBytes), kSlots = std::min<size_t>(7, 63 / (KEY + VALUE));
  static constexpr size_t kProbeBytes = TABLES * KEY + kColumnBytes, kNulls = 8 * ((VALUE + 8) / 8);
  static constexpr size_t kJoinedNulls = 64 + TABLES * kNulls, kJoinedBytes = 8 + kRowMax + TABLES * (KEY + VALUE);
  using Model = CardModel<V, kBanks, kMemoryBits>;

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
    card->secret = kSecret;
    card->udp_port = kPort;
    card->probe_nulls = static_cast<uint8_t>(nulls.probe);
    for (size_t t = 0; t < TABLES; t++) {
      set_field(&card->kinds, 3 * t, 3, kinds[t]);
      set_field(&card->masks, kAddressBits * t, kAddressBits, (uint64_t{1} << bits[t]) - 1);
      set_field(&card->bases, kMemoryBits * t, kMemoryBits, buckets_in_a_bank({bits.begin(), bits.begin() + t}));
      set_field(&card->build_nulls, 4 * t, 4, nulls.build[t]);
      // the rows of a table that is not used have no size: the parser drops their frames
      set_field(&card->strides, 7 * t, 7, kinds[t] == UNUSED ? 0 : nulls.build[t] + KEY + kColumn);
    }
    set_field(&card->strides, 7 * TABLES, 7, nulls.probe + kProbeBytes);
    const Bytes own = headers(kSecret);
    put(&card->headers, own.data(), own.size());
  }
  static size_t buckets_in_a_bank(const std::vector<int>& bits) {
    size_t buckets = 0;
    for (const int b : bits) buckets += std::max<size_t>(1, (size_t{1} << b) / kBanks);
    return buckets;
  }
  // Which columns leave: of the row that probes, then key and column of each table, by numbers from 0.
  static size_t choose(V* card, const std::vector<size_t>& columns, const NullBytes& of) {
    std::vector<size_t> nulls, bytes;
    for (size_t i = 0; i < of.out; i++) bytes.push_back(i);
    for (const size_t c : columns) {
      const bool probing = c <= TABLES;
      const size_t t = probing ? 0 : (c - TABLES - 1) / 2, part = probing ? 0 : (c - TABLES - 1) % 2;
      nulls.push_back(probing ? c : 64 + t * kNulls + part);
      const size_t base = 8 + kRowMax + t * (KEY + VALUE);
      const size_t first = probing ? 8 + of.probe + c * KEY : part == 0 ? base : base + KEY + of.build[t];
      const size_t size = probing ? (c < TABLES ? KEY : kColumnBytes) : part == 0 ? KEY : kColumn;
      for (size_t i = 0; i < size; i++) bytes.push_back(first + i);
    }
    const Bytes of_nulls = gathering(nulls, kJoinedNulls), of_bytes = gathering(bytes, kJoinedBytes);
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

  // An episode: what a card of random tables is asked for, and what it must answer.
  struct Episode {
    Random* random;
    std::vector<RtlKind> kinds = std::vector<RtlKind>(TABLES);
    std::vector<int> bits = std::vector<int>(TABLES);
    NullBytes nulls{};
    std::vector<size_t> columns{};  // that leave
    size_t stride = 0;
    bool aggregates = false;
    uint64_t keys = 0;
    std::vector<std::map<uint32_t, List>> tables = std::vector<std::map<uint32_t, List>>(TABLES);
    std::vector<std::vector<Entry>> overflow = std::vector<std::vector<Entry>>(TABLES);
    std::vector<Bytes> expected{}, left{};  // rows joined, and rows for the host

    uint64_t below(uint64_t n) { return (*random)() % n; }
    uint64_t a_key() { return below(keys) * 0x9E3779B97F4A7C15 & ~uint64_t{0} >> (64 - 8 * KEY); }
  };

  static void episode(Random* random, bool ddr3, bool forgetful, Coverage* coverage) {
    Episode e{random};
    const int latency = static_cast<int>(1 + e.below(60));
    const uint64_t most = 5 + e.below(5);
    for (int& b : e.bits) b = static_cast<int>(e.below(8) ? most : e.below(10));
    const size_t buckets = buckets_in_a_bank(e.bits);
    const uint64_t idle = e.below(3) * 20, pressure = e.below(3) * 25;  // percent
    typename Model::Memories memories;
    for (size_t b = 0; b < kBanks; b++) {
      if (ddr3) {
        memories.push_back(std::make_unique<Ddr3Memory>(buckets));
      } else {
        memories.push_back(std::make_unique<IdealMemory>(buckets, latency, forgetful));
      }
    }
    Model model(std::move(memories));
    model.offers = [&] { return e.below(100) >= idle; };
    model.takes = [&] { return e.below(100) >= pressure; };
    for (RtlKind& kind : e.kinds) coverage->kinds[kind = static_cast<RtlKind>(e.below(5))]++;
    e.nulls = {e.below(2), 1, {}};
    while (e.nulls.build.size() < TABLES) e.nulls.build.push_back(e.below(2));
    configure(&model.card, e.kinds, e.bits, e.nulls);
    e.aggregates = e.below(4) == 0;
    choose_columns(&e, &model);
    coverage->never_null += e.nulls.out == 0;
    model.card.aggregates = e.aggregates;
    model.reset();
    if (e.below(2)) interrupt(&model, e.nulls, random);
    e.keys = 1 + e.below(1500);
    build(&e, &model, coverage);
    probe(&e, &model, coverage);
  }

  // Draws the columns that leave until they fit into a row.
  static void choose_columns(Episode* e, Model* model) {
    do {
      e->columns.clear();
      for (size_t c = 0; c <= TABLES + 2 * TABLES; c++) {
        const RtlKind kind = c <= TABLES ? INNER : e->kinds[(c - TABLES - 1) / 2];
        if ((kind == INNER || kind == LEFT) && e->below(3) == 0) e->columns.push_back(c);
      }
      if (e->aggregates) e->columns = {TABLES};
      e->nulls.out = nullable(e->columns, e->kinds, e->nulls) ? (e->columns.size() + 7) / 8 : 0;
      e->stride = e->columns.empty() ? 0 : choose(&model->card, e->columns, e->nulls);
    } while (e->stride == 0 || e->stride > kRowMax);
  }

  // Frames of random rows of the build sides, among frames of another job; `built`: how many rows a table takes.
  static std::vector<Bytes> build_frames(Episode* e, size_t* built, Coverage* coverage) {
    std::vector<Bytes> frames;
    for (size_t t = 0; t < TABLES; t++) {
      std::vector<Bytes> rows;
      for (size_t i = 0, n = e->below(400); i < n; i++) {
        const size_t first = e->nulls.build[t];
        const bool null_key = first > 0 && e->below(12) == 0, null_column = first > 0 && e->below(6) == 0;
        Bytes row(first + KEY + kColumn);
        if (first > 0) row[0] = static_cast<uint8_t>((null_key ? 1 : 0) | (null_column ? 2 : 0));
        if (!null_key) big_endian(&row[first], e->a_key(), KEY);
        for (size_t c = 0; c < kColumn && !null_column; c++)
          row[first + KEY + c] = static_cast<uint8_t>((*e->random)());
        rows.push_back(row);
        *built += !null_key && e->kinds[t] != UNUSED;
      }
      for (Bytes& frame : frames_of(static_cast<uint16_t>(t), rows, e->random)) frames.push_back(std::move(frame));
      if (e->below(2))
        frames.push_back(frame_of(static_cast<uint16_t>(t), {1, 2, 3}, kSecret + 1)), coverage->dropped++;
    }
    std::shuffle(frames.begin(), frames.end(), *e->random);
    pad(&frames, e->random);
    return frames;
  }

  // Build sides; what has no room comes out, of each table in its order.
  static void build(Episode* e, Model* model, Coverage* coverage) {
    size_t built = 0;
    const std::vector<Bytes> frames = build_frames(e, &built, coverage);
    fill(frames, e);
    std::vector<size_t> overflowed(TABLES);
    model->overflowed = [&] {
      const size_t t = model->card.overflow_table;
      if (overflowed[t] == e->overflow[t].size()) wrong("overflow", t);
      const Entry& entry = e->overflow[t][overflowed[t]++];
      if (model->card.overflow_key != entry.key ||
          std::memcmp(&model->card.overflow_value, entry.value.data(), entry.value.size()) != 0) {
        wrong("overflow", overflowed[t]);
      }
    };
    model->rested = [] { wrong("a row for the host while building", 0); };
    if (!model->run(frames, 1'000'000)) wrong("stands still while building", 0);
    for (size_t t = 0; t < TABLES; t++) {
      if (overflowed[t] != e->overflow[t].size()) wrong("overflows", t);
      coverage->overflowed += overflowed[t];
    }
    if (model->card.built != built) wrong("built", model->card.built);
    coverage->built += built;
    coverage->forwards += model->card.forwards;
    model->overflowed = [] { wrong("an overflow while probing", 0); };
  }

  // Rows that probe; those whose buckets have overflown are the host's.
  static void probe(Episode* e, Model* model, Coverage* coverage) {
    std::vector<Bytes> rows;
    const size_t count = 1 + e->below(300);
    for (size_t i = 0; i < count; i++) {
      std::vector<uint64_t> wanted;
      std::vector<bool> absent;
      for (size_t t = 0; t < TABLES; t++) {
        wanted.push_back(e->a_key());
        absent.push_back(e->nulls.probe > 0 && e->below(12) == 0);
      }
      absent.push_back(e->nulls.probe > 0 && e->below(6) == 0);
      const Bytes row = row_of(wanted, absent, (*e->random)(), KEY, e->nulls.probe);
      rows.push_back(row);
      join(row, wanted, absent, e, coverage);
    }
    size_t rested = 0;
    model->rested = [&] {
      if (rested == e->left.size()) wrong("a row for the host", rested);
      if (std::memcmp(&model->card.rest_row, e->left[rested].data(), e->left[rested].size()) != 0)
        wrong("a row for the host", rested);
      rested++;
    };
    std::vector<Bytes> asking = frames_of(TABLES, rows, e->random);
    pad(&asking, e->random);
    if (!model->run(asking, 1'000'000)) wrong("stands still while probing", 0);
    if (rested != e->left.size()) wrong("rows for the host", rested);
    if (model->card.joined != e->expected.size()) wrong("joined", model->card.joined);
    if (e->aggregates) {
      check_totals(*e, *model);
      coverage->aggregated++;
    } else {
      compare(model->sent, e->expected, e->stride);
    }
    coverage->probed += count;
    coverage->joined += e->expected.size();
    coverage->rested += rested;
    coverage->frames += model->sent.size();
  }

  // A count and a sum of the first column take the place of the rows.
  static void check_totals(const Episode& e, const Model& model) {
    uint64_t added = 0;
    __int128 sum = 0, seen = 0;
    for (const Bytes& row : e.expected) {
      if (e.nulls.out > 0 && (row[0] & 1)) continue;
      added++;
      sum += static_cast<int64_t>(number(&row[e.nulls.out], 8));
    }
    std::memcpy(&seen, &model.card.sum, sizeof seen);
    if (model.card.added != added || seen != sum || !model.sent.empty()) wrong("sum", added);
  }

  // A reset amid another job's rows of one table, or its look-ups, with reads on their way.
  static void interrupt(Model* model, const NullBytes& nulls, Random* random) {
    const size_t flow = (*random)() % (TABLES + 1);
    const size_t size = flow == TABLES ? nulls.probe + kProbeBytes : nulls.build[flow] + KEY + kColumn;
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
  static void fill(const std::vector<Bytes>& frames, Episode* e) {
    for (const Bytes& frame : frames) {
      const size_t t = frame[45], size = number(&frame[38], 2) - 24;
      const size_t first = e->nulls.build[t], stride = first + KEY + kColumn;
      if (number(&frame[50], 8) != kSecret || e->kinds[t] == UNUSED) continue;
      for (size_t at = kHeaders; at < kHeaders + size; at += stride) {
        if (first > 0 && (frame[at] & 1)) continue;
        Entry entry{number(&frame[at + first], KEY), Bytes(&frame[at], &frame[at] + first)};
        entry.value.insert(entry.value.end(), &frame[at + first + KEY], &frame[at] + stride);
        List& list = e->tables[t][bucket_of(entry.key, e->bits[t])];
        list.overflown |= list.entries.size() == kSlots;
        (list.entries.size() == kSlots ? e->overflow[t] : list.entries).push_back(entry);
      }
    }
  }

  static void join(const Bytes& row, const std::vector<uint64_t>& wanted, const std::vector<bool>& absent, Episode* e,
                   Coverage* coverage) {
    std::vector<std::vector<const Bytes*>> found(TABLES);
    bool passes = true;
    for (size_t t = 0; t < TABLES; t++) {
      const RtlKind kind = e->kinds[t];
      if (kind != UNUSED && !absent[t]) {
        const List& list = e->tables[t][bucket_of(wanted[t], e->bits[t])];
        if (list.overflown) {
          e->left.push_back(row);
          return;
        }
        for (const Entry& entry : list.entries) {
          if (entry.key == wanted[t]) found[t].push_back(&entry.value);
        }
      }
      const bool matched = !found[t].empty();
      if (((kind == INNER || kind == SEMI) && !matched) || (kind == ANTI && matched)) passes = false;
      if (!matched || kind == SEMI) found[t].assign(1, nullptr);
    }
    // all tables are asked before one of them says no
    if (!passes) return;
    std::vector<size_t> at(TABLES);
    for (size_t made = 0;; made++) {
      std::vector<const Bytes*> values;
      for (size_t t = 0; t < TABLES; t++) values.push_back(found[t][at[t]]);
      e->expected.push_back(joined(row, values, *e));
      coverage->several += made > 0;
      size_t t = TABLES;
      while (t > 0 && ++at[t - 1] == found[t - 1].size()) at[--t] = 0;
      if (t == 0) return;
    }
  }

  // The columns that leave of a row and its partners, of which those that are missing are null.
  static Bytes joined(const Bytes& row, const std::vector<const Bytes*>& values, const Episode& e) {
    Bytes out(e.nulls.out);
    for (size_t i = 0; i < e.columns.size(); i++) {
      const size_t c = e.columns[i];
      Bytes bytes;
      bool null = false;
      if (c <= TABLES) {
        const size_t first = e.nulls.probe + c * KEY;
        bytes.assign(&row[first], &row[first] + (c < TABLES ? KEY : kColumnBytes));
        null = e.nulls.probe > 0 && (row[0] >> c & 1);
      } else {
        const size_t t = (c - TABLES - 1) / 2;
        const bool key = (c - TABLES - 1) % 2 == 0;
        const Bytes* value = values[t];
        bytes.assign(key ? KEY : kColumn, 0);
        null = value == nullptr || (!key && e.nulls.build[t] > 0 && (*value)[0] & 2);
        const uint8_t* own = &row[e.nulls.probe + t * KEY];
        if (value && key) bytes.assign(own, own + KEY);
        if (value && !key) bytes.assign(value->begin() + static_cast<ptrdiff_t>(e.nulls.build[t]), value->end());
      }
      if (null) out[i / 8] = static_cast<uint8_t>(out[i / 8] | 1u << (i % 8));
      out.insert(out.end(), bytes.begin(), bytes.end());
    }
    return out;
  }

  static void compare(const std::vector<Bytes>& frames, const std::vector<Bytes>& expected, size_t stride) {
    size_t at = 0;
    for (size_t f = 0; f < frames.size(); f++) {
      const Bytes& frame = frames[f];
      const size_t size = frame.size() - kHeaders;
      if (number(&frame[16], 2) != size + 44 || number(&frame[38], 2) != size + 24 || ip_sum(frame) != 0xFFFF ||
          number(&frame[46], 4) != f + 1 || number(&frame[50], 8) != kSecret || size % stride != 0 ||
          size > kPayloadMax) {
        wrong("headers of frame", f);
      }
      for (size_t i = kHeaders; i < frame.size(); i += stride, at++) {
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
    for (size_t b = 0; b < kBanks; b++) memories.push_back(make(buckets_in_a_bank(bits)));
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
          payload.insert(payload.end(), row.begin(), row.begin() + 1 + KEY + kColumn);
        }
        frames.push_back(frame_of(static_cast<uint16_t>(t), payload, kSecret));
      }
      Bytes payload;
      for (size_t r = 0; r < per_frame; r++) {
        std::vector<uint64_t> keys(TABLES);
        for (uint64_t& key : keys) key = random();
        const Bytes row = row_of(keys, std::vector<bool>(TABLES + 1), 1, KEY, 1);
        payload.insert(payload.end(), row.begin(), row.end());
      }
      probes.push_back(frame_of(TABLES, payload, kSecret));
    }
    const double per_s = 1e9 / Ddr3Memory::kCycleNs;
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
