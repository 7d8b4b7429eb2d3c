#include "objects/webhdfs.h"

#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <charconv>

#include "simdjson.h"

namespace jg::objects::webhdfs {
namespace {

constexpr const char* kTag = "hdfs:";
// Exceptions of namenodes that are not the active one, and of those that a later request may not meet.
constexpr const char* kInactive[] = {"StandbyException", "ObserverRetryOnActiveException"};
constexpr const char* kTransient[] = {"SafeModeException", "RetriableException", "ServerTooBusyException"};
constexpr const char* kForbidden[] = {"AccessControlException", "SecurityException", "InvalidToken",
                                      "AuthorizationException", "AuthenticationException"};

template <size_t N>
bool is_any(const std::string& text, const char* const (&of)[N]) {
  return std::find(std::begin(of), std::end(of), text) != std::end(of);
}

std::string decoded(const std::string& text) {
  std::string out;
  for (size_t i = 0; i < text.size(); i++) {
    unsigned char byte = 0;
    const char* const digits = text.data() + i + 1;
    if (text[i] == '%' && i + 2 < text.size() && std::from_chars(digits, digits + 2, byte, 16).ptr == digits + 2) {
      out += static_cast<char>(byte);
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

std::string path_of(const Url& url) { return decoded(url.target.substr(0, url.target.find('?'))); }

// Whether a host is what only this machine, or its link, reaches: a loopback or link-local address.
bool is_near(const std::string& host) {
  return host == "localhost" || host.starts_with("127.") || host.starts_with("169.254.") || host == "0.0.0.0" ||
         host == "[::1]" || host == "[::]" || host.starts_with("[fe80:") || host.starts_with("[::ffff:127.");
}

// A member of the object `of` of an answer in JSON, as text; empty: it has none.
std::string member(const std::string& json, const char* of, const char* name) {
  simdjson::dom::parser parser;
  simdjson::dom::element found;
  if (parser.parse(json)[of][name].get(found)) return "";
  std::string_view text;
  if (!found.get(text)) return std::string(text);
  int64_t number = 0;
  return found.get(number) ? "" : std::to_string(number);
}

}  // namespace

bool is_file(const Object& object) { return object.tag.starts_with(kTag); }

std::vector<std::string> namenodes(const Object& object) {
  std::vector<std::string> found;
  for (size_t at = 0; at < object.url.size();) {
    const size_t end = std::min(object.url.find(' ', at), object.url.size());
    found.push_back(object.url.substr(at, end - at));
    at = end + 1;
  }
  return found;
}

std::string opening(const std::string& namenode, int64_t offset, int64_t bytes) {
  return namenode + "op=OPEN&offset=" + std::to_string(offset) + "&length=" + std::to_string(bytes);
}

std::string without(const std::string& opening, const Url& datanode) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  if (getaddrinfo(datanode.host.c_str(), nullptr, &hints, &found) != 0) return opening;
  char address[NI_MAXHOST];  // by which namenodes know it
  const bool is_known =
      getnameinfo(found->ai_addr, found->ai_addrlen, address, sizeof address, nullptr, 0, NI_NUMERICHOST) == 0;
  freeaddrinfo(found);
  return is_known ? opening + "&excludedatanodes=" + address : opening;
}

std::string asking_status(const std::string& namenode) { return namenode + "op=GETFILESTATUS"; }

bool may_follow(const Url& from, const Url& to, bool insecure) {
  if (to.is_encrypted != from.is_encrypted || path_of(to) != path_of(from)) return false;
  if (is_near(from.host)) return is_near(to.host) || to.is_encrypted || insecure;
  return !is_near(to.host);
}

Status refusal(const Answer& answer, const std::string& body, bool* is_unsure, bool* is_inactive) {
  const std::string exception = member(body, "RemoteException", "exception"), status = std::to_string(answer.status);
  *is_inactive = is_any(exception, kInactive);
  if (*is_inactive || is_any(exception, kTransient)) return {"unreachable", exception};
  if (answer.status == 404) return {"file_changed", "it was removed while a query read it: run the query again"};
  if (answer.status == 401 || is_any(exception, kForbidden))
    return {"io", "HDFS refuses it (" + (exception.empty() ? status : exception) + "), or the right to it expired"};
  *is_unsure = answer.status == 403;  // an offset behind the end, among others
  return {"unreachable", exception.empty() ? "answer " + status : exception};
}

Status check_version(const std::string& body, const Object& object) {
  const auto status = [&body](const char* name) { return member(body, "FileStatus", name); };
  const std::string id = status("fileId"), tag = kTag + (id.empty() ? "0" : id) + ":" + status("modificationTime");
  if (tag == object.tag && status("length") == std::to_string(object.size)) return {};
  return {"file_changed", "it was replaced while a query read it: run the query again"};
}

}  // namespace jg::objects::webhdfs
