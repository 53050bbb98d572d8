// Bare samples in messages from a socket.
#pragma once

#include "pipeline/host/live/frame_stream.h"
#include "pipeline/nodes/host/live/pcm_source.h"

namespace runnel::pipeline {

// Each message is a 4-byte little-endian length and that many bytes of samples, cut anywhere
// (pipeline/host/live/frame_stream.h). The stream ends with an empty message, or when the client closes the
// connection between two messages.
class TcpSource final : public PcmSource {
 public:
  static const NodeType type;

  std::string_view address = "tcp:127.0.0.1:7000";
  std::string_view mode = "listen";
  std::string_view allow = "";

  // The address it listens on; with port 0 in `address`, the port that the system chose.
  [[nodiscard]] std::string local() const { return local_address(listener_); }

 protected:
  Status open(NodeContext& context) noexcept override;
  Result<std::size_t> read(std::span<std::byte> room) noexcept override;

 private:
  Status connect() noexcept;
  [[nodiscard]] bool may_send(const std::string& host) const;

  SocketAddress where_;
  Descriptor listener_;
  bool stopped_ = false;  // before a client connected
  FrameStream stream_;
  std::span<const std::byte> message_;  // the unread part
};

}  // namespace runnel::pipeline
