// Reading the JSON that comes from our own control plane, in which any defect is a mistake of ours.
#pragma once
#include <string>
#include <vector>

#include "jg/status.h"
#include "simdjson.h"

namespace jg::config_json {

using simdjson::dom::array;
using simdjson::dom::element;

// Raised inside parsers only.
struct Bad {
  std::string what;
};

inline element member(element e, const char* name) {
  element found;
  if (e[name].get(found)) throw Bad{std::string("no \"") + name + "\""};
  return found;
}
inline std::string text(element e, const char* name) {
  std::string_view v;
  if (member(e, name).get(v)) throw Bad{std::string("\"") + name + "\" is not a string"};
  return std::string(v);
}
inline std::string text_or(element e, const char* name, const char* otherwise) {
  element found;
  return e[name].get(found) ? otherwise : text(e, name);
}
inline int64_t number(element e, const char* name) {
  int64_t v;
  if (member(e, name).get(v)) throw Bad{std::string("\"") + name + "\" is not an integer"};
  return v;
}
inline int64_t number_or(element e, const char* name, int64_t otherwise) {
  element found;
  return e[name].get(found) ? otherwise : number(e, name);
}
inline double decimal(element e, const char* name) {
  double v;
  if (member(e, name).get(v)) throw Bad{std::string("\"") + name + "\" is not a number"};
  return v;
}
inline bool flag(element e, const char* name, bool otherwise) {
  bool v;
  element found;
  if (e[name].get(found)) return otherwise;
  if (found.get(v)) throw Bad{std::string("\"") + name + "\" is not a bool"};
  return v;
}
inline array list(element e, const char* name) {
  array v;
  if (member(e, name).get(v)) throw Bad{std::string("\"") + name + "\" is not an array"};
  return v;
}
inline std::vector<int> ints(element e, const char* name) {
  std::vector<int> out;
  for (element x : list(e, name)) out.push_back(static_cast<int>(int64_t{x}));
  return out;
}
inline std::vector<std::string> texts(element e, const char* name) {
  std::vector<std::string> out;
  for (element x : list(e, name)) out.emplace_back(std::string_view{x});
  return out;
}

Status with_document(const std::string& json, auto&& use) {
  try {
    simdjson::dom::parser parser;
    element document;
    if (parser.parse(json).get(document)) return {"internal", "the configuration is not JSON"};
    use(document);
    return {};
  } catch (const Bad& bad) {
    return {"internal", "the configuration is malformed: " + bad.what};
  } catch (const std::exception& e) {
    return {"internal", std::string("the configuration is malformed: ") + e.what()};
  }
}

}  // namespace jg::config_json
