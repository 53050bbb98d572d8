#include "services/net/request_head.h"

#include <algorithm>
#include <utility>

#include "services/net/access/origin.h"
#include "services/net/limits.h"

namespace runnel::net {
namespace {

constexpr std::string_view kEnd = "\r\n\r\n", kLine = "\r\n";

bool is_token(char letter) noexcept {
  constexpr std::string_view kOthers = "!#$%&'*+-.^_`|~";
  return (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'z') ||
         (letter >= 'A' && letter <= 'Z') || kOthers.find(letter) != std::string_view::npos;
}

bool is_printed(char letter) noexcept { return static_cast<unsigned char>(letter) > 0x20 && letter != 0x7f; }

// "GET /path HTTP/1.1"
bool is_request_line(std::string_view line) noexcept {
  const std::size_t first = line.find(' '), last = line.rfind(' ');
  if (first == std::string_view::npos || first == last) return false;
  const std::string_view method = line.substr(0, first), target = line.substr(first + 1, last - first - 1),
                         version = line.substr(last + 1);
  return !method.empty() && method.size() <= 16 &&
         std::all_of(method.begin(), method.end(), [](char c) { return c >= 'A' && c <= 'Z'; }) &&
         !target.empty() && target.front() == '/' && std::all_of(target.begin(), target.end(), is_printed) &&
         (version == "HTTP/1.1" || version == "HTTP/1.0");
}

}  // namespace

RequestHead::State RequestHead::wrong(int status, std::string_view fault) noexcept {
  status_ = status;
  fault_ = fault;
  return State::wrong;
}

RequestHead::State RequestHead::look(std::string_view bytes) noexcept {
  if (status_ != 0) return State::wrong;
  if (head_ == 0) {
    // What no request begins with need not be waited for.
    if (!bytes.empty() && !(bytes.front() >= 'A' && bytes.front() <= 'Z'))
      return wrong(400, "expected a request of HTTP");
    const std::size_t end = bytes.find(kEnd, looked_ < 3 ? 0 : looked_ - 3);
    looked_ = bytes.size();
    if (end == std::string_view::npos) {
      if (bytes.size() >= kLongestHead) return wrong(431, "the headers are longer than 8192 bytes");
      return State::more;
    }
    if (end + kEnd.size() > kLongestHead) return wrong(431, "the headers are longer than 8192 bytes");
    head_ = end + kEnd.size();
    if (check_head(bytes.substr(0, end)) == State::wrong) return State::wrong;
  }
  return bytes.size() < size() ? State::more : State::whole;
}

RequestHead::State RequestHead::check_head(std::string_view head) noexcept {
  std::size_t number = 0;
  bool new_version = false;
  for (bool more = true; more; ++number) {
    const std::size_t end = head.find(kLine);
    const std::string_view line = head.substr(0, end);
    more = end != std::string_view::npos;
    if (more) head.remove_prefix(end + kLine.size());
    if (number == 0) {
      if (!is_request_line(line)) return wrong(400, "expected a request line, e.g. GET / HTTP/1.1");
      new_version = line.back() == '1';
      continue;
    }
    if (number > kMostHeaders) return wrong(431, "more than 64 headers");
    if (check_header(line) == State::wrong) return State::wrong;
  }
  if (new_version && !has_host_) return wrong(400, "expected a header Host");
  return State::whole;
}

RequestHead::State RequestHead::check_header(std::string_view line) noexcept {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || colon == 0 ||
      !std::all_of(line.begin(), line.begin() + static_cast<std::ptrdiff_t>(colon), is_token))
    return wrong(400, "expected headers as NAME: VALUE");
  const std::string_view name = line.substr(0, colon);
  std::string_view value = line.substr(colon + 1);
  for (const char letter : value) {
    if (letter != '\t' && letter != ' ' && !is_printed(letter))
      return wrong(400, "a control character in a header");
  }
  while (!value.empty() && (value.front() == ' ' || value.front() == '\t')) value.remove_prefix(1);
  while (!value.empty() && (value.back() == ' ' || value.back() == '\t')) value.remove_suffix(1);
  const auto once = [&](bool& has) { return !std::exchange(has, true); };
  if (same_without_case(name, "host")) {
    if (!once(has_host_)) return wrong(400, "two headers Host");
  } else if (same_without_case(name, "authorization")) {
    if (!once(has_authorization_)) return wrong(400, "two headers Authorization");
  } else if (same_without_case(name, "transfer-encoding")) {
    return wrong(411, "expected a Content-Length");
  } else if (same_without_case(name, "content-length")) {
    if (!once(has_length_)) return wrong(400, "two headers Content-Length");
    if (value.empty() || value.size() > 10 || value.find_first_not_of("0123456789") != std::string_view::npos)
      return wrong(400, "expected a number in Content-Length");
    for (const char digit : value) body_ = body_ * 10 + static_cast<std::size_t>(digit - '0');
    if (body_ > kLongestBody) return wrong(413, "the body is longer than 1024 bytes");
  }
  return State::whole;
}

}  // namespace runnel::net
