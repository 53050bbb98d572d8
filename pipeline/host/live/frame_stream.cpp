#include "pipeline/host/live/frame_stream.h"

#include <algorithm>
#include <cstring>

namespace runnel::pipeline {

std::array<std::byte, kFrameHeaderBytes> frame_header(std::uint32_t bytes) noexcept {
  std::array<std::byte, kFrameHeaderBytes> header{};
  for (std::size_t i = 0; i < header.size(); ++i) header[i] = static_cast<std::byte>(bytes >> (8 * i) & 0xFF);
  return header;
}

std::span<std::byte> FrameStream::room() {
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  // Doubles with the bytes received, so that a peer that announces a long message and sends little costs
  // little memory.
  if (buffer_.size() - end_ < kLeastRoom / 2) buffer_.resize(std::max(kLeastRoom, 2 * buffer_.size()));
  return std::span(buffer_).subspan(end_);
}

Result<bool> FrameStream::next(std::span<const std::byte>& message) {
  const std::size_t there = end_ - begin_;
  if (there < kFrameHeaderBytes) return false;
  std::size_t bytes = 0;
  for (std::size_t i = kFrameHeaderBytes; i-- > 0;)
    bytes = bytes << 8 | static_cast<std::size_t>(buffer_[begin_ + i]);
  if (bytes > longest_) {
    return Status(Code::invalid_data)
           << "a message of " << bytes << " bytes: expected a little-endian length of at most " << longest_
           << " before each";
  }
  if (there - kFrameHeaderBytes < bytes) return false;
  message = std::span<const std::byte>(buffer_).subspan(begin_ + kFrameHeaderBytes, bytes);
  begin_ += kFrameHeaderBytes + bytes;
  return true;
}

}  // namespace runnel::pipeline
