// The beginning of a request over HTTP/1, checked as bytes before anything understands it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace runnel::net {

// Stricter than the standard asks: each line ends with CR LF, no line is folded, a header that decides
// something comes once, and a body has a stated length of at most kLongestBody (limits.h). So no two readers
// can understand a request in two ways. Not thread-safe.
class RequestHead {
 public:
  enum class State : std::uint8_t { more, whole, wrong };

  // `bytes`: all that have come so far, those of earlier calls at their front. Looks at new ones only, until
  // the head is complete.
  State look(std::string_view bytes) noexcept;

  // whole: bytes of head and body. More may follow (of a WebSocket).
  [[nodiscard]] std::size_t size() const noexcept { return head_ + body_; }
  // wrong: the status of the answer, and a sentence.
  [[nodiscard]] int status() const noexcept { return status_; }
  [[nodiscard]] std::string_view fault() const noexcept { return fault_; }

 private:
  State wrong(int status, std::string_view fault) noexcept;
  State check_head(std::string_view head) noexcept;
  State check_header(std::string_view line) noexcept;

  std::size_t looked_ = 0, head_ = 0, body_ = 0;
  int status_ = 0;
  std::string_view fault_;
  bool has_host_ = false, has_length_ = false, has_authorization_ = false;
};

}  // namespace runnel::net
