#include "services/net/access/tokens.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <mutex>
#include <span>
#include <utility>

#include "base/host/small_file.h"
#include "services/net/access/token.h"
#include "services/net/limits.h"

namespace runnel::net {
namespace {

constexpr std::array<Scope, 3> kScopes = {Scope::stream, Scope::watch, Scope::manage};
constexpr std::string_view kPrefix = "sha256:";
constexpr std::string_view kBlank = " \t\r";

// The next word of a line, without it.
std::string_view take_word(std::string_view& line) {
  const std::size_t start = std::min(line.find_first_not_of(kBlank), line.size());
  line.remove_prefix(start);
  const std::size_t end = std::min(line.find_first_of(kBlank), line.size());
  const std::string_view word = line.substr(0, end);
  line.remove_prefix(end);
  return word;
}

int digit_of(char letter) noexcept {
  if (letter >= '0' && letter <= '9') return letter - '0';
  if (letter >= 'a' && letter <= 'f') return letter - 'a' + 10;
  if (letter >= 'A' && letter <= 'F') return letter - 'A' + 10;
  return -1;
}

bool read_digest(std::string_view text, Sha256Digest& digest) {
  if (text.size() != 2 * digest.size()) return false;
  for (std::size_t i = 0; i < digest.size(); ++i) {
    const int high = digit_of(text[2 * i]), low = digit_of(text[2 * i + 1]);
    if (high < 0 || low < 0) return false;
    digest[i] = static_cast<std::uint8_t>(high * 16 + low);
  }
  return true;
}

bool read_scopes(std::string_view text, Scopes& scopes) {
  while (true) {
    const std::size_t comma = text.find(',');
    const std::string_view name = text.substr(0, comma);
    bool known = false;
    for (const Scope scope : kScopes) {
      if (name != name_of(scope)) continue;
      scopes = scopes | scope;
      known = true;
    }
    if (!known) return false;
    if (comma == std::string_view::npos) return true;
    text.remove_prefix(comma + 1);
  }
}

Sha256Digest digest_of(std::string_view token) noexcept {
  return sha256(std::as_bytes(std::span(token.data(), token.size())));
}

std::string_view as_text(const Sha256Digest& digest) noexcept {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

}  // namespace

std::string_view name_of(Scope scope) noexcept {
  switch (scope) {
    case Scope::stream:
      return "stream";
    case Scope::watch:
      return "watch";
    case Scope::manage:
      return "manage";
  }
  return {};
}

Result<std::vector<TokenRow>> parse_tokens(std::string_view text, std::string_view name) {
  std::vector<TokenRow> rows;
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::string_view scopes = take_word(line);
    if (scopes.empty() || scopes.front() == '#') continue;
    const auto wrong = [&](std::string_view expected) {
      return Status(Code::invalid_data) << name << ": line " << number << ": expected " << expected;
    };
    TokenRow row;
    if (!read_scopes(scopes, row.scopes))
      return wrong("scopes first, some of stream,watch,manage with commas between them");
    const std::string_view digest = take_word(line);
    if (!digest.starts_with(kPrefix) || !read_digest(digest.substr(kPrefix.size()), row.digest))
      return wrong("sha256: and 64 hexadecimal digits after the scopes, the digest of a token");
    if (rows.size() == kMostTokens)
      return Status(Code::invalid_data) << name << ": more than " << kMostTokens << " tokens";
    rows.push_back(row);
  }
  // Without one, nobody could come in: a mistake rather than an intention.
  if (rows.empty())
    return Status(Code::invalid_data) << name << ": no token, expected lines such as stream sha256:DIGEST";
  return rows;
}

struct Tokens::Shared {
  std::string file;           // empty: none
  std::vector<TokenRow> own;  // not from the file
  mutable std::mutex mutex;
  std::shared_ptr<const std::vector<TokenRow>> rows;

  Status load() {
    std::vector<TokenRow> all = own;
    if (!file.empty()) {
      RUNNEL_ASSIGN(const std::string text, read_small_file(file));
      RUNNEL_ASSIGN(const std::vector<TokenRow> read, parse_tokens(text, file));
      all.insert(all.end(), read.begin(), read.end());
    }
    auto fresh = std::make_shared<const std::vector<TokenRow>>(std::move(all));
    const std::lock_guard lock(mutex);
    rows = std::move(fresh);
    return {};
  }
};

Tokens::Tokens(std::string_view token) {
  if (token.empty()) return;
  shared_ = std::make_shared<Shared>();
  shared_->own.push_back({Scopes::all(), digest_of(token)});
  shared_->rows = std::make_shared<const std::vector<TokenRow>>(shared_->own);
}

Result<Tokens> Tokens::read(const std::string& file, std::string_view token) {
  Tokens tokens(token);
  if (file.empty()) return tokens;
  if (tokens.shared_ == nullptr) tokens.shared_ = std::make_shared<Shared>();
  tokens.shared_->file = file;
  RUNNEL_TRY(tokens.shared_->load());
  return tokens;
}

Scopes Tokens::of(std::string_view shown) const {
  if (shared_ == nullptr) return Scopes::all();
  std::shared_ptr<const std::vector<TokenRow>> rows;
  {
    const std::lock_guard lock(shared_->mutex);
    rows = shared_->rows;
  }
  // Nobody's token is that long: a stranger must not make us digest megabytes.
  if (shown.size() > kLongestToken) return {};
  const Sha256Digest digest = digest_of(shown);
  Scopes scopes;
  for (const TokenRow& row : *rows)
    scopes = scopes | (equal_in_constant_time(as_text(digest), as_text(row.digest)) ? row.scopes : Scopes());
  return scopes;
}

Status Tokens::reload() const {
  if (shared_ == nullptr) return {};
  return shared_->load();
}

}  // namespace runnel::net
