// WebHDFS and HttpFS as far as ranges of files need them: what is asked, and what answers mean. The version of a file
// of HDFS begins with "hdfs:"; its URL is one for each namenode, with a space between, to which a request is appended.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "jg/objects.h"
#include "jg/status.h"
#include "objects/http.h"

namespace jg::objects::webhdfs {

bool is_file(const Object& object);
// The URLs of a file, one for each namenode.
std::vector<std::string> namenodes(const Object& object);
std::string opening(const std::string& namenode, int64_t offset, int64_t bytes);
// The same request, for bytes from another datanode if there is one.
std::string without(const std::string& opening, const Url& datanode);
std::string asking_status(const std::string& namenode);

// Whether a request to a namenode may be led on: to the same file by WebHDFS of another host. From another machine it
// is never led to what listens on this one or its link alone, nor over an open network that is not `insecure`.
bool may_follow(const Url& from, const Url& to, bool insecure);

// What an answer that has no bytes means: "io", "file_changed", or "unreachable" where it may be tried again.
// is_unsure: the file may be in another version. is_inactive: another namenode may know.
Status refusal(const Answer& answer, const std::string& body, bool* is_unsure, bool* is_inactive);
// "file_changed" unless the status of a file says that it is in this version.
Status check_version(const std::string& body, const Object& object);

}  // namespace jg::objects::webhdfs
