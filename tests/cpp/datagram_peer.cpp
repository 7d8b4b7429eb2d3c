// One end of an edge through a switch, as a process of its own.
//   datagram_peer flow WINDOW_BITS PACKETS
//     reads lines "due NOW", "ack NUMBER NOW", "run FIRST FURTHER NOW" and "busy NOW"; answers each "due" with the numbers to send now, or with
//     "given up NUMBER"
//   datagram_peer answers
//     reads lines "run PORT SECRET FLOW FIRST FURTHER" and "busy PORT SECRET FLOW", and sends these answers together
//   datagram_peer send|receive WORD=VALUE…
//     ntf=FILE        canonical text of the edge's format
//     slots=N tuple=aggregate|prune window_bits=N threads=N
//     send:           rows=FILE:N (a payload of that format), times=N (how often they are sent), payload=FILE
//                     (format of the rows that packets carry), partitioning=single|hash (by the first column that the
//                     program reads)
//     receive:        into=FILE (the rows, as a payload), outputs=key,sum,…, drains=HOST:PORT/FLOW/SECRET/FIRST/BUCKETS,…,
//                     pause_ms=N (after each batch)
// It prints "port N" and reads a line: "paths HOST:PORT/FLOW/SECRET …" starts it; "cancel" ends it early, from then on.
// It ends with "ok WORD N …" or "error CODE MESSAGE"; a receiver answers senders until its input ends.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <mutex>
#include <sstream>
#include <thread>

#include "datagrams/answers.h"
#include "datagrams/edge.h"
#include "datagrams/flow.h"
#include "datagrams/socket.h"
#include "jg/ntf.h"
#include "on_threads.h"

namespace {

using jg::Status;

std::map<std::string, std::string> words;

std::string word(const std::string& name, const std::string& otherwise) {
  const auto at = words.find(name);
  return at == words.end() ? otherwise : at->second;
}

std::string contents(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<std::string> split(const std::string& text, char by) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, by);) parts.push_back(part);
  return parts;
}

// ADDRESS, FLOW and SECRET.
jg::DatagramOptions::Path path(const std::vector<std::string>& parts) {
  return {parts.at(0), std::stoi(parts.at(1)), std::stoull(parts.at(2), nullptr, 16)};
}

int finish(const Status& status, const std::string& ok) {
  if (status.ok())
    std::printf("ok %s\n", ok.c_str());
  else
    std::printf("error %s %s\n", status.error().code.c_str(), status.error().message.c_str());
  std::fflush(stdout);
  return status.ok() ? 0 : 1;
}

std::string counted(const jg::Counters& c) {
  std::ostringstream out;
  out << "rows " << c.rows << " bytes " << c.bytes << " batches " << c.batches << " repeated " << c.repeated_packets
      << " dropped " << c.dropped_packets;
  return out.str();
}

