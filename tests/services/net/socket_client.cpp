#include "tests/services/net/socket_client.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>

namespace runnel::net::test {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::array<std::uint8_t, 4> kMask = {0x11, 0xe7, 0x5a, 0x80};

}  // namespace

SocketClient::SocketClient(int port, std::string_view path, std::string_view headers, int receive_buffer) {
  fd_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (receive_buffer > 0) setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<std::uint16_t>(port));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(connect(fd_, reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
  // The key and the accepted one of RFC 6455, section 1.3.
  EXPECT_TRUE(
      send_bytes("GET " + std::string(path) + " HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(port) +
                 "\r\nUpgrade: websocket\r\nConnection: keep-alive, Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                 "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n" +
                 std::string(headers) + "\r\n"));
  const auto end = Clock::now() + std::chrono::seconds(20);
  std::size_t blank = std::string::npos;
  while ((blank = unread_.find("\r\n\r\n")) == std::string::npos && fill(end)) {
  }
  if (blank == std::string::npos) return;
  head_ = unread_.substr(0, blank + 4);
  unread_.erase(0, blank + 4);
  if (head_.size() > 12) status_ = std::stoi(head_.substr(9, 3));
  if (status_ == 101) return;
  while (fill(end)) {
  }
  head_ += unread_;
}

SocketClient::~SocketClient() { ::close(fd_); }

bool SocketClient::fill(Clock::time_point end) {
  if (over_) return false;
  pollfd wanted{fd_, POLLIN, 0};
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
  if (poll(&wanted, 1, static_cast<int>(std::max<std::int64_t>(left, 0))) <= 0) return false;
  std::array<char, 1U << 16U> room{};
  const ssize_t count = recv(fd_, room.data(), room.size(), 0);
  over_ = count <= 0;
  if (over_) return false;
  unread_.append(room.data(), static_cast<std::size_t>(count));
  return true;
}

bool SocketClient::send_bytes(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

bool SocketClient::send(Opcode opcode, std::string_view payload, bool last) {
  std::string bytes;
  append_frame(bytes, opcode, payload, &kMask, last);
  return send_bytes(bytes);
}

std::optional<SocketClient::Message> SocketClient::next(std::chrono::milliseconds patience) {
  const auto end = Clock::now() + patience;
  while (true) {
    const auto byte = [&](std::size_t at) { return static_cast<std::uint8_t>(unread_[at]); };
    std::size_t start = 2, size = unread_.size() >= 2 ? byte(1) & 0x7fU : 0;
    bool whole = unread_.size() >= 2;
    if (whole && size >= 126) {
      start = size == 126 ? 4 : 10;
      whole = unread_.size() >= start;
      size = 0;
      for (std::size_t at = 2; whole && at < start; ++at) size = size << 8U | byte(at);
    }
    if (!whole || unread_.size() - start < size) {
      if (!fill(end)) return std::nullopt;
      continue;
    }
    EXPECT_EQ(byte(0) & 0x80, 0x80) << "a server that sends fragments";
    EXPECT_EQ(byte(1) & 0x80, 0) << "a server that masks";
    Message message{static_cast<Opcode>(byte(0) & 0x0f), unread_.substr(start, size)};
    unread_.erase(0, start + size);
    if (message.opcode == Opcode::ping && !deaf_) {
      send(Opcode::pong, message.payload);
      continue;
    }
    if (message.opcode == Opcode::ping) continue;
    return message;
  }
}

bool SocketClient::is_closed_within(std::chrono::milliseconds patience) {
  const auto end = Clock::now() + patience;
  while (fill(end)) unread_.clear();
  return over_;
}

}  // namespace runnel::net::test
