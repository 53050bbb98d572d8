// Failures are values: a code, and one sentence that names the place, what was expected and what was found.
//
// Device code: no heap, no exceptions. The text lives inside the object; a sentence that does not fit
// ends in "...".
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#ifndef RUNNEL_STATUS_CAPACITY
#ifdef __linux__
#define RUNNEL_STATUS_CAPACITY 1000
#else
#define RUNNEL_STATUS_CAPACITY 120
#endif
#endif

namespace runnel {

enum class Code : std::uint8_t {
  ok = 0,
  invalid_argument,  // the caller asked for something that makes no sense (parameter, option, call order)
  invalid_data,      // a file or stream is not what it claims to be
  unsupported,       // understood, but not something this build can do
  not_found,         // a name, file or device does not exist
  out_of_memory,     // the memory given is too small; the text says how much is needed where that is known
  io_error,          // the operating system refused
  mismatch,          // two parts that must agree do not (dims, formats, versions)
};

// "invalid argument", ...
std::string_view name_of(Code code) noexcept;

// Text of one line and fixed size, built by appending; excess is cut and marked, control
// characters become '?'.
class Text {
 public:
  Text() noexcept { text_[0] = '\0'; }
  Text& operator<<(std::string_view piece) noexcept;
  Text& operator<<(const char* piece) noexcept { return *this << std::string_view(piece); }
  Text& operator<<(char letter) noexcept { return *this << std::string_view(&letter, 1); }
  template <class Integer>
  requires std::is_integral_v<Integer> Text& operator<<(Integer value) noexcept {
    if constexpr (std::is_signed_v<Integer>)
      return number(static_cast<std::int64_t>(value));
    else
      return number(static_cast<std::uint64_t>(value));
  }
  [[nodiscard]] std::string_view view() const noexcept { return {text_, size_}; }

 private:
  Text& number(std::int64_t value) noexcept;
  Text& number(std::uint64_t value) noexcept;
  std::uint16_t size_ = 0;
  char text_[RUNNEL_STATUS_CAPACITY];
};

// Ok, or a code with its sentence. Cheap when ok: the text is not touched beyond its first byte.
class [[nodiscard]] Status {
 public:
  // Not defaulted: `return {}` would fill the whole text with zeros first.
  Status() noexcept {}  // NOLINT(modernize-use-equals-default)
  explicit Status(Code code) noexcept : code_(code) {}
  Status(Code code, std::string_view text) noexcept : code_(code) { text_ << text; }

  [[nodiscard]] bool ok() const noexcept { return code_ == Code::ok; }
  [[nodiscard]] Code code() const noexcept { return code_; }
  // One sentence without a final full stop, e.g. "tensor 3: rank 9, expected at most 6". Valid as long as
  // the Status lives.
  [[nodiscard]] std::string_view text() const noexcept { return text_.view(); }

  // Appends to the sentence: return Status(Code::invalid_data) << "section " << i << ": ...";
  template <class Piece>
  Status&& operator<<(const Piece& piece) && noexcept {
    text_ << piece;
    return std::move(*this);
  }
  template <class Piece>
  Status& operator<<(const Piece& piece) & noexcept {
    text_ << piece;
    return *this;
  }
  // The same failure with its place: "<place>: <text>".
  [[nodiscard]] Status at(std::string_view place) const noexcept;

 private:
  Code code_ = Code::ok;
  Text text_;
};

// A value, or why there is none.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}                   // NOLINT(google-explicit-constructor)
  Result(Status status) noexcept : status_(std::move(status)) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] bool ok() const noexcept { return value_.has_value(); }
  [[nodiscard]] const Status& status() const noexcept { return status_; }
  // Only when ok().
  [[nodiscard]] T& value() & noexcept { return *value_; }
  [[nodiscard]] const T& value() const& noexcept { return *value_; }
  [[nodiscard]] T&& value() && noexcept { return std::move(*value_); }
  T* operator->() noexcept { return &*value_; }
  const T* operator->() const noexcept { return &*value_; }
  T& operator*() & noexcept { return *value_; }
  const T& operator*() const& noexcept { return *value_; }
  T&& operator*() && noexcept { return std::move(*value_); }

 private:
  Status status_;
  std::optional<T> value_;
};

}  // namespace runnel

// Leaves the function with the failure, if there is one.
#define RUNNEL_TRY(expression)                                                                    \
  do {                                                                                            \
    if (::runnel::Status runnel_status = (expression); !runnel_status.ok()) return runnel_status; \
  } while (false)

#define RUNNEL_CONCAT_INNER(a, b) a##b
#define RUNNEL_CONCAT(a, b) RUNNEL_CONCAT_INNER(a, b)
// RUNNEL_ASSIGN(auto model, open(bytes)): declares or assigns the value, or leaves the function
// with the failure.
#define RUNNEL_ASSIGN(target, expression) \
  RUNNEL_ASSIGN_INNER(target, expression, RUNNEL_CONCAT(runnel_result_, __LINE__))
#define RUNNEL_ASSIGN_INNER(target, expression, result) \
  auto result = (expression);                           \
  if (!result.ok()) return result.status();             \
  target = std::move(result).value()
