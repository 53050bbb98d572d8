// What strangers say over sockets besides what tests/services/net/feed.h has: pages with microphones, names
// and addresses in requests, and a broker of MQTT.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

#include "pipeline/nodes/host/live/browser/remote_sound.h"
#include "services/net/access/origin.h"
#include "services/net/address.h"
#include "services/net/login_page.h"
#include "services/page/page_socket.h"
#include "tests/fuzz/frames.h"
#include "tests/fuzz/readers/reader.h"
#ifdef RUNNEL_HAVE_MQTT
#include "pipeline/nodes/host/act/mqtt.h"
#include "tests/pipeline/node_context.h"
#endif

namespace runnel::fuzz {
namespace {

class Out final : public net::SocketOut {
 public:
  void text(std::string_view message) override { bytes_ += message.size(); }
  void close(std::uint16_t, std::string_view reason) override {
    insist(!reason.empty(), "hung up without a reason");
    why_ = reason;
  }
  [[nodiscard]] std::size_t unsent() const noexcept override { return 0; }
  [[nodiscard]] const std::string& why() const noexcept { return why_; }

 private:
  std::size_t bytes_ = 0;
  std::string why_;
};

// Messages of a page, each with its length (tests/fuzz/frames.h): the first byte of a message says whether it
// is text. What is heard of the microphone is read, as the graph does.
Status feed_page_socket(std::span<const std::byte> bytes) {
  page::MessageLog log(std::size_t{1} << 16);
  page::Recordings recordings;
  page::Feed feed(log, recordings);
  page::Microphone microphone;
  const auto sound = std::make_shared<pipeline::RemoteSound>(16000);
  microphone.connect(sound);
  Out out;
  int ended = 0;
  {
    page::PageSocket socket(log, feed, microphone, true, [&] { ++ended; });
    socket.work(out);
    std::vector<float> room(4096);
    std::int64_t taken = 0;
    for (std::span<const std::byte> message = next_frame(bytes); !message.empty() && out.why().empty();
         message = next_frame(bytes)) {
      socket.heard(message.front() == std::byte{'t'}, text_of(message.subspan(1)), out);
      std::int64_t lost = 0;
      for (std::size_t count = 0; taken < 100000 && (count = sound->take(room, lost)) > 0;) {
        insist(lost >= 0, "less than nothing was lost");
        taken += static_cast<std::int64_t>(count);
      }
      socket.work(out);
    }
  }
  insist(ended == 1, "a connection that does not end");
  return out.why().empty() ? Status() : Status(Code::invalid_data, out.why());
}

// Whatever a request names: a host, an origin, an address; the value of a cookie.
Status feed_address(std::span<const std::byte> bytes) {
  const std::string_view text = text_of(bytes);
  static const net::Address own = *net::Address::parse("127.0.0.1:8080"),
                            all = *net::Address::parse("0.0.0.0:8080");
  const std::vector<std::string> names = {"machine", "machine.local"};
  static_cast<void>(net::is_own_host(text, all, names));
  static_cast<void>(net::is_own_origin(text, true, "machine"));
  if (net::is_own_host(text, own, {}))
    insist(text.find("127.0.0.1") != std::string_view::npos ||
               net::same_without_case(net::without_port(text), "localhost"),
           "another's host");
  const std::string value(text);
  insist(net::from_cookie(net::to_cookie(value)) == value, "a token that is another one as a cookie");
  static_cast<void>(net::from_cookie(text));
  RUNNEL_ASSIGN(const net::Address address, net::Address::parse(text));
  const auto again = net::Address::parse(address.text());
  insist(again.ok() && again->text() == address.text() && again->is_loopback() == address.is_loopback(),
         "an address that is another one when it was written");
  return {};
}

#ifdef RUNNEL_HAVE_MQTT
constexpr int kPatience = 5000;  // ms; only a fault is waited for so long

bool ready(int socket, short what) {
  pollfd polled{socket, what, 0};
  return poll(&polled, 1, kPatience) == 1;
}

// A broker on a port of this machine, one client at a time.
class Broker {
 public:
  Broker() : listening_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    insist(listening_ >= 0 && bind(listening_, reinterpret_cast<const sockaddr*>(&address), size) == 0 &&
               listen(listening_, 4) == 0 &&
               getsockname(listening_, reinterpret_cast<sockaddr*>(&address), &size) == 0,
           "no port for a broker");
    place_ = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
  }
  ~Broker() { ::close(listening_); }
  Broker(const Broker&) = delete;
  Broker& operator=(const Broker&) = delete;
  [[nodiscard]] const std::string& place() const noexcept { return place_; }

