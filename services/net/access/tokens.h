// Who may do what: tokens, each with scopes. Only their digests are kept.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/sha256.h"
#include "base/status.h"

namespace runnel::net {

enum class Scope : std::uint8_t {
  stream = 1,  // send sound, get its decisions
  watch = 2,   // read pages, metrics, messages, recordings
  manage = 4,  // stop the program, have it read its files again
};

class Scopes {
 public:
  constexpr Scopes() noexcept = default;
  constexpr Scopes(Scope scope) noexcept : bits_(static_cast<std::uint8_t>(scope)) {}  // NOLINT
  static constexpr Scopes all() noexcept { return Scopes(Scope::stream) | Scope::watch | Scope::manage; }
  [[nodiscard]] constexpr bool has(Scope scope) const noexcept {
    return (bits_ & static_cast<std::uint8_t>(scope)) != 0;
  }
  [[nodiscard]] constexpr bool none() const noexcept { return bits_ == 0; }
  constexpr Scopes operator|(Scopes other) const noexcept {
    Scopes both;
    both.bits_ = static_cast<std::uint8_t>(bits_ | other.bits_);
    return both;
  }
  constexpr bool operator==(const Scopes&) const noexcept = default;

 private:
  std::uint8_t bits_ = 0;
};

std::string_view name_of(Scope scope) noexcept;

// One row of a file: "stream,watch sha256:HEX [anything]".
struct TokenRow {
  Scopes scopes;
  Sha256Digest digest{};
};

// The rows of a file's text; empty lines and those that begin with # are left out. Error: invalid_data, with
// the number of the line and never with its text, which may be a token. `name`: of the file, for the error.
Result<std::vector<TokenRow>> parse_tokens(std::string_view text, std::string_view name);

// A handle: copies share what they know, reload() included. Thread-safe, except for assignments.
class Tokens {
 public:
  // None: everybody may do everything.
  Tokens() = default;
  // One with all scopes.
  Tokens(std::string_view token);  // NOLINT(google-explicit-constructor)
  Tokens(const std::string& token) : Tokens(std::string_view(token)) {}  // NOLINT
  Tokens(const char* token) : Tokens(std::string_view(token)) {}         // NOLINT

  // From a file, and from a single token with all scopes unless it is empty. Errors: not_found, invalid_data.
  static Result<Tokens> read(const std::string& file, std::string_view token);

  [[nodiscard]] bool empty() const noexcept { return shared_ == nullptr; }
  // What somebody who shows this may do: everything if there are no tokens. All rows are compared whole, so
  // that the time does not depend on them.
  [[nodiscard]] Scopes of(std::string_view shown) const;
  // Reads the file again; after an error the tokens stay as they are.
  Status reload() const;

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

}  // namespace runnel::net
