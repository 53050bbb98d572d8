#include "decoding/host/speller.h"

#include <algorithm>
#include <limits>

namespace runnel::decoding {
namespace {

// Worse than any score of a model, so that bytes are a last resort.
constexpr float kByteScore = -100;

std::string in_case(std::string_view text, char from, char to, int shift) {
  std::string changed(text);
  for (char& letter : changed)
    if (letter >= from && letter <= to) letter = static_cast<char>(letter + shift);
  return changed;
}

// The whole character of UTF-8 that byte `at` belongs to.
std::string_view character_at(std::string_view text, std::size_t at) {
  const auto inner = [&](std::size_t i) { return (static_cast<unsigned char>(text[i]) & 0xC0u) == 0x80u; };
  std::size_t begin = at, end = at + 1;
  while (begin > 0 && inner(begin)) --begin;
  while (end < text.size() && inner(end)) ++end;
  return text.substr(begin, end - begin);
}

}  // namespace

Speller::Speller(const Vocabulary& vocabulary, std::vector<float> scores)
    : vocabulary_(vocabulary), scores_(std::move(scores)) {
  std::vector<std::int32_t> bytes(256, -1);
  for (std::int32_t token = 0; token < vocabulary.size(); ++token) {
    const std::string_view piece = vocabulary.pieces[static_cast<std::size_t>(token)];
    tokens_.emplace(piece, token);
    if (const std::int32_t byte = byte_of(piece); byte >= 0) bytes[static_cast<std::size_t>(byte)] = token;
    const bool spells = token != vocabulary.blank && !is_control(piece) && piece != "<unk>" &&
                        byte_of(piece) < 0 &&
                        !(vocabulary.units == Units::characters && vocabulary.separates(token));
    if (vocabulary.units == Units::characters && vocabulary.separates(token) && separator_ < 0)
      separator_ = token;
    if (!spells || piece.empty()) continue;
    spelling_.emplace(piece, token);
    longest_ = std::max(longest_, piece.size());
  }
  if (std::find(bytes.begin(), bytes.end(), -1) == bytes.end()) bytes_ = std::move(bytes);
}

std::int32_t Speller::token(std::string_view piece) const {
  const auto found = tokens_.find(piece);
  return found == tokens_.end() ? -1 : found->second;
}

// Empty with `failed_at`, the first byte that nothing leads beyond, if there is no spelling.
std::vector<std::int32_t> Speller::cut(std::string_view text, std::size_t& failed_at) const {
  constexpr float kNone = -std::numeric_limits<float>::infinity();
  struct Step {
    float score = kNone;  // of the rest of the text
    std::int32_t token = -1;
    std::size_t size = 0;
  };
  std::vector<Step> from(text.size() + 1);
  from[text.size()].score = 0;
  for (std::size_t at = text.size(); at-- > 0;) {
    for (std::size_t size = std::min(longest_, text.size() - at); size > 0; --size) {
      const float rest = from[at + size].score;
      if (rest == kNone) continue;
      const auto found = spelling_.find(text.substr(at, size));
      if (found == spelling_.end()) continue;
      const float score = rest + (scores_.empty() ? -1 : scores_[static_cast<std::size_t>(found->second)]);
      if (score > from[at].score) from[at] = {score, found->second, size};
    }
    if (from[at].score == kNone && !bytes_.empty() && from[at + 1].score != kNone)
      from[at] = {from[at + 1].score + kByteScore, bytes_[static_cast<unsigned char>(text[at])], 1};
  }
  std::vector<std::int32_t> tokens;
  if (from[0].score == kNone) {
    // How far spelling from the start gets.
    std::vector<bool> reached(text.size() + 1);
    reached[0] = true;
    failed_at = 0;
    for (std::size_t at = 0; at < text.size(); ++at) {
      if (!reached[at]) continue;
      failed_at = at;
      for (std::size_t size = std::min(longest_, text.size() - at); size > 0; --size)
        if (spelling_.contains(text.substr(at, size))) reached[at + size] = true;
    }
    return tokens;
  }
  for (std::size_t at = 0; at < text.size(); at += from[at].size) tokens.push_back(from[at].token);
  return tokens;
}

Result<std::vector<std::int32_t>> Speller::spell(std::string_view word) const {
  if (word.empty()) return Status(Code::invalid_data, "an empty word cannot be spelled");
  std::size_t failed_at = 0;
  std::string_view missing;
  const std::string capitals = in_case(word, 'a', 'z', 'A' - 'a'), small = in_case(word, 'A', 'Z', 'a' - 'A');
  for (const std::string_view written : {word, std::string_view(capitals), std::string_view(small)}) {
    if (vocabulary_.units == Units::words) {
      const auto found = spelling_.find(written);
      if (found != spelling_.end()) return std::vector<std::int32_t>{found->second};
      continue;
    }
    const std::string_view mark = vocabulary_.units == Units::pieces ? kWordMark : std::string_view();
    const std::string text = std::string(mark) + std::string(written);
    std::vector<std::int32_t> tokens = cut(text, failed_at);
    if (!tokens.empty()) return tokens;
    if (missing.empty()) missing = character_at(word, failed_at < mark.size() ? 0 : failed_at - mark.size());
  }
  if (vocabulary_.units == Units::words)
    return Status(Code::invalid_data)
           << '"' << word << "\" cannot be spelled: every token is a word, and none is this one";
  return Status(Code::invalid_data) << '"' << word << "\" cannot be spelled: no token fits at \"" << missing
                                    << '"';
}

}  // namespace runnel::decoding