  // Says this to the next client in packets, and hangs up when it has answered each or is gone.
  void say(std::span<const std::byte> bytes) const {
    insist(ready(listening_, POLLIN), "a client that does not come");
    const int client = accept4(listening_, nullptr, nullptr, SOCK_CLOEXEC);
    insist(client >= 0, "a client that cannot be taken");
    while (!bytes.empty()) {
      const std::size_t size = std::min(bytes.size(), mqtt_packet_bytes(bytes));
      if (send(client, bytes.data(), size, MSG_NOSIGNAL) != static_cast<ssize_t>(size)) break;
      bytes = bytes.subspan(size);
    }
    shutdown(client, SHUT_WR);
    // It closes its side when it has read all, or what it does not understand.
    char some[512];
    while (ready(client, POLLIN) && recv(client, some, sizeof some, 0) > 0) continue;
    ::close(client);
  }

 private:
  int listening_;
  std::string place_;
};

// Packets of a broker. Bits of the first byte: two of the quality of service, discovery.
Status feed_mqtt(std::span<const std::byte> bytes) {
  if (bytes.empty()) return Status(Code::invalid_data, "nothing");
  static const Broker broker;
  const auto how = std::to_integer<unsigned>(bytes.front());
  HeapMemory memory;
  pipeline::NodeContext context = pipeline::test::context_for(memory, pipeline::Kind::events, 1, 4);
  pipeline::Mqtt node;
  node.broker = broker.place();
  node.client = "one";
  node.qos = std::min(how & 3, 2U);
  node.linger = 0;
  if ((how & 4) != 0) node.discovery = "homeassistant";
  node.labels = "a,b";
  RUNNEL_TRY(node.prepare(context));
  insist(node.gap({}).ok() && node.gap({}).ok(), "an event that is not taken");
  RUNNEL_TRY(node.start());
  broker.say(bytes.subspan(1));
  RUNNEL_TRY(node.finish());
  const pipeline::ActionFacts facts = node.facts();
  insist(facts.events == 2 && facts.done + facts.failed + facts.dropped == 2, "an event that is not counted");
  static_cast<void>(node.take_news());
  return {};
}
#endif

}  // namespace

std::vector<Reader> socket_readers() {
  std::vector<Reader> all = {
      {"page_socket",
       feed_page_socket,
       {frame(R"(t{"type":"microphone","rate":48000,"session":"a","first":0,"take_over":false})") +
            frame("b" + std::string(960, '\1')) + frame(R"(t{"type":"lost","samples":480})") +
            frame("b" + std::string(480, '\2')) + frame(R"(t{"type":"silent"})"),
        frame(R"(t{"type":"microphone","rate":16000,"session":"b"})") + frame("b" + std::string(320, '\3')) +
            frame(R"(t{"type":"microphone","rate":44100,"session":"b","first":441})") +
            frame("b" + std::string(882, '\4'))}},
      {"address", feed_address, {"127.0.0.1:9000", "[::1]:9000", "localhost:80", "0.0.0.0:1"}},
  };
#ifdef RUNNEL_HAVE_MQTT
  const std::string accepted("\x20\x02\0\0", 4);
  all.push_back({"mqtt",
                 feed_mqtt,
                 {"\1" + accepted + std::string("\x40\x02\0\1\x40\x02\0\2", 8),
                  "\2" + accepted + std::string("\x50\x02\0\1\x70\x02\0\1\x50\x02\0\2\x70\x02\0\2", 16),
                  "\5" + accepted + std::string("\xd0\0\x40\x02\0\1", 6),
                  "\1" + std::string("\x20\x02\0\5", 4), std::string("\0", 1) + accepted}});
#endif
  return all;
}

}  // namespace runnel::fuzz
