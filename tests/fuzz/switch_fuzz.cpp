// Hostile packets and table writes for the software switch, through the program of tests/cpp/switch_program.cpp.
// Input: commands of a first byte: 0 … 3 write a row into that table (operation, priority, action, 4 words), 4 set a
// default action, 5 a multicast group, 6 a mirror session, 7 reset registers, else a packet: its length (2 bytes) and
// bytes.
#include <cstdint>
#include <cstring>

#include "switch.h"

using namespace jgsw;

namespace {

struct Input {
  const uint8_t* data;
  size_t size;

  template <typename T>
  T take() {
    T value{};
    const size_t count = size < sizeof value ? size : sizeof value;
    if (count > 0) std::memcpy(&value, data, count);
    data += count;
    size -= count;
    return value;
  }
};

void write_row(Pipe& pipe, uint32_t table, Input& input) {
  const uint8_t operation = input.take<uint8_t>() % 3;
  const auto priority = static_cast<int32_t>(input.take<uint8_t>());
  const uint32_t action = input.take<uint8_t>() & 3;
  const uint64_t value[2] = {input.take<uint32_t>(), input.take<uint8_t>()};
  const uint64_t mask[2] = {input.take<uint32_t>(), input.take<uint8_t>()};
  const uint64_t data[3] = {input.take<uint16_t>() & 0x1ffu, 1, 2};
  const Row row{value, mask, priority, action, data};
  TableStore& store = pipe.table(table);
  uint32_t slot = 0;
  if (operation == 0 && store.insert(row, slot) == WriteResult::ok) {
    pipe.reset_direct(table, slot);
    Row found;
    if (!store.read(slot, found) || found.action != action) __builtin_trap();
  }
  if (operation == 1) static_cast<void>(store.modify(row, slot));
  if (operation == 2 && store.remove(row, slot) == WriteResult::ok && store.locate(row, slot) == WriteResult::ok)
    __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  static Switch sw(*jgsw_program(), 64, 1);
  Input input{bytes, size};
  while (input.size > 0) {
    const uint8_t command = input.take<uint8_t>();
    if (command < 4) {
      write_row(sw.pipe, command, input);
    } else if (command == 4) {
      const uint64_t data[3] = {input.take<uint16_t>() & 0x1ffu, 1, 2};
      static_cast<void>(sw.pipe.table(input.take<uint8_t>() % 5).set_default(input.take<uint8_t>() & 3, data));
    } else if (command == 5) {
      std::vector<Replica>& group = sw.pipe.multicast[input.take<uint8_t>()];
      group.assign(input.take<uint8_t>(), {static_cast<uint16_t>(input.take<uint16_t>() & 511), input.take<uint8_t>()});
    } else if (command == 6) {
      sw.pipe.mirror_sessions[input.take<uint8_t>()] = input.take<uint16_t>() & 511;
    } else if (command == 7) {
      for (uint32_t i = 0; i < 16; ++i) sw.pipe.reset_register(0, i);
    } else {
      const uint16_t port = input.take<uint16_t>() & 511;
      const uint32_t wanted = input.take<uint16_t>();
      const uint32_t length = wanted < input.size ? wanted : static_cast<uint32_t>(input.size);
      const Collected& out = sw.process(&port, &length, input.data, 1, 32);
      size_t total = 0;
      for (uint32_t one : out.lengths) total += one;
      if (total != out.bytes.size() || out.ports.size() != out.lengths.size()) __builtin_trap();
      input.data += length;
      input.size -= length;
    }
  }
  if (sw.pipe.pool.available() != kBuffers) __builtin_trap();  // nothing is held, nothing leaks
  for (Event event; sw.next_event(event, 0);) continue;
  return 0;
}
