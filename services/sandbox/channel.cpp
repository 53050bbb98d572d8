#include "services/sandbox/channel.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace runnel::sandbox {
namespace {

bool send_all(int socket, const void* from, std::size_t count) noexcept {
  const auto* at = static_cast<const std::byte*>(from);
  while (count > 0) {
    // The work in a locked child has write() alone.
    const ssize_t done = ::write(socket, at, count);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return false;
    at += done;
    count -= static_cast<std::size_t>(done);
  }
  return true;
}

constexpr std::size_t kReason = 512;

}  // namespace

bool send_frame(int socket, Frame kind, std::span<const std::byte> bytes) noexcept {
  FrameHeader header;
  header.kind = static_cast<std::uint32_t>(kind);
  header.bytes = bytes.size();
  return send_all(socket, &header, sizeof header) && send_all(socket, bytes.data(), bytes.size());
}

bool send_frame(int socket, Frame kind, std::string_view text) noexcept {
  return send_frame(socket, kind, std::as_bytes(std::span(text.data(), text.size())));
}

std::string packed(const Status& status) {
  return static_cast<char>(status.code()) + std::string(status.text());
}

Status unpacked(std::span<const std::byte> bytes) {
  const auto code = bytes.empty() ? 0 : static_cast<unsigned>(bytes[0]);
  if (code == 0 || code > static_cast<unsigned>(Code::mismatch))
    return Status(Code::io_error, "the child failed without a reason");
  return Status(static_cast<Code>(code),
                std::string_view(reinterpret_cast<const char*>(bytes.data()) + 1, bytes.size() - 1));
}

bool send_file(int socket, int file, std::string_view reason) noexcept {
  char text[kReason] = {};
  const std::size_t size = std::max<std::size_t>(1, std::min(reason.size(), sizeof text));
  std::memcpy(text, reason.data(), std::min(reason.size(), size));
  iovec data{text, size};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  if (file >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &file, sizeof file);
  }
  return ::sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL) == static_cast<ssize_t>(size);
}

Result<int> receive_file(int socket) {
  char text[kReason] = {};
  iovec data{text, sizeof text};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ssize_t got = 0;
  do got = ::recvmsg(socket, &message, 0);
  while (got < 0 && errno == EINTR);
  if (got <= 0) return Status(Code::io_error, "the parent is gone");
  const cmsghdr* const header = CMSG_FIRSTHDR(&message);
  if (header == nullptr || header->cmsg_type != SCM_RIGHTS)
    return Status(Code::io_error, std::string_view(text, static_cast<std::size_t>(got)));
  int file = -1;
  std::memcpy(&file, CMSG_DATA(header), sizeof file);
  return file;
}

bool FrameReader::next(Frame& kind, std::vector<std::byte>& payload) {
  FrameHeader header;
  if (broken_ || bytes_.size() < sizeof header) return false;
  std::memcpy(&header, bytes_.data(), sizeof header);
  if (header.kind < static_cast<std::uint32_t>(Frame::locks) ||
      header.kind > static_cast<std::uint32_t>(Frame::result) || header.bytes > most_) {
    broken_ = true;
    return false;
  }
  const auto size = static_cast<std::size_t>(header.bytes);
  if (bytes_.size() - sizeof header < size) return false;
  kind = static_cast<Frame>(header.kind);
  const auto first = bytes_.begin() + sizeof header;
  payload.assign(first, first + static_cast<std::ptrdiff_t>(size));
  bytes_.erase(bytes_.begin(), first + static_cast<std::ptrdiff_t>(size));
  return true;
}

}  // namespace runnel::sandbox
