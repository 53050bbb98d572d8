#include "services/serve/stream_socket.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/limits.h"
#include "pipeline/host/live/frame_stream.h"
#include "services/net/web_socket_frames.h"

namespace runnel::serve {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostUnsent = limits::kUnsentBytes;  // bytes of answers
constexpr std::string_view kError = R"({"type":"error")";

// The address by which this machine reaches a server that listens everywhere.
net::Address reachable(net::Address address) {
  if (address.bytes.ss_family == AF_INET) {
    auto* const v4 = reinterpret_cast<sockaddr_in*>(&address.bytes);
    if (v4->sin_addr.s_addr == htonl(INADDR_ANY)) v4->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  } else if (auto* const v6 = reinterpret_cast<sockaddr_in6*>(&address.bytes);
             IN6_IS_ADDR_UNSPECIFIED(&v6->sin6_addr)) {
    v6->sin6_addr = in6addr_loopback;
  }
  return address;
}

}  // namespace

std::unique_ptr<StreamSocket> StreamSocket::open(const net::Address& server, std::string token,
                                                 std::function<void()> ended, std::string& refusal) {
  const net::Address to = reachable(server);
  const int fd = socket(to.bytes.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  // To this machine: it is made at once, or refused.
  if (fd < 0 || connect(fd, reinterpret_cast<const sockaddr*>(&to.bytes), to.size) != 0 ||
      fcntl(fd, F_SETFL, fcntl(fd, F_GETFL, 0) | O_NONBLOCK) != 0) {
    refusal = std::string("the server of streams cannot be reached: ") + std::strerror(errno);
    if (fd >= 0) ::close(fd);
    return nullptr;
  }
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return std::unique_ptr<StreamSocket>(new StreamSocket(fd, std::move(token), std::move(ended)));
}

StreamSocket::~StreamSocket() {
  ::close(fd_);
  ended_();
}

net::SocketPeer::Interest StreamSocket::interest() const {
  return {fd_, static_cast<short>((answers_wait_ ? 0 : POLLIN) | (pending_.empty() ? 0 : POLLOUT))};
}

std::string StreamSocket::with_token(std::string_view greeting) const {
  if (token_.empty()) return std::string(greeting);
  Json object = Json::parse(greeting, nullptr, false);
  if (!object.is_object()) return std::string(greeting);  // refused by the server, with a sentence
  object["token"] = token_;
  return object.dump();
}

void StreamSocket::heard(bool is_text, std::string_view message, net::SocketOut& out) {
  if (!greeted_) {
    greeted_ = true;
    if (!is_text) return out.close(net::kNotAccepted, "expected a JSON object as the first message");
    return pass_on(with_token(message));
  }
  if (!is_text) return pass_on(message);
  const Json order = Json::parse(message, nullptr, false);
  if (!order.is_object() || order.value("type", Json()) != "end")
    return out.close(net::kNotAccepted, "expected samples, or {\"type\":\"end\"}");
  pass_on({});
}

void StreamSocket::pass_on(std::string_view message) {
  const auto header = pipeline::frame_header(static_cast<std::uint32_t>(message.size()));
  pending_.append(reinterpret_cast<const char*>(header.data()), header.size());
  pending_ += message;
  write_some();
}

bool StreamSocket::write_some() {
  std::size_t done = 0;
  while (done < pending_.size()) {
    const ssize_t count = send(fd_, pending_.data() + done, pending_.size() - done, MSG_NOSIGNAL);
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      // The server has closed: why is in what it has sent.
      pending_.clear();
      return false;
    }
    done += static_cast<std::size_t>(count);
  }
  pending_.erase(0, done);
  return true;
}

void StreamSocket::work(net::SocketOut& out) {
  if (!pending_.empty()) write_some();
  std::array<char, 1U << 14U> room;  // NOLINT: filled by recv()
  while (true) {
    answers_wait_ = out.unsent() > kMostUnsent;
    if (answers_wait_) return;
    const ssize_t count = recv(fd_, room.data(), room.size(), 0);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (count <= 0) {
      out.close(failed_ ? net::kRefused : net::kNormal,
                failed_ ? "the last message says why" : "the stream is over");
      return;
    }
    line_.append(room.data(), static_cast<std::size_t>(count));
    std::size_t start = 0;
    for (std::size_t end = line_.find('\n'); end != std::string::npos; end = line_.find('\n', start)) {
      const std::string_view line = std::string_view(line_).substr(start, end - start);
      failed_ = line.starts_with(kError);
      out.text(line);
      start = end + 1;
    }
    line_.erase(0, start);
  }
}

}  // namespace runnel::serve
