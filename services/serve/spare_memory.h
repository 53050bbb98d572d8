// Memory of clients that have nothing to receive or send, for those that do.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "pipeline/host/live/frame_stream.h"

namespace runnel::serve {

// Of a thousand clients that send packets at their own times, few have one to process at a time: their number
// decides how much memory there is. Not thread-safe.
class SpareMemory {
 public:
  SpareMemory() {
    input_.reserve(kMost);
    output_.reserve(kMost);
  }

  // Before reading: memory for a stream that has none.
  void lend(pipeline::FrameStream& stream) {
    if (stream.has_memory()) return;
    if (input_.empty()) input_.emplace_back(kInput);
    stream.exchange(input_.back());
    input_.pop_back();
  }
  // After its last message has been used: takes back the memory of a stream that holds no bytes.
  void take_back(pipeline::FrameStream& stream) {
    if (!stream.empty() || !stream.has_memory()) return;
    std::vector<std::byte> memory;
    stream.exchange(memory);
    if (input_.size() < kMost) input_.push_back(std::move(memory));
  }
  // The same for a text to be sent; `text` is empty.
  void lend(std::string& text) {
    if (text.capacity() >= kText) return;
    if (output_.empty()) output_.emplace_back().reserve(kText);
    text.swap(output_.back());
    output_.pop_back();
  }
  void take_back(std::string& text) {
    if (text.capacity() <= std::string().capacity()) return;
    std::string memory;
    memory.swap(text);
    memory.clear();
    if (memory.capacity() >= kText && output_.size() < kMost) output_.push_back(std::move(memory));
  }

 private:
  static constexpr std::size_t kMost = 128;
  // Bytes: of two packets of a tenth of a second; of some lines.
  static constexpr std::size_t kInput = 8192, kText = 4096;

  std::vector<std::vector<std::byte>> input_;
  std::vector<std::string> output_;
};

}  // namespace runnel::serve
