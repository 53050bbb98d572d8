#include "decoding/host/tokens_file.h"

#include <cmath>
#include <cstdint>
#include <optional>

#include "base/from_chars.h"
#include "base/host/small_file.h"
#include "base/limits.h"

namespace runnel::decoding {
namespace {

constexpr std::size_t kLongestPiece = limits::kTokenBytes;

struct Line {
  std::string_view piece, number;
  bool tab = false;
};

template <class T>
std::optional<T> number_in(std::string_view text) {
  T value{};
  const auto [end, error] = runnel::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return value;
}

// Cut before the last column. A line that begins with its separator has a space as its piece.
Line cut(std::string_view line) {
  const std::size_t at = line.find_last_of(" \t");
  if (at == std::string_view::npos) return {line, {}, false};
  std::string_view piece = line.substr(0, at);
  if (piece.empty()) piece = " ";
  return {piece, line.substr(at + 1), line[at] == '\t'};
}

Status bad_line(std::string_view name, std::size_t line) {
  return Status(Code::invalid_data) << name << ", line " << line + 1 << ": ";
}

Status check_piece(std::string_view piece, std::string_view name, std::size_t line) {
  if (piece.empty()) return bad_line(name, line) << "is empty, expected a token";
  if (piece.size() > kLongestPiece)
    return bad_line(name, line) << "a token of " << piece.size() << " bytes, expected at most "
                                << kLongestPiece;
  for (const char letter : piece)
    if (static_cast<unsigned char>(letter) < ' ')
      return bad_line(name, line) << "a token with control characters, expected text";
  return {};
}

Result<TokenList> numbered(const std::vector<std::string_view>& lines, std::string_view name) {
  TokenList list;
  list.pieces.resize(lines.size());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const Line line = cut(lines[i]);
    const auto number = number_in<std::int64_t>(line.number);
    if (!number)
      return bad_line(name, i) << '"' << lines[i]
                               << "\", expected a token and its number, as in the first line";
    if (*number < 0 || *number >= static_cast<std::int64_t>(lines.size()))
      return bad_line(name, i) << "number " << *number << ", expected 0 to " << lines.size() - 1
                               << " in a file of " << lines.size() << " tokens";
    RUNNEL_TRY(check_piece(line.piece, name, i));
    std::string& piece = list.pieces[static_cast<std::size_t>(*number)];
    if (!piece.empty())
      return bad_line(name, i) << "number " << *number << " again, it is \"" << piece << '"';
    piece = line.piece;
  }
  return list;
}

Result<TokenList> scored(const std::vector<std::string_view>& lines, std::string_view name) {
  TokenList list;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const Line line = cut(lines[i]);
    const auto score = number_in<float>(line.number);
    if (!score || !line.tab || !std::isfinite(*score))
      return bad_line(name, i) << '"' << lines[i]
                               << "\", expected a token, a tab and its score, as in the first line";
    RUNNEL_TRY(check_piece(line.piece, name, i));
    list.pieces.emplace_back(line.piece);
    list.scores.push_back(*score);
  }
  return list;
}

// Whether a second column after a tab holds scores rather than numbers of tokens.
bool has_scores(const std::vector<std::string_view>& lines) {
  for (const std::string_view text : lines) {
    const Line line = cut(text);
    if (!line.tab || !number_in<float>(line.number)) return false;
    if (line.number.find_first_of("-.") != std::string_view::npos) return true;
  }
  return false;
}

}  // namespace

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.push_back(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  while (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  for (;;) {
    const std::size_t start = line.find_first_not_of(" \t");
    if (start == std::string_view::npos) return words;
    line.remove_prefix(start);
    const std::size_t end = std::min(line.find_first_of(" \t"), line.size());
    words.push_back(line.substr(0, end));
    line.remove_prefix(end);
  }
}

Result<TokenList> parse_tokens(std::string_view text, std::string_view name) {
  const std::vector<std::string_view> lines = lines_of(text);
  if (lines.empty()) return Status(Code::invalid_data) << name << ": has no tokens";
  if (has_scores(lines)) return scored(lines, name);
  if (number_in<std::int64_t>(cut(lines[0]).number)) return numbered(lines, name);
  TokenList list;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    RUNNEL_TRY(check_piece(lines[i], name, i));
    list.pieces.emplace_back(lines[i]);
  }
  return list;
}

Result<TokenList> read_tokens(const std::string& path) {
  RUNNEL_ASSIGN(const std::string text, read_small_file(path));
  return parse_tokens(text, path);
}

}  // namespace runnel::decoding
