#include "services/serve/stream_socket.h"

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

}  // namespace

std::unique_ptr<StreamSocket> StreamSocket::open(Server& server, std::function<void()> ended,
                                                 std::string& refusal) {
  const Result<int> connected = server.connect();
  if (connected.ok()) return std::unique_ptr<StreamSocket>(new StreamSocket(*connected, std::move(ended)));
  refusal = "the server of streams cannot be reached: " + std::string(connected.status().text());
  return nullptr;
}

StreamSocket::~StreamSocket() {
  ::close(fd_);
  ended_();
}

net::SocketPeer::Interest StreamSocket::interest() const {
  return {fd_, static_cast<short>((answers_wait_ ? 0 : POLLIN) | (pending_.empty() ? 0 : POLLOUT))};
}

void StreamSocket::heard(bool is_text, std::string_view message, net::SocketOut& out) {
  if (!greeted_) {
    greeted_ = true;
    if (!is_text) return out.close(net::kNotAccepted, "expected a JSON object as the first message");
    return pass_on(message);
  }
  if (!is_text) return pass_on(message);
  const Json order = Json::parse(message, nullptr, false);
  const auto type = order.is_object() ? order.find("type") : order.end();
  if (type == order.end() || *type != "end")
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