Status send(const jg::EdgeOptions& edge, jg::DatagramOptions options, jg::net::Fd socket, std::string* ok) {
  options.payload_ntf = word("payload", "").empty() ? "" : contents(word("payload", ""));
  const int threads = std::stoi(word("threads", "2")), times = std::stoi(word("times", "1"));
  jg::ntf::Descriptor descriptor;
  JG_RETURN_IF_ERROR(jg::ntf::parse_descriptor(edge.ntf, &descriptor));
  const std::string input = word("rows", "");
  const size_t colon = input.rfind(':');
  const auto rows = static_cast<uint32_t>(std::stoul(input.substr(colon + 1)));
  const std::string bytes = contents(input.substr(0, colon));
  auto* payload = static_cast<uint8_t*>(std::aligned_alloc(64, (bytes.size() + 64) & ~size_t{63}));
  std::memcpy(payload, bytes.data(), bytes.size());
  static std::unique_ptr<jg::Emitter> emitter;  // the thread below may name it until the process ends
  JG_RETURN_IF_ERROR(make_datagram_emitter(edge, options, std::move(socket), &emitter));
  std::thread([] {
    for (std::string line; std::getline(std::cin, line);) {
      if (line == "cancel") emitter->cancel();
    }
  }).detach();
  JG_RETURN_IF_ERROR(emitter->open());
  JG_RETURN_IF_ERROR(on_threads(threads, [&](int t) -> Status {
    const auto worker = emitter->worker();
    const auto decoder = jg::ntf::make_decoder(descriptor);
    JG_RETURN_IF_ERROR(decoder->open(payload, bytes.size(), rows));
    const size_t key = descriptor.columns.size() - options.words.size();
    std::vector<uint64_t> hashes(JG_BATCH_ROWS);
    for (int time = 0; time < times; time++) {
      for (uint32_t at = t * JG_BATCH_ROWS; at < rows; at += threads * JG_BATCH_ROWS) {
        JgBatch batch;
        JG_RETURN_IF_ERROR(decoder->batch(at, &batch));
        for (int32_t i = 0; i < batch.rows; i++)
          hashes[i] = static_cast<const uint64_t*>(batch.cols[key].data)[i] * 0x9E3779B97F4A7C15ull >> 32;
        JG_RETURN_IF_ERROR(worker->write(batch, edge.partitioning == "hash" ? hashes.data() : nullptr));
      }
    }
    return worker->flush();
  }));
  const Status status = emitter->finish();
  *ok = counted(emitter->counters);
  std::free(payload);
  return status;
}

Status receive(const jg::EdgeOptions& edge, jg::DatagramOptions options, jg::net::Fd socket, std::string* ok) {
  options.outputs = split(word("outputs", ""), ',');
  for (const std::string& drain : split(word("drains", ""), ',')) {
    const auto parts = split(drain, '/');
    options.drains.push_back({path(parts), static_cast<uint32_t>(std::stoul(parts.at(3))),
                              static_cast<uint32_t>(std::stoul(parts.at(4)))});
  }
  const int threads = std::stoi(word("threads", "2")), pause_ms = std::stoi(word("pause_ms", "0"));
  jg::ntf::Descriptor descriptor;
  JG_RETURN_IF_ERROR(jg::ntf::parse_descriptor(edge.ntf, &descriptor));
  static std::unique_ptr<jg::Source> source;  // answers until the process ends
  JG_RETURN_IF_ERROR(make_datagram_source(edge, options, std::move(socket), &source));
  std::thread([] {
    for (std::string line; std::getline(std::cin, line);) {
      if (line == "cancel") source->cancel();
    }
    std::_Exit(0);
  }).detach();
  JG_RETURN_IF_ERROR(source->open());
  const auto encoder = jg::ntf::make_encoder(descriptor);
  std::mutex mutex;
  JG_RETURN_IF_ERROR(on_threads(threads, [&](int) -> Status {
    const auto worker = source->worker();
    while (true) {
      JgBatch batch{};
      bool done = false;
      JG_RETURN_IF_ERROR(worker->next(&batch, &done));
      if (done) return {};
      if (!words.contains("into")) continue;
      const std::lock_guard lock(mutex);
      encoder->append(batch, {nullptr, 0, batch.rows});
      if (pause_ms) std::this_thread::sleep_for(std::chrono::milliseconds(pause_ms));
    }
  }));
  if (words.contains("into")) {
    std::vector<iovec> pieces;
    encoder->seal(&pieces);
    std::ofstream out(word("into", ""), std::ios::binary);
    for (const iovec& piece : pieces)
      out.write(static_cast<const char*>(piece.iov_base), static_cast<std::streamsize>(piece.iov_len));
  }
  *ok = counted(source->counters) + " delivered " + std::to_string(encoder->rows());
  return {};
}

