// The card as a process: rows on a UDP port, control on standard input and output, a line for each request and answer
// (README.md). The end of standard input ends it.
#include <poll.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <iostream>
#include <sstream>

#include "card.h"

namespace jg::card {
namespace {

constexpr size_t kTablesMax = 8, kColumnsMax = 1400;
constexpr int kBucketBitsMax = 26;

std::string say(const std::string& wrong) { return wrong.empty() ? "ok" : "no " + wrong; }

// `COLUMNS NULL_BYTES BYTES`.
bool read_row(std::istream& in, RowShape* row) {
  in >> row->columns >> row->null_bytes >> row->bytes;
  return in && row->columns >= 1 && row->columns <= kColumnsMax && row->bytes <= datagram::kPacketBytesMax &&
         (row->null_bytes == 0 || row->null_bytes == (row->columns + 7) / 8);
}

// `KIND`, a table's row, `VALUE_BYTES BUCKET_BITS`.
bool read_table(std::istream& in, TableShape* table) {
  static constexpr const char* kKinds[] = {"inner", "left", "semi", "anti"};
  std::string kind;
  in >> kind;
  const auto* found = std::find(std::begin(kKinds), std::end(kKinds), kind);
  table->kind = static_cast<Kind>(found - std::begin(kKinds));
  return found != std::end(kKinds) && read_row(in, &table->row) && in >> table->value_bytes >> table->bucket_bits &&
         table->row.bytes >= kKeyBytes && table->value_bytes >= table->row.null_bytes + table->payload_bytes() &&
         table->bucket_bits >= 0 && table->bucket_bits <= kBucketBitsMax;
}

// How many columns leave and the bytes of their NULL bits, and for each `COLUMN OFFSET BYTES`.
bool read_leaving(std::istream& in, JoinShape* shape) {
  size_t leaving = 0;
  if (!(in >> leaving >> shape->out_null_bytes) || leaving < 1 || leaving > kColumnsMax) return false;
  if (shape->out_null_bytes != 0 && shape->out_null_bytes != (leaving + 7) / 8) return false;
  const RowShape joined = shape->joined();
  for (size_t i = 0; i < leaving; i++) {
    Leaver c{};
    if (!(in >> c.column >> c.offset >> c.bytes) || c.column >= joined.columns || c.offset > joined.bytes ||
        c.bytes > joined.bytes - c.offset) {
      return false;
    }
    shape->leaving.push_back(c);
  }
  return true;
}

// `join ID SECRET WINDOW_BITS REST_BYTES`, the row that probes, `TABLES`, each table, the columns that leave, and how
// many columns of totals leave in place of these.
std::string add_join(Card* card, std::istream& in) {
  std::string id;
  int window_bits = 0;
  size_t tables = 0;
  JoinShape shape;
  in >> id >> std::hex >> shape.secret >> std::dec >> window_bits >> shape.rest_bytes;
  bool right = read_row(in, &shape.probe) && in >> tables && window_bits >= 1 && window_bits <= 16 && tables >= 1 &&
               tables <= kTablesMax && shape.probe.columns >= tables && shape.probe.bytes >= tables * kKeyBytes;
  for (size_t t = 0; right && t < tables; t++) {
    TableShape table;
    right = read_table(in, &table);
    shape.tables.push_back(table);
  }
  right = right && read_leaving(in, &shape) && in >> shape.totals &&
          (shape.totals <= 1 || (shape.totals == 3 && shape.leaving[0].bytes == 8));
  if (!right) return "no malformed";
  return say(card->add_join(id, shape, window_bits));
}

// `bitstream VALUE_BYTES PATH`
std::string add_bitstream(Card* card, std::istream& in) {
  size_t value_bytes = 0;
  std::string path;
  if (!(in >> value_bytes >> std::ws) || !std::getline(in, path)) return "no malformed";
  card->add_bitstream(value_bytes, path);
  return "ok";
}

// `flow ID FLOW TABLE SENDER`; table -1: of the probing rows.
std::string add_flow(Card* card, std::istream& in) {
  std::string id, sender;
  int flow = 0, table = 0;
  in >> id >> flow >> table >> sender;
  if (!in || flow < 0 || flow > 0xFFFF) return "no malformed";
  return say(card->add_flow(id, static_cast<uint16_t>(flow), table, sender));
}

// `receiver ID FLOW RECEIVER`
std::string add_receiver(Card* card, std::istream& in) {
  std::string id, receiver;
  int flow = 0;
  in >> id >> flow >> receiver;
  if (!in || flow < 0 || flow > 0xFFFF) return "no malformed";
  return say(card->add_receiver(id, static_cast<uint16_t>(flow), receiver));
}

std::string count(const Card& card, std::istream& in) {
  std::string id;
  in >> id;
  const Join* join = card.find(id);
  if (join == nullptr) return "no such join";
  const Counts c = join->counts();
  std::ostringstream out;
  out << "ok " << c.built << ' ' << c.rest << ' ' << c.probed << ' ' << c.joined << ' ' << c.cycles;
  return out.str();
}

std::string answer(Card* card, const std::string& line) {
  std::istringstream in(line);
  std::string verb, id;
  in >> verb;
  if (verb == "bitstream") return add_bitstream(card, in);
  if (verb == "join") return add_join(card, in);
  if (verb == "flow") return add_flow(card, in);
  if (verb == "receiver") return add_receiver(card, in);
  if (verb == "count") return count(*card, in);
  in >> id;
  if (verb == "start") return say(card->start(id));
  if (verb == "remove") return card->remove(id) ? "ok" : "no such join";
  return "no such verb";
}

// Answers all complete lines; false at the end of the input.
bool control(Card* card, std::string* buffer) {
  char bytes[4096];
  const ssize_t got = read(STDIN_FILENO, bytes, sizeof bytes);
  if (got <= 0) return false;
  buffer->append(bytes, static_cast<size_t>(got));
  for (size_t end; (end = buffer->find('\n')) != std::string::npos; buffer->erase(0, end + 1)) {
    std::cout << answer(card, buffer->substr(0, end)) << '\n';
  }
  std::cout << std::flush;
  return true;
}

int run(const std::string& host) {
  constexpr double kSleepMaxS = 60;
  Card card;
  int port = 0;
  const Status opened = card.open(host, &port);
  if (!opened.ok()) {
    std::cerr << opened.error().message << std::endl;
    return 1;
  }
  std::cout << kBackend << ' ' << host << ':' << port << std::endl;
  std::string buffer;
  double wait_s = 0;
  while (true) {
    pollfd ready[] = {{STDIN_FILENO, POLLIN, 0}, {card.fd(), POLLIN, 0}};
    poll(ready, 2, static_cast<int>(std::ceil(std::min(wait_s, kSleepMaxS) * 1000)));
    if (ready[0].revents != 0 && !control(&card, &buffer)) return 0;
    wait_s = card.work();
    for (const std::string& event : card.events()) std::cout << event << std::endl;
  }
}

}  // namespace
}  // namespace jg::card

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "use: card HOST" << std::endl;
    return 2;
  }
  return jg::card::run(argv[1]);
}
