// The mutator of libFuzzer for inputs with messages (frames.h).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "tests/fuzz/frames.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

namespace runnel::fuzz {

// As LLVMFuzzerCustomMutator. Kinds without messages are changed anywhere.
inline std::size_t mutate_kind(std::string_view kind, std::uint8_t* data, std::size_t size, std::size_t most,
                               unsigned seed) {
  const FrameFormat* const format = frame_format(kind);
  if (format == nullptr) return LLVMFuzzerMutate(data, size, most);
  const auto plain = [](std::string bytes, std::size_t room) {
    const std::size_t before = bytes.size();
    bytes.resize(std::max({room, before, std::size_t{1}}));
    bytes.resize(LLVMFuzzerMutate(reinterpret_cast<std::uint8_t*>(bytes.data()), before, bytes.size()));
    return bytes;
  };
  const std::string out =
      mutate_frames({reinterpret_cast<const char*>(data), size}, most, seed, *format, plain);
  std::memcpy(data, out.data(), std::min(out.size(), most));
  return std::min(out.size(), most);
}

}  // namespace runnel::fuzz
