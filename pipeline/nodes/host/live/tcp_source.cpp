#include "pipeline/nodes/host/live/tcp_source.h"

#include <arpa/inet.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>

namespace runnel::pipeline {
namespace {

// Its own parameters, and those of all sources of bare samples.
constexpr auto make_parameters() {
  std::array<Parameter, 3 + std::size(kPcmParameters)> all = {
      text_parameter<&TcpSource::address>("address", "", "tcp:HOST:PORT or unix:PATH"),
      text_parameter<&TcpSource::mode>(
          "mode", "listen|connect",
          "listen: accept the first sender that connects; connect: connect to the sender"),
      text_parameter<&TcpSource::allow>("allow", "",
                                        "listen: addresses of senders on other machines, as numbers with "
                                        "commas between them, or any; empty: "
                                        "only this machine, and other addresses to listen on are refused"),
  };
  std::copy(std::begin(kPcmParameters), std::end(kPcmParameters), all.begin() + 3);
  return all;
}
constexpr auto kParameters = make_parameters();

constexpr int kConnectMilliseconds = 10000;

// Calls `use` with each address of a list with commas between them, until it returns false.
template <class Use>
void for_each_address(std::string_view list, const Use& use) {
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(','), list.size());
    if (!use(list.substr(0, end))) return;
    list.remove_prefix(std::min(end + 1, list.size()));
  }
}

// As senders are named once they are here; "" for what is no address.
std::string numbers_of(const std::string& host) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  for (const int family : {AF_INET, AF_INET6}) {
    std::array<std::byte, sizeof(in6_addr)> bytes{};
    if (inet_pton(family, host.c_str(), bytes.data()) == 1)
      return inet_ntop(family, bytes.data(), text.data(), text.size());
  }
  return {};
}

// Names and other ways to write an address would never be those of a sender.
Status check_allowed(std::string_view list) {
  Status status;
  if (list == "any") return status;
  for_each_address(list, [&](std::string_view one) {
    const std::string numbers = numbers_of(std::string(one));
    if (numbers == one) return true;
    status = Status(Code::invalid_argument) << "allow: \"" << one << "\": expected "
                                            << (numbers.empty() ? "an address in numbers, or any" : numbers);
    return false;
  });
  return status;
}

}  // namespace

const NodeType TcpSource::type = {
    .name = "tcp",
    .help =
        "Takes bare samples from a socket, in messages: a 4-byte little-endian length, then that many bytes. "
        "A message of length 0 ends the stream.",
    .input = {},
    .output = {static_cast<Kinds>(Kind::audio), "float32; integers in [-1, 1)"},
    .parameters = kParameters,
    .make = make_node<TcpSource>,
};

Status TcpSource::open(NodeContext& context) noexcept {
  context.output.source = address;
  RUNNEL_ASSIGN(where_, SocketAddress::parse(address));
  if (mode == "connect") return {};
  RUNNEL_TRY(check_allowed(allow));
  RUNNEL_ASSIGN(listener_, listen_at(where_));
  if (!allow.empty() || is_own_machine(listener_)) return {};
  listener_.close();
  return Status(Code::invalid_argument)
         << address
         << ": other machines can reach this address: expected allow= with the addresses of senders, "
         << "or allow=any";
}

bool TcpSource::may_send(const std::string& host) const {
  if (allow.empty() || allow == "any" || where_.is_unix) return true;
  bool found = false;
  for_each_address(allow, [&](std::string_view one) { return !(found = one == host); });
  return found;
}

Status TcpSource::connect() noexcept {
  if (mode == "connect") {
    RUNNEL_ASSIGN(Descriptor socket, connect_to(where_, kConnectMilliseconds));
    input_.take(std::move(socket), std::string(address));
    return {};
  }
  for (;;) {
    if (!input_.wait_for(listener_.number())) {
      stopped_ = true;
      return {};
    }
    Descriptor socket(accept4(listener_.number(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket.is_open()) {
      if (!may_send(peer_host(socket))) continue;
      input_.take(std::move(socket), std::string(address));
      return {};
    }
    // Ignore a client that has disconnected already.
    if (errno != EAGAIN && errno != ECONNABORTED && errno != EINTR)
      return Status(Code::io_error) << address << ": cannot accept a connection: " << std::strerror(errno);
  }
}

Result<std::size_t> TcpSource::read(std::span<std::byte> room) noexcept {
  if (!input_.is_open()) RUNNEL_TRY(connect());
  if (stopped_) return std::size_t{0};
  while (message_.empty()) {
    const Result<bool> whole = stream_.next(message_);
    if (!whole.ok()) return whole.status().at(address);
    if (*whole) {
      if (message_.empty()) return std::size_t{0};
      continue;
    }
    RUNNEL_ASSIGN(const std::size_t count, input_.read(stream_.room()));
    if (count > 0) {
      stream_.add(count);
      continue;
    }
    if (stream_.cut() && truncated == "error" && !input_.was_stopped()) {
      return Status(Code::invalid_data)
             << address << ": the connection ended within a message (truncated=accept leaves it out)";
    }
    return std::size_t{0};
  }
  const std::size_t count = std::min(room.size(), message_.size());
  std::copy_n(message_.begin(), count, room.begin());
  message_ = message_.subspan(count);
  return count;
}

}  // namespace runnel::pipeline
