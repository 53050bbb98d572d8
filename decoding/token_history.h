// The tokens of all hypotheses of a beam: chains that share their starts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/memory.h"
#include "decoding/heard.h"

namespace runnel::decoding {

// Entries never change while a hypothesis refers to them. Those that none refers to are collected when a step
// could need more than are free: between begin_collection() and end_collection() the hypotheses mark their
// chains.
class TokenHistory {
 public:
  // Of `beam` hypotheses with up to max_tokens. False when the memory is exhausted.
  bool prepare(Memory& memory, std::int32_t beam, std::int32_t max_tokens) noexcept;
  void clear() noexcept;

  // An entry for `token` after the entry `before` (-1: nothing precedes it).
  std::int32_t add(const HeardToken& token, std::int32_t before) noexcept;
  [[nodiscard]] const HeardToken& token(std::int32_t entry) const noexcept { return entries_[entry].token; }
  [[nodiscard]] std::int32_t before(std::int32_t entry) const noexcept { return entries_[entry].before; }
  // Whether the tokens up to two entries are the same.
  [[nodiscard]] bool same(std::int32_t a, std::int32_t b) const noexcept;

  [[nodiscard]] std::int32_t free() const noexcept { return free_count_; }
  void begin_collection() noexcept;
  void mark(std::int32_t entry) noexcept;
  void end_collection() noexcept;

  // The `length` tokens up to `entry`, the last one first (base/state_archive.h). They are restored as a
  // chain of their own, after clear().
  template <class Archive>
  void chain(Archive& archive, std::int32_t& entry, std::int32_t length, std::int32_t classes,
             std::int32_t words) noexcept {
    std::int32_t* link = &entry;
    if (archive.restores()) *link = -1;
    for (; length > 0 && archive.ok(); --length) {
      if (archive.restores()) *link = add({}, -1);
      Entry& at = entries_[*link];
      at.token.state(archive, classes, words);
      link = &at.before;
    }
  }

 private:
  struct Entry {
    HeardToken token;
    std::int32_t before = -1;
  };
  std::int32_t capacity_ = 0, free_count_ = 0;
  Entry* entries_ = nullptr;      // [capacity]
  std::int32_t* free_ = nullptr;  // [capacity]
  bool* used_ = nullptr;          // [capacity], while garbage is collected
};

}  // namespace runnel::decoding
