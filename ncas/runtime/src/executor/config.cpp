#include "executor/config.h"

#include <charconv>
#include <cstdlib>

#include "base/config_json.h"
#include "edges/tls.h"
#include "executor/channels.h"
#include "jg/ntf.h"
#include "jg/objects.h"

namespace jg {
namespace config_json {
namespace {

std::vector<ColumnSpec> columns(element e, const char* name);

ColumnSpec column(element e) {
  static constexpr std::pair<std::string_view, Nesting> kNested[] = {
      {"struct", Nesting::kStruct}, {"list", Nesting::kList}, {"map", Nesting::kMap}};
  ColumnSpec spec;
  spec.name = text(e, "name");
  const std::string type = text(e, "type");
  const auto plain = [&type](std::string_view name) {
    return type == name || (type.starts_with(name) && type.substr(name.size()) == "?");
  };
  for (auto [name, nesting] : kNested) {
    if (!plain(name)) continue;
    spec.nesting = nesting;
    spec.parts = columns(e, "parts");
  }
  if (!ntf::parse_type(spec.nesting == Nesting::kNone ? type : type.ends_with('?') ? "binary?" : "binary", &spec))
    throw Bad{"unknown type " + type};
  element path;
  if (!e["path"].get(path)) spec.path = texts(e, "path");
  return spec;
}

std::vector<ColumnSpec> columns(element e, const char* name) {
  std::vector<ColumnSpec> out;
  for (element c : list(e, name)) out.push_back(column(c));
  return out;
}

jg_i128 wide(std::string_view v) {
  const bool negative = !v.empty() && v[0] == '-';
  unsigned __int128 u = 0;
  for (char c : v.substr(negative)) u = u * 10 + static_cast<unsigned>(c - '0');
  return static_cast<jg_i128>(negative ? -u : u);
}
int64_t integer(std::string_view v) { return static_cast<int64_t>(wide(v)); }
double real(std::string_view v) { return std::strtod(std::string(v).c_str(), nullptr); }  // hexadecimal: exact

JgStr base64(std::string_view v, Arena* arena) {
  auto value = [](char c) -> unsigned {
    return c >= 'A' && c <= 'Z'   ? c - 'A'
           : c >= 'a' && c <= 'z' ? c - 'a' + 26
           : c >= '0' && c <= '9' ? c - '0' + 52
           : c == '+'             ? 62
                                  : 63;
  };
  while (!v.empty() && v.back() == '=') v.remove_suffix(1);
  char* p = arena->bytes(v.size());
  uint64_t n = 0;
  unsigned bits = 0;
  int have = 0;
  for (char c : v) {
    bits = bits << 6 | value(c);
    if ((have += 6) >= 8) p[n++] = static_cast<char>(bits >> (have -= 8));
  }
  return {p, n};
}

template <typename T, typename F>
JgList items(element e, Arena* arena, F convert) {
  const array values = list(e, "values");
  T* out = reinterpret_cast<T*>(arena->bytes(values.size() * sizeof(T)));
  int64_t n = 0;
  for (element x : values) out[n++] = convert(std::string_view{x});
  return {out, n};
}

JgParam param(element e, Arena* arena) {
  JgParam p{};
  const std::string kind = text(e, "type");
  auto bytes = [arena](std::string_view v) { return base64(v, arena); };
  if (kind == "list_int")
    p.list = items<int64_t>(e, arena, integer);
  else if (kind == "list_wide")
    p.list = items<jg_i128>(e, arena, wide);
  else if (kind == "list_double")
    p.list = items<double>(e, arena, real);
  else if (kind == "list_text")
    p.list = items<JgStr>(e, arena, bytes);
  else if (kind == "int")
    p.i = integer(text(e, "value"));
  else if (kind == "wide")
    p.d = wide(text(e, "value"));
  else if (kind == "double")
    p.f = real(text(e, "value"));
  else if (kind == "float")
    p.f32 = static_cast<float>(real(text(e, "value")));
  else if (kind == "text")
    p.s = base64(text(e, "value"), arena);
  else
    throw Bad{"unknown parameter type " + kind};
  return p;
}

EdgeOptions edge(element e, const Config& config, const std::string& token) {
  EdgeOptions o;
  o.job = config.job;
  o.token = token;
  o.edge = text(e, "edge");
  o.ntf = text(e, "ntf");
  o.fingerprint = text(e, "fingerprint");
  o.index = static_cast<int>(number_or(e, "index", 0));
  o.producers = static_cast<int>(number_or(e, "producers", 1));
  o.partitioning = text_or(e, "partitioning", "single");
  o.frame_bytes_max = static_cast<size_t>(number_or(e, "frame_bytes_max", 0));
  o.timeout_ms = static_cast<int>(number_or(e, "timeout_ms", 30000));
  element peers;
  if (!e["peers"].get(peers)) o.peers = texts(e, "peers");
  element heavy;
  if (!e["heavy"].get(heavy)) {
    for (element x : list(e, "heavy")) o.heavy.push_back(static_cast<uint64_t>(int64_t{x}));
    o.copied = flag(e, "copied", false);
  }
  return o;
}

EdgeOptions shared(element e, const Config& config, const std::string& token, const FileSourceOptions& files) {
  EdgeOptions o;
  o.job = config.job;
  o.token = token;
  o.edge = text(e, "scan");
  o.index = files.share_index;
  o.producers = files.share_count;
  o.peers = texts(e, "peers");
  o.timeout_ms = static_cast<int>(number(e, "timeout_ms"));
  return o;
}

EdgeEnd end(element e) {
  EdgeEnd end;
  const std::string name = text(e, "channel");
  if (!(end.channel = find_channel(name))) throw Bad{"unknown channel " + name + "; there are " + channel_names()};
  element more;
  if (!e["end"].get(more)) end.options = simdjson::minify(more);
  return end;
}

FileSourceOptions files(element e, const Config& config) {
  FileSourceOptions o;
  o.format = text(e, "format");
  o.reader = text_or(e, "reader", "");
  o.files = texts(e, "files");
  for (element state : list(e, "states")) {
    FileState known;
    int64_t* const fields[] = {&known.size, &known.mtime_ns, &known.inode, &known.device};
    size_t i = 0;
    for (element x : array{state}) *fields[i++ & 3] = int64_t{x};
    o.states.push_back(known);
  }
  element objects;
  if (!e["objects"].get(objects)) {
    for (element x : list(e, "objects"))
      objects::add(text(x, "file"),
                   {text(x, "url"), text(x, "tag"), text(x, "modified"), number(x, "size"), text(x, "chunks"),
                    flag(x, "proven", false), decimal(x, "request_s"), decimal(x, "byte_s"),
                    decimal(x, "request_price"), text(x, "authorization"), flag(x, "insecure", false)});
    if (const int64_t kept = number_or(e, "cache_bytes", 0)) objects::keep_chunks(kept);
  }
  o.file_columns = columns(e, "file_columns");
  o.positions = ints(e, "positions");
  for (int p : o.positions) o.columns.push_back(o.file_columns.at(p));
  for (element x : list(e, "early")) o.early.push_back(bool{x});
  simdjson::dom::object options;
  if (member(e, "options").get(options)) throw Bad{"\"options\" is not an object"};
  for (auto [key, value] : options) o.options.emplace_back(key, std::string_view{value});
  o.share_index = static_cast<int>(number_or(e, "share_index", 0));
  o.share_count = static_cast<int>(number_or(e, "share_count", 1));
  o.threads = config.threads;
  for (size_t f = 0; element owners : list(e, "owners")) {
    if (f == o.files.size()) throw Bad{"\"owners\" are of more files than there are"};
    for (element owner : simdjson::dom::array{owners}) o.owners[o.files[f]].push_back(static_cast<int>(int64_t{owner}));
    f++;
  }
  for (element b : list(e, "bounds"))
    o.bounds.push_back({static_cast<int>(number(b, "column")), text(b, "op"), text(b, "value")});
  element wishes;
  o.summarised = !e["wishes"].get(wishes);
  if (o.summarised) {
    for (element w : list(e, "wishes")) o.wishes.push_back({flag(w, "count", false), flag(w, "extremes", false)});
    if (o.wishes.size() != o.columns.size()) throw Bad{"\"wishes\" are not one a column"};
  }
  return o;
}

void parse(element e, Config* c) {
  c->job = text(e, "job");
  c->instance = text(e, "instance");
  c->artifact = text(e, "artifact");
  c->threads = std::max<int>(1, static_cast<int>(number(e, "threads")));
  c->memory_limit_bytes = number(e, "memory_limit_bytes");
  c->yields = flag(e, "yields", false);
  const std::string token = text(e, "token");
  element tls;
  if (!e["tls"].get(tls)) {
    c->certificate = text(tls, "certificate");
    c->key = text(tls, "key");
  }
  c->param_memory.push_back(std::make_unique<Arena>());
  for (element p : list(e, "params")) c->params.push_back(param(p, c->param_memory[0].get()));
  for (element s : list(e, "sources")) {
    SourceConfig source;
    source.is_edge = text(s, "kind") != "files";
    source.name = text_or(s, "name", "");
    if (source.is_edge) {
      source.edge = edge(s, *c, token);
      source.end = end(s);
    } else {
      source.files = files(s, *c);
      element shares;
      if (!s["shares"].get(shares)) {
        source.edge = shared(shares, *c, token, source.files);
        source.files.parts_wanted = number(shares, "parts");
      }
    }
    c->sources.push_back(std::move(source));
  }
  for (element s : list(e, "sinks")) c->sinks.push_back({edge(s, *c, token), end(s)});
  element program = member(e, "program");
  for (element t : list(program, "tables"))
    c->tables.push_back({flag(t, "has_keys", true), flag(t, "is_expanded", false), flag(t, "on_disk", false),
                         number_or(t, "limit", -1), number_or(t, "offset", 0), 0});
  for (element p : list(program, "pipelines")) {
    PipelineConfig pipeline;
    pipeline.stage = static_cast<int>(number(p, "stage"));
    pipeline.name = text(p, "name");
    pipeline.source_kind = text(p, "source_kind");
    pipeline.source = static_cast<int>(number(p, "source"));
    pipeline.build = static_cast<int>(number_or(p, "build", -1));
    pipeline.ordered = flag(p, "ordered", false);
    pipeline.feeds = ints(p, "feeds");
    pipeline.needs = ints(p, "needs");
    pipeline.after = ints(p, "after");
    pipeline.sinks = ints(p, "sinks");
    const auto table = static_cast<size_t>(pipeline.source);
    if (pipeline.source_kind == "drain" && table < c->tables.size()) c->tables[table].readers++;
    c->pipelines.push_back(std::move(pipeline));
  }
  for (element l : list(program, "limits")) c->limits.push_back({number(l, "count"), number(l, "offset")});
}

}  // namespace
}  // namespace config_json

Status parse_config(const std::string& json, Config* out) {
  JG_RETURN_IF_ERROR(config_json::with_document(json, [out](config_json::element e) { config_json::parse(e, out); }));
  if (out->certificate.empty()) return {};
  std::shared_ptr<const net::Tls> tls;
  JG_RETURN_IF_ERROR(net::make_tls(out->certificate, out->key, &tls));
  for (SourceConfig& source : out->sources) source.edge.tls = tls;
  for (SinkConfig& sink : out->sinks) sink.edge.tls = tls;
  return {};
}

Status parse_allocate(const std::string& json, AllocateConfig* out) {
  using namespace config_json;
  return with_document(json, [&](element e) {
    out->bind = text_or(e, "bind", "127.0.0.1");
    simdjson::dom::object ends;
    if (e["ends"].get(ends)) return;
    for (auto [edge, name] : ends) {
      const Channel* channel = find_channel(std::string_view{name});
      if (channel == nullptr || channel->open == nullptr) {
        throw Bad{"edges over " + std::string(std::string_view{name}) + " have no ends of their own"};
      }
      out->ends.emplace_back(edge, channel);
    }
  });
}

}  // namespace jg
