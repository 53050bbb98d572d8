#include "pipeline/nodes/host/act/mqtt.h"

#include <mosquitto.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <fstream>
#include <system_error>

#include "base/crc32c.h"
#include "base/host/late_library.h"
#include "pipeline/host/live/socket.h"
#include "pipeline/nodes/decide/detect.h"

namespace runnel::pipeline {
namespace {

constexpr Parameter kParameters[] = {
    text_parameter<&Mqtt::broker>("broker", "", "HOST:PORT of the broker"),
    text_parameter<&Mqtt::topic>(
        "topic", "", "where to publish; may contain {label}, {source} and the other fields of an event"),
    text_parameter<&Mqtt::client>(
        "client", "", "unique name of the session; empty: made from the names of machine, broker and topic"),
    parameter<&Mqtt::qos>("qos", "", 0, 2, "0: at most once; 1: at least once; 2: exactly once"),
    switch_parameter<&Mqtt::retain>("retain", "the broker keeps the latest record for later subscribers"),
    parameter<&Mqtt::queue>("queue", "", 1, 10000000,
                            "records that may wait while the broker is unreachable"),
    text_parameter<&Mqtt::full>("full", "drop-oldest|drop-newest",
                                "what is dropped, and counted, when the queue is full"),
    parameter<&Mqtt::keepalive>("keepalive", "s", 5, 65535, "keep-alive interval between broker and client"),
    parameter<&Mqtt::retry>("retry", "s", 1, 3600, "longest time between two attempts to connect"),
    parameter<&Mqtt::linger>("linger", "s", 0, 3600,
                             "at the end, how long to wait for the broker's acknowledgements"),
    text_parameter<&Mqtt::user>("user", "", "name to sign in with; empty: none"),
    text_parameter<&Mqtt::password_file>("password_file", "", "file with the password on its first line"),
    text_parameter<&Mqtt::ca>(
        "ca", "",
        "file with the CA certificates that verify the broker's: encrypted with TLS; empty: not encrypted"),
    text_parameter<&Mqtt::discovery>("discovery", "",
                                     "makes itself known to Home Assistant below this topic, homeassistant "
                                     "there; empty: not"),
    text_parameter<&Mqtt::device>("device", "", "discovery: name of the device"),
    text_parameter<&Mqtt::device_class>(
        "device_class", "", "discovery: what its binary sensors sense, one of Home Assistant's classes"),
    parameter<&Mqtt::hold>("hold", "s", 1, 86400, "discovery: a binary sensor switches off after this time"),
    text_parameter<&Mqtt::labels>("labels", "",
                                  "discovery: what can be found, separated by commas; empty: the labels of "
                                  "the decision without silence and unknown"),
    switch_parameter<&Mqtt::forget>("forget", "discovery: the device is removed at the end"),
    text_parameter<&Mqtt::source>("source", "",
                                  "name in the records; empty: that of the recording or device"),
};

constexpr int kDefaultPort = 1883;
constexpr int kLoopMilliseconds = 500;
constexpr int kGoodbyeLoops = 4;
constexpr const char* kOnline = "online";
constexpr const char* kOffline = "offline";
// The library's own queue stays short, so that records are dropped here, where they are counted.
constexpr std::size_t kMaxSent = 20;

// clang-format off
#define RUNNEL_MOSQUITTO(F) \
  F(mosquitto_connack_string) F(mosquitto_connect_async) F(mosquitto_connect_callback_set) \
  F(mosquitto_destroy) F(mosquitto_disconnect) F(mosquitto_disconnect_callback_set) \
  F(mosquitto_lib_cleanup) F(mosquitto_lib_init) F(mosquitto_loop) F(mosquitto_new) F(mosquitto_publish) \
  F(mosquitto_publish_callback_set) F(mosquitto_reconnect_async) F(mosquitto_strerror) \
  F(mosquitto_threaded_set) F(mosquitto_tls_set) F(mosquitto_username_pw_set) F(mosquitto_will_set)
// clang-format on
struct Mosquitto {
  static constexpr const char* kFile = RUNNEL_MOSQUITTO_FILE;
  static constexpr const char* kPurpose = "publishing over MQTT";
  RUNNEL_LATE_FUNCTIONS(RUNNEL_MOSQUITTO)
};

// Once start() has opened it.
const Mosquitto& library() { return *late<Mosquitto>(); }

struct InUse {
  InUse() { library().mosquitto_lib_init(); }
  ~InUse() { library().mosquitto_lib_cleanup(); }
  InUse(const InUse&) = delete;
  InUse& operator=(const InUse&) = delete;
};

// Inserted fields must not add levels or wildcards to a topic.
std::string level_of_topic(std::string text) {
  std::replace_if(
      text.begin(), text.end(),
      [](unsigned char letter) { return letter == '/' || letter == '+' || letter == '#' || letter < 32; },
      '_');
  return text;
}

std::string made_up_name(std::string_view broker, std::string_view topic) {
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  const std::string rest = std::string(broker) + "\n" + std::string(topic);
  return "runnel-" + std::string(host) + "-" + std::to_string(crc32c(std::as_bytes(std::span(rest))));
}

}  // namespace

const NodeType Mqtt::type = {
    .name = "mqtt",
    .help =
        "Publishes events and gaps as JSON to an MQTT broker, in a persistent session; queues them while the "
        "broker is unreachable.",
    .input = {static_cast<Kinds>(Kind::events), "events"},
    .output = {},
    .parameters = kParameters,
    .make = make_node<Mqtt>,
};

struct Mqtt::Callbacks {
  static void connect(mosquitto*, void* self, int code) { static_cast<Mqtt*>(self)->connected(code); }
  static void disconnect(mosquitto*, void* self, int code) { static_cast<Mqtt*>(self)->disconnected(code); }
  static void publish(mosquitto*, void* self, int number) { static_cast<Mqtt*>(self)->acknowledged(number); }
};

Mqtt::~Mqtt() { stop(); }

Status Mqtt::prepare(NodeContext& context) noexcept {
  RUNNEL_TRY(Action::prepare(context));
  if (discovery.empty()) return {};
  const auto for_each = [](std::string_view list, const auto& take) {
    while (!list.empty()) {
      const std::size_t comma = std::min(list.find(','), list.size());
      if (comma > 0) take(list.substr(0, comma));
      list.remove_prefix(std::min(comma + 1, list.size()));
    }
  };
  known_labels_.clear();
  if (!labels.empty()) {
    for_each(labels, [&](std::string_view label) { known_labels_.emplace_back(label); });
  } else {
    known_labels_.assign(context.input.labels.begin(), context.input.labels.end());
    for_each(Detect::kUsuallyIgnored, [&](std::string_view label) { std::erase(known_labels_, label); });
  }
  return check_discovery(discovery_settings());
}

DiscoverySettings Mqtt::discovery_settings() const {
  return {.prefix = discovery,
          .topic = topic,
          .id = client_,
          .name = device,
          .device_class = device_class,
          .hold = hold,
          .labels = known_labels_};
}

Status Mqtt::configure() noexcept {
  const bool has_port = broker.rfind(':') != std::string_view::npos && broker.back() != ']';
  RUNNEL_ASSIGN(
      const SocketAddress address,
      SocketAddress::parse(std::string(broker) + (has_port ? "" : ":" + std::to_string(kDefaultPort))));
  const char* const end = address.port.data() + address.port.size();
  const auto [stop, error] = std::from_chars(address.port.data(), end, port_);
  if (address.is_unix || error != std::errc() || stop != end || port_ < 1 || port_ > 65535) {
    return Status(Code::invalid_argument)
           << "broker=" << broker << ": expected HOST:PORT with a port from 1 to 65535";
  }
  host_ = address.host;
  client_ = client.empty() ? made_up_name(broker, topic) : std::string(client);
  if (topic.empty() || topic.find_first_of("+#") != std::string_view::npos)
    return Status(Code::invalid_argument) << "topic=" << topic << ": expected a topic without + and #";
  return {};
}

Status Mqtt::start() noexcept {
  if (const auto& opened = late<Mosquitto>(); !opened.ok()) return opened.status();
  static const InUse in_use;
  session_ = library().mosquitto_new(client_.c_str(), false, this);
  if (session_ == nullptr)
    return Status(Code::io_error) << "client=" << client_ << ": the session cannot be made";
  const auto refused = [](std::string_view what, int code) {
    return Status(Code::io_error) << what << ": " << library().mosquitto_strerror(code);
  };
  if (!user.empty()) {
    std::string password;
    if (!password_file.empty()) {
      std::ifstream in{std::string(password_file)};
      if (!std::getline(in, password))
        return Status(Code::not_found) << "password_file=" << password_file << ": cannot be read";
    }
    const int code = library().mosquitto_username_pw_set(session_, std::string(user).c_str(),
                                                         password_file.empty() ? nullptr : password.c_str());
    if (code != MOSQ_ERR_SUCCESS) return refused("user", code);
  }
  if (!ca.empty()) {
    if (const int code = library().mosquitto_tls_set(session_, std::string(ca).c_str(), nullptr, nullptr,
                                                     nullptr, nullptr);
        code != MOSQ_ERR_SUCCESS)
      return refused("ca", code);
  }
  RUNNEL_TRY(set_will());
  library().mosquitto_connect_callback_set(session_, Callbacks::connect);
  library().mosquitto_disconnect_callback_set(session_, Callbacks::disconnect);
  library().mosquitto_publish_callback_set(session_, Callbacks::publish);
  library().mosquitto_threaded_set(session_, true);
  if (leave_.descriptor() < 0) return Status(Code::io_error) << "the system gives no event descriptor";
  try {
    thread_ = std::thread([this] { work(); });
  } catch (const std::system_error& error) {
    return Status(Code::io_error) << "cannot start a thread: " << error.what();
  }
  return {};
}

// What the broker says of us when it has lost us.
Status Mqtt::set_will() {
  if (discovery.empty()) return {};
  const std::string offline = kOffline;
  const int code = library().mosquitto_will_set(session_, availability_topic(topic).c_str(),
                                                static_cast<int>(offline.size()), offline.data(), 1, true);
  if (code == MOSQ_ERR_SUCCESS) return {};
  return Status(Code::io_error) << "topic=" << topic << ": " << library().mosquitto_strerror(code);
}

// Call with the mutex held, in this and the next two.
void Mqtt::publish_retained(const Message& message) {
  int number = 0;
  const int code =
      library().mosquitto_publish(session_, &number, message.topic.c_str(),
                                  static_cast<int>(message.payload.size()), message.payload.data(), 1, true);
  // The library delivers it once there is a connection again.
  if (code == MOSQ_ERR_SUCCESS || code == MOSQ_ERR_NO_CONN || code == MOSQ_ERR_CONN_LOST ||
      code == MOSQ_ERR_ERRNO)
    retained_.insert(number);
  else
    book_.say(std::string(broker) + ": the device was not made known: " + library().mosquitto_strerror(code));
}

// The broker may have lost what it kept, and its last word about us may be "offline": at every connection.
void Mqtt::make_known() {
  if (discovery.empty()) return;
  for (const Message& message : discovery_messages(discovery_settings())) publish_retained(message);
  publish_retained({availability_topic(topic), kOnline});
}

void Mqtt::say_goodbye() {
  if (discovery.empty()) return;
  if (!connected_) {
    if (forget) book_.say(std::string(broker) + ": the device was not removed: there is no connection");
    return;
  }
  if (forget) {
    for (Message& message : discovery_messages(discovery_settings())) publish_retained({message.topic, ""});
  }
  publish_retained({availability_topic(topic), forget ? "" : kOffline});
}

// (The library's own thread gives up when the broker is away at the start.)
void Mqtt::work() {
  for (bool again = false; !leaving_; again = true) {
    int code = again ? library().mosquitto_reconnect_async(session_)
                     : library().mosquitto_connect_async(session_, host_.c_str(), port_,
                                                         static_cast<int>(keepalive));
    for (int rest = kGoodbyeLoops; code == MOSQ_ERR_SUCCESS && rest > 0; rest -= leaving_ ? 1 : 0)
      code = library().mosquitto_loop(session_, kLoopMilliseconds, 1);
    if (leaving_) return;
    pause_ = static_cast<int>(std::clamp<std::int64_t>(2 * pause_, 1, retry));
    pollfd polled{leave_.descriptor(), POLLIN, 0};
    poll(&polled, 1, 1000 * pause_);
  }
}

void Mqtt::connected(int code) {
  const std::lock_guard lock(mutex_);
  connected_ = code == 0;
  if (connected_) {
    pause_ = 0;
    make_known();
    publish_waiting();
  } else {
    book_.say(std::string(broker) + " refuses the connection: " + library().mosquitto_connack_string(code) +
              "; trying again");
  }
}

void Mqtt::disconnected(int code) {
  const std::lock_guard lock(mutex_);
  connected_ = false;
  all_done_.notify_all();
  if (code != 0)
    book_.say("the connection to " + std::string(broker) + " was lost; records wait until it is back");
}

void Mqtt::acknowledged(int number) {
  const std::lock_guard lock(mutex_);
  if (retained_.erase(number) > 0) {
    if (retained_.empty()) all_done_.notify_all();
    return;
  }
  if (sent_.erase(number) == 0) return;
  book_.done();
  publish_waiting();
  if (sent_.empty() && waiting_.empty()) all_done_.notify_all();
}

// Call with the mutex held. The library delivers a message that it has accepted, even when the connection is
// lost.
void Mqtt::publish_waiting() {
  while (connected_ && !waiting_.empty() && sent_.size() < kMaxSent) {
    const Message& message = waiting_.front();
    int number = 0;
    const int code = library().mosquitto_publish(session_, &number, message.topic.c_str(),
                                                 static_cast<int>(message.payload.size()),
                                                 message.payload.data(), static_cast<int>(qos), retain);
    const bool connection = code == MOSQ_ERR_NO_CONN || code == MOSQ_ERR_CONN_LOST || code == MOSQ_ERR_ERRNO;
    if (connection && qos == 0) return;
    if (code == MOSQ_ERR_SUCCESS || connection)
      sent_.insert(number);
    else
      book_.failed(std::string(broker) +
                   ": a record was not published: " + library().mosquitto_strerror(code));
    waiting_.pop_front();
  }
}

void Mqtt::put(Message message) {
  const std::lock_guard lock(mutex_);
  if (!connected_ && waiting_.empty())
    book_.say("there is no connection to " + std::string(broker) + "; records wait until there is");
  if (static_cast<std::int64_t>(waiting_.size()) >= queue) {
    book_.dropped("a record was dropped: " + std::to_string(queue) + " are waiting for " +
                  std::string(broker) + " already");
    if (full == "drop-newest") return;
    waiting_.pop_front();
  }
  waiting_.push_back(std::move(message));
  publish_waiting();
}

std::string Mqtt::topic_of(const Event& event) const {
  EventFields fields = records_.fields(event);
  for (auto& field : fields) field.second = level_of_topic(std::move(field.second));
  return filled_in(topic, fields);
}

void Mqtt::act(const Event& event) { put({topic_of(event), records_.event(event)}); }

// A gap has no label: its topic says "gap" there.
Status Mqtt::gap(const Gap& gap) noexcept {
  book_.taken();
  Event none;
  none.label = "gap";
  none.begin = gap.start;
  none.end = gap.end;
  put({topic_of(none), records_.gap(gap)});
  return {};
}

void Mqtt::stop() noexcept {
  if (session_ == nullptr) return;
  library().mosquitto_disconnect(session_);
  leaving_ = true;
  leave_.up();
  if (thread_.joinable()) thread_.join();
  library().mosquitto_destroy(session_);
  session_ = nullptr;
}

Status Mqtt::finish() noexcept {
  {
    std::unique_lock lock(mutex_);
    all_done_.wait_for(lock, std::chrono::duration<double>(linger),
                       [this] { return sent_.empty() && waiting_.empty(); });
    say_goodbye();
    all_done_.wait_for(lock, std::chrono::duration<double>(connected_ ? linger : 0),
                       [this] { return retained_.empty() || !connected_; });
  }
  stop();
  const std::string why = std::string(broker) + ": the time to wait for it (linger) was up";
  for (std::size_t left = sent_.size(); left > 0; --left)
    book_.failed(why + ", and a record was not acknowledged");
  for (; !waiting_.empty(); waiting_.pop_front()) book_.dropped(why);
  sent_.clear();
  return {};
}

}  // namespace runnel::pipeline
