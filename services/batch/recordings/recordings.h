// A compact list of recordings: millions are common, and their list should take little memory.
//
// Stored in blocks of 16. Of a path, only the part that differs from the previous one is kept; numbers are
// kept as differences, seven bits to a byte. A recording in a folder takes its name and about 15 bytes.
#pragma once

#include <cstddef>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "services/batch/recordings/recording.h"

namespace runnel::batch {

// Append-only. Several threads may read it while none appends.
class Recordings {
 public:
  Recordings() = default;
  Recordings(const std::vector<Recording>& all);  // not explicit: the same, packed
  Recordings(Recordings&&) noexcept = default;
  Recordings& operator=(Recordings&&) noexcept = default;
  Recordings(const Recordings&) = delete;
  Recordings& operator=(const Recordings&) = delete;

  void push_back(const Recording& recording);

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  // Unpacks up to 16 recordings, in less than a microsecond. `index` < size().
  [[nodiscard]] Recording operator[](std::size_t index) const;
  // Bytes of memory.
  [[nodiscard]] std::size_t memory_bytes() const noexcept;

  // Iterates over copies.
  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = Recording;
    using difference_type = std::ptrdiff_t;
    using pointer = const Recording*;
    using reference = Recording;

    Iterator(const Recordings& list, std::size_t index) : list_(&list), index_(index) {}
    Recording operator*() const { return (*list_)[index_]; }
    Iterator& operator++() {
      ++index_;
      return *this;
    }
    Iterator operator++(int) {
      const Iterator before = *this;
      ++index_;
      return before;
    }
    bool operator==(const Iterator& other) const { return index_ == other.index_; }

   private:
    const Recordings* list_;
    std::size_t index_;
  };
  [[nodiscard]] Iterator begin() const { return {*this, 0}; }
  [[nodiscard]] Iterator end() const { return {*this, size_}; }

 private:
  static constexpr std::size_t kBlock = 16;

  void close_block();

  std::vector<std::unique_ptr<char[]>> chunks_;
  std::size_t left_ = 0, chunk_bytes_ = 0;  // of the last chunk; of all of them
  char* free_ = nullptr;
  std::vector<const char*> blocks_;  // each of kBlock recordings
  std::string tail_;                 // the last block, while there is room in it
  Recording last_;                   // the base of the next difference
  std::size_t size_ = 0;
};

}  // namespace runnel::batch
