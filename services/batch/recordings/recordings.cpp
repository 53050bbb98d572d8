#include "services/batch/recordings/recordings.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace runnel::batch {
namespace {

constexpr std::size_t kChunk = std::size_t{1} << 16;

// Flags for the fields that a recording has besides its path; in a byte before it.
constexpr unsigned char kPiece = 1, kId = 2, kFields = 4;

void put_number(std::string& to, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) to += static_cast<char>(value | 0x80);
  to += static_cast<char>(value);
}
std::uint64_t take_number(const char*& from) noexcept {
  std::uint64_t value = 0;
  for (int shift = 0;; shift += 7) {
    const auto byte = static_cast<unsigned char>(*from++);
    value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
    if (byte < 0x80) return value;
  }
}

// Zigzag coding: small numbers of either sign become small unsigned ones; differences may wrap around.
void put_difference(std::string& to, std::int64_t value, std::int64_t before) {
  const std::uint64_t difference = static_cast<std::uint64_t>(value) - static_cast<std::uint64_t>(before);
  put_number(to, difference << 1 ^ (difference >> 63 != 0 ? ~std::uint64_t{0} : 0));
}
std::int64_t take_difference(const char*& from, std::int64_t before) noexcept {
  const std::uint64_t folded = take_number(from);
  const std::uint64_t difference = folded >> 1 ^ ((folded & 1) != 0 ? ~std::uint64_t{0} : 0);
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(before) + difference);
}

void put_text(std::string& to, std::string_view text) {
  put_number(to, text.size());
  to += text;
}
void take_text(const char*& from, std::string& text) {
  const auto bytes = static_cast<std::size_t>(take_number(from));
  text.assign(from, bytes);
  from += bytes;
}

void put_seconds(std::string& to, double seconds) {
  char bytes[sizeof seconds];
  std::memcpy(bytes, &seconds, sizeof bytes);
  to.append(bytes, sizeof bytes);
}
double take_seconds(const char*& from) noexcept {
  double seconds = 0;
  std::memcpy(&seconds, from, sizeof seconds);
  from += sizeof seconds;
  return seconds;
}

void pack(std::string& to, const Recording& recording, const Recording& before) {
  const bool piece = recording.offset != 0 || recording.duration != 0;
  to += static_cast<char>((piece ? kPiece : 0) | (recording.id.empty() ? 0 : kId) |
                          (recording.fields.empty() ? 0 : kFields));
  const auto [differs, unused] =
      std::mismatch(recording.path.begin(), recording.path.end(), before.path.begin(), before.path.end());
  const auto same = static_cast<std::size_t>(differs - recording.path.begin());
  put_number(to, same);
  put_text(to, std::string_view(recording.path).substr(same));
  put_difference(to, static_cast<std::int64_t>(recording.named), static_cast<std::int64_t>(before.named));
  put_difference(to, recording.bytes, before.bytes);
  put_difference(to, recording.modified, before.modified);
  put_difference(to, recording.index, before.index);
  if (piece) {
    put_seconds(to, recording.offset);
    put_seconds(to, recording.duration);
  }
  if (!recording.id.empty()) put_text(to, recording.id);
  if (!recording.fields.empty()) put_text(to, recording.fields);
}

// On entry, `recording` holds the previous one.
void unpack(const char*& from, Recording& recording) {
  const auto has = static_cast<unsigned char>(*from++);
  recording.path.resize(static_cast<std::size_t>(take_number(from)));
  const auto bytes = static_cast<std::size_t>(take_number(from));
  recording.path.append(from, bytes);
  from += bytes;
  recording.named =
      static_cast<std::size_t>(take_difference(from, static_cast<std::int64_t>(recording.named)));
  recording.bytes = take_difference(from, recording.bytes);
  recording.modified = take_difference(from, recording.modified);
  recording.index = take_difference(from, recording.index);
  recording.offset = (has & kPiece) != 0 ? take_seconds(from) : 0;
  recording.duration = (has & kPiece) != 0 ? take_seconds(from) : 0;
  if ((has & kId) != 0)
    take_text(from, recording.id);
  else
    recording.id.clear();
  if ((has & kFields) != 0)
    take_text(from, recording.fields);
  else
    recording.fields.clear();
}

}  // namespace

Recordings::Recordings(const std::vector<Recording>& all) {
  for (const Recording& recording : all) push_back(recording);
}

void Recordings::push_back(const Recording& recording) {
  if (size_ % kBlock == 0) last_ = {};
  pack(tail_, recording, last_);
  last_ = recording;
  if (++size_ % kBlock == 0) close_block();
}

void Recordings::close_block() {
  if (tail_.size() > left_) {
    const std::size_t bytes = std::max(kChunk, tail_.size());
    chunks_.push_back(std::make_unique_for_overwrite<char[]>(bytes));
    free_ = chunks_.back().get();
    left_ = bytes;
    chunk_bytes_ += bytes;
  }
  std::memcpy(free_, tail_.data(), tail_.size());
  blocks_.push_back(free_);
  free_ += tail_.size();
  left_ -= tail_.size();
  tail_.clear();
}

Recording Recordings::operator[](std::size_t index) const {
  const std::size_t block = index / kBlock;
  const char* from = block < blocks_.size() ? blocks_[block] : tail_.data();
  Recording recording;
  for (std::size_t i = block * kBlock; i <= index; ++i) unpack(from, recording);
  return recording;
}

std::size_t Recordings::memory_bytes() const noexcept {
  return sizeof *this + chunk_bytes_ + chunks_.capacity() * sizeof chunks_[0] +
         blocks_.capacity() * sizeof blocks_[0] + tail_.capacity();
}

}  // namespace runnel::batch
