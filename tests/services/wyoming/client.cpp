#include "tests/services/wyoming/client.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>

namespace runnel::wyoming::test {
namespace {

constexpr int kPatienceMilliseconds = 20000;

std::string with_payload(Json header, const std::string& text, const std::string& payload) {
  if (!text.empty()) header["data_length"] = text.size();
  if (!payload.empty()) header["payload_length"] = payload.size();
  return header.dump() + "\n" + text + payload;
}

}  // namespace

std::string message(const std::string& type, const Json& data, const std::string& payload) {
  return with_payload({{"type", type}, {"version", "1.7.0"}}, data.empty() ? "" : data.dump(), payload);
}

std::string bytes_of(const std::vector<std::int16_t>& samples, std::size_t first, std::size_t count) {
  return {reinterpret_cast<const char*>(samples.data() + first), count * sizeof samples[0]};
}

std::vector<std::string> records_in(const std::vector<Event>& events, const std::string& source) {
  std::vector<std::string> lines;
  for (const Event& event : events) {
    if (event.type != "detection") continue;
    nlohmann::ordered_json line;
    // In the order of the records, with their numbers of decimals.
    const Json& record = event.data.at("runnel");
    char text[400];
    std::snprintf(
        text, sizeof text,
        "{\"type\":\"event\",\"source\":\"%s\",\"label\":%s,\"score\":%.4f,\"start\":%.3f,\"end\":%.3f,"
        "\"frame\":%lld}",
        source.c_str(), record.at("label").dump().c_str(), record.at("score").get<double>(),
        record.at("start").get<double>(), record.at("end").get<double>(),
        static_cast<long long>(record.at("frame").get<std::int64_t>()));
    lines.emplace_back(text);
  }
  return lines;
}

Client::Client(int port) : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0)
      << std::strerror(errno);
}

Client::~Client() {
  if (fd_ >= 0) close(fd_);
}

bool Client::send_bytes(const std::string& bytes) {
  for (std::size_t sent = 0; sent < bytes.size();) {
    const ssize_t count = ::send(fd_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (count < 0) return false;
    sent += static_cast<std::size_t>(count);
  }
  return true;
}

bool Client::send(const std::string& type, const Json& data, const std::string& payload) {
  return send_bytes(message(type, data, payload));
}

bool Client::send_inline(const std::string& type, const Json& data, const std::string& payload) {
  return send_bytes(with_payload({{"type", type}, {"data", data}}, "", payload));
}

bool Client::send_sound(const std::vector<std::int16_t>& samples, std::size_t count, int rate, int channels,
                        std::int64_t timestamp) {
  Json format = {{"rate", rate}, {"width", 2}, {"channels", channels}, {"timestamp", timestamp}};
  if (!send("audio-start", format)) return false;
  for (std::size_t at = 0; at < samples.size(); at += count) {
    format["timestamp"] = timestamp + static_cast<std::int64_t>(at) * 1000 / rate / channels;
    if (!send("audio-chunk", format, bytes_of(samples, at, std::min(count, samples.size() - at))))
      return false;
  }
  return send("audio-stop");
}

void Client::close_sending() { shutdown(fd_, SHUT_WR); }

void Client::vanish() {
  const linger now{1, 0};
  setsockopt(fd_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
  close(fd_);
  fd_ = -1;
}

bool Client::fill() {
  pollfd wait{.fd = fd_, .events = POLLIN, .revents = 0};
  if (poll(&wait, 1, kPatienceMilliseconds) != 1) {
    ADD_FAILURE() << "no answer within 20 s";
    return false;
  }
  char bytes[8192];
  const ssize_t count = recv(fd_, bytes, sizeof bytes, 0);
  if (count <= 0) return false;
  unread_.append(bytes, static_cast<std::size_t>(count));
  return true;
}

std::optional<Event> Client::receive() {
  std::size_t feed = std::string::npos;
  while ((feed = unread_.find('\n')) == std::string::npos) {
    if (fill()) continue;
    EXPECT_EQ(unread_, "") << "half a line";
    return std::nullopt;
  }
  const Json header = Json::parse(unread_.substr(0, feed), nullptr, false);
  EXPECT_TRUE(header.is_object()) << unread_.substr(0, feed);
  if (!header.is_object()) return std::nullopt;
  static const std::set<std::string> kKeys = {"type", "version", "data", "data_length", "payload_length"};
  for (const auto& [key, value] : header.items()) EXPECT_EQ(kKeys.count(key), 1u) << key;
  const auto length = [&](const char* key) -> std::size_t {
    return header.contains(key) && !header.at(key).is_null() ? header.at(key).get<std::size_t>() : 0;
  };
  const std::size_t data_length = length("data_length"), payload_length = length("payload_length");
  const std::size_t end = feed + 1 + data_length + payload_length;
  while (unread_.size() < end) {
    if (fill()) continue;
    ADD_FAILURE() << "the connection ended within a message";
    return std::nullopt;
  }
  Event event;
  event.type = header.at("type").get<std::string>();
  event.data = header.contains("data") && header.at("data").is_object() ? header.at("data") : Json::object();
  if (data_length > 0) event.data.update(Json::parse(unread_.substr(feed + 1, data_length)));
  event.payload = unread_.substr(feed + 1 + data_length, payload_length);
  unread_.erase(0, end);
  return event;
}

Event Client::expect(const std::string& type) {
  std::optional<Event> event = receive();
  EXPECT_TRUE(event.has_value()) << "no " << type;
  if (!event) return {};
  EXPECT_EQ(event->type, type) << event->data.dump();
  return *event;
}

std::vector<Event> Client::until(const std::vector<std::string>& types) {
  std::vector<Event> events;
  while (std::optional<Event> event = receive()) {
    events.push_back(std::move(*event));
    if (std::find(types.begin(), types.end(), events.back().type) != types.end()) break;
  }
  return events;
}

}  // namespace runnel::wyoming::test