int follow(int window_bits, uint32_t packets) {
  jg::datagram::FlowSender sender(window_bits);
  std::vector<uint32_t> numbers;
  for (std::string line; std::getline(std::cin, line);) {
    const auto said = split(line, ' ');
    const double now = std::strtod(said.back().c_str(), nullptr);
    if (said[0] == "ack") sender.acknowledged(static_cast<uint32_t>(std::stoul(said[1])), now);
    if (said[0] == "run") {
      sender.acknowledged_run(static_cast<uint32_t>(std::stoul(said[1])), static_cast<uint32_t>(std::stoul(said[2])),
                              now);
    }
    if (said[0] == "busy") sender.busy(now);
    if (said[0] != "due") continue;
    numbers.clear();
    if (!sender.due(now, packets, true, &numbers))
      std::printf("given up %u", sender.given_up());
    else
      for (const uint32_t number : numbers) std::printf("%u ", number);
    std::printf("\n");
  }
  return 0;
}

int answer() {
  jg::net::Fd socket;
  int port = 0;
  if (!jg::datagram::bind_socket("127.0.0.1", &socket, &port).ok()) return 1;
  jg::datagram::Answers answers;
  for (std::string line; std::getline(std::cin, line);) {
    const auto said = split(line, ' ');
    jg::datagram::Address to;
    if (!jg::datagram::resolve("127.0.0.1:" + said[1], socket.get(), &to).ok()) return 1;
    jg::datagram::Header header{jg::datagram::ACK, 0, static_cast<uint16_t>(std::stoul(said[3])), jg::datagram::kBusy,
                                std::stoull(said[2])};
    if (said[0] == "busy") answers.add(to, header);
    if (said[0] == "run") {
      answers.acknowledge(to, header, static_cast<uint32_t>(std::stoul(said[4])),
                          static_cast<uint32_t>(std::stoul(said[5])));
    }
  }
  jg::datagram::Outgoing outgoing(socket.get());
  answers.send(&outgoing);
  return 0;
}

Status run(bool sends, std::string* ok) {
  jg::EdgeOptions edge;
  jg::DatagramOptions options;
  edge.edge = "e1";
  edge.ntf = contents(word("ntf", ""));
  edge.partitioning = word("partitioning", "single");
  jg::ntf::Descriptor descriptor;
  JG_RETURN_IF_ERROR(jg::ntf::parse_descriptor(edge.ntf, &descriptor));
  options.slots = std::stoi(word("slots", "4"));
  options.window_bits = std::stoi(word("window_bits", "8"));
  if ((options.has_rows = word("tuple", "aggregate") == "prune")) options.words = {64, 32, 32};
  jg::net::Fd socket;
  int port = 0;
  JG_RETURN_IF_ERROR(jg::datagram::bind_socket("127.0.0.1", &socket, &port));
  std::printf("port %d\n", port);
  std::fflush(stdout);
  std::string line;
  std::getline(std::cin, line);
  const auto paths = split(line, ' ');
  for (size_t i = 1; i < paths.size(); i++) options.paths.push_back(path(split(paths[i], '/')));
  return sends ? send(edge, options, std::move(socket), ok) : receive(edge, options, std::move(socket), ok);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 4 && std::strcmp(argv[1], "flow") == 0) return follow(std::atoi(argv[2]), std::atoi(argv[3]));
  if (argc == 2 && std::strcmp(argv[1], "answers") == 0) return answer();
  for (int i = 2; i < argc; i++) {
    const char* equals = std::strchr(argv[i], '=');
    if (equals == nullptr) return 2;
    words[std::string(argv[i], equals - argv[i])] = equals + 1;
  }
  const bool sends = argc > 1 && std::strcmp(argv[1], "send") == 0;
  std::string ok;
  const Status status = run(sends, &ok);
  const int result = finish(status, ok);
  if (!sends && status.ok())
    while (true) std::this_thread::sleep_for(std::chrono::seconds(1));  // until the input ends
  std::_Exit(result);                                                   // a thread still reads the input
}
