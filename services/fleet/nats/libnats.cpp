// The wire of a fleet by libnats.
#include <nats/nats.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <map>
#include <mutex>
#include <utility>

#include "services/fleet/nats/gathering.h"
#include "services/fleet/nats/here.h"
#include "services/fleet/nats/wire.h"

namespace runnel::fleet {
namespace {

Status failed(std::string_view what, natsStatus status) {
  const char* const text = nats_GetLastError(nullptr);
  const std::string_view meaning = natsStatus_GetText(status);
  // "(conn.c:2088): No server available": where in the library says nothing to its users.
  std::string_view detail = text == nullptr ? "" : text;
  if (const std::size_t at = detail.find("): "); detail.starts_with('(') && at != std::string_view::npos)
    detail.remove_prefix(at + 3);
  // What trying again does not mend has another code.
  switch (status) {
    case NATS_CONNECTION_AUTH_FAILED:
    case NATS_NOT_PERMITTED:
      return Status(Code::mismatch) << what << ": the server refuses this user (" << detail << ')';
    case NATS_SECURE_CONNECTION_WANTED:
      return Status(Code::unsupported) << what << ": the server has no TLS";
    case NATS_SECURE_CONNECTION_REQUIRED:
      return Status(Code::unsupported) << what << ": the server demands TLS (tls://HOST:PORT)";
    case NATS_SSL_ERROR: {
      // "SSL handshake error: 10:certificate has expired:depth=0:cert=/CN=good:issuer=/CN=ca"
      if (detail.ends_with(": (null)")) detail.remove_suffix(8);
      constexpr std::string_view kHandshake = "SSL handshake error: ";
      if (!detail.starts_with(kHandshake))
        return Status(Code::unsupported) << what << ": TLS fails: " << detail;
      detail.remove_prefix(kHandshake.size());
      if (const std::size_t colon = detail.find(':'); colon < 4) detail.remove_prefix(colon + 1);
      return Status(Code::unsupported) << what << ": the server's certificate is not accepted: " << detail;
    }
    case NATS_PROTOCOL_ERROR:
      return Status(Code::io_error)
             << what << ": the server ended the connection; it may demand a certificate of this client ("
             << detail << ')';
    default:
      break;
  }
  Status out(Code::io_error);
  out << what << ": " << meaning;
  if (!detail.empty() && detail != meaning) out << " (" << detail << ')';
  return out;
}

template <class T, void (*destroy)(T*)>
struct Destroy {
  void operator()(T* it) const noexcept { destroy(it); }
};
using Options = std::unique_ptr<natsOptions, Destroy<natsOptions, natsOptions_Destroy>>;
using Subscription = std::unique_ptr<natsSubscription, Destroy<natsSubscription, natsSubscription_Destroy>>;
using OwnedMessage = std::unique_ptr<natsMsg, Destroy<natsMsg, natsMsg_Destroy>>;

// One line of a file, for secrets.
Result<std::string> secret_in(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  if (!file || !std::getline(file, line) || line.empty())
    return Status(Code::io_error) << path << ": expected a line with the secret";
  if (line.ends_with('\r')) line.pop_back();
  return line;
}

// A user without JWT: the line of the file that begins with U, as `nk -gen user -pubout` writes it below the
// seed.
Result<std::string> public_key_in(const std::string& path) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    while (line.ends_with('\r') || line.ends_with(' ')) line.pop_back();
    if (line.size() == 56 && line.front() == 'U') return line;
  }
  return Status(Code::invalid_data)
         << path << ": expected a user's public key (U...) and its seed (SU...), one a line";
}

class NatsWire final : public Wire {
 public:
  NatsWire() = default;
  ~NatsWire() override {
    here_.leave();
    if (gathering_ != nullptr) gathering_->stop();  // its thread uses the subscriptions
    if (connection_ != nullptr) natsConnection_Close(connection_);
    subscriptions_.clear();
    ended_.clear();
    natsConnection_Destroy(connection_);
    gathering_ = nullptr;  // which the connection used until here
  }

  Status open(const Settings& settings, Arrives arrives) override;
  [[nodiscard]] std::string_view inbox() const noexcept override { return inbox_; }
  [[nodiscard]] std::uint64_t connections() const noexcept override { return connections_; }
  [[nodiscard]] bool connected() const noexcept override {
    return natsConnection_Status(connection_) == NATS_CONN_STATUS_CONNECTED;
  }
  [[nodiscard]] bool closed() const noexcept override {
    return natsConnection_Status(connection_) == NATS_CONN_STATUS_CLOSED;
  }
  std::string take_complaint() override {
    const std::lock_guard lock(mutex_);
    return std::exchange(complaint_, {});
  }
  Status listen(std::string_view tokens) override;
  void unlisten(std::string_view tokens) noexcept override;
  Status publish(std::string_view subject, std::string_view reply, const Headers& headers,
                 std::string_view data) override;
  void flush(int milliseconds) override { natsConnection_FlushTimeout(connection_, milliseconds); }

 private:
  static Status configure(natsOptions* options, const Settings& settings);
  // Called in threads of the library.
  static void came(natsConnection*, natsSubscription*, natsMsg* message, void* whose);
  static void reconnected(natsConnection*, void* whose);
  static void complained(natsConnection* connection, natsSubscription*, natsStatus status, void* whose);
  static WireMessage message_of(natsMsg* message);
  void take_all();

  // libnats 3.4 looks a message's subscription up, lets go of its lock, and then uses it: one that another
  // thread destroys at that moment is used after it is gone. So an ended one gets no more messages, but stays
  // for so long, and while it is one of the newest: a process may be stopped between the two.
  static constexpr std::chrono::seconds kStay{10};
  static constexpr std::size_t kStaying = 16;
  struct Ended {
    std::chrono::steady_clock::time_point since;
    Subscription subscription;
  };

  Arrives arrives_;
  natsConnection* connection_ = nullptr;
  std::map<std::string, Subscription, std::less<>> subscriptions_;  // by what follows the inbox
  std::deque<Ended> ended_;
  std::mutex listening_;                   // guards the subscriptions where messages gather
  std::vector<natsSubscription*> polled_;  // all of them
  std::vector<WireMessage> taken_;
  std::unique_ptr<Gathering> gathering_;
  std::string inbox_;
  std::atomic<std::uint64_t> connections_{0};
  std::mutex mutex_;
  std::string complaint_;  // guarded by mutex_
  Here<NatsWire> here_{*this};
};

Status NatsWire::configure(natsOptions* options, const Settings& settings) {
  std::vector<std::string> urls;
  for (std::size_t at = 0; at <= settings.urls.size();) {
    const std::size_t end = std::min(settings.urls.find(',', at), settings.urls.size());
    if (end > at) urls.push_back(settings.urls.substr(at, end - at));
    at = end + 1;
  }
  std::vector<const char*> pointers;
  for (const std::string& url : urls) pointers.push_back(url.c_str());
  const auto check = [](natsStatus status, std::string_view what) {
    return status == NATS_OK ? Status() : failed(what, status);
  };
  RUNNEL_TRY(check(natsOptions_SetServers(options, pointers.data(), static_cast<int>(pointers.size())),
                   settings.urls));
  natsOptions_SetName(options, settings.name.c_str());
  natsOptions_SetMaxReconnect(options, -1);
  natsOptions_SetReconnectWait(options, 100);
  natsOptions_SetReconnectJitter(options, 100, 100);
  natsOptions_SetReconnectBufSize(
      options, -1);  // what cannot be sent fails at once, and is sent anew with its condition
  natsOptions_SetPingInterval(options, 2000);
  natsOptions_SetMaxPingsOut(options, 2);
  natsOptions_SetTimeout(options, 1000L * settings.timeout);
  natsOptions_SetSendAsap(options, true);
  natsOptions_UseGlobalMessageDelivery(options, true);  // one thread, not one for each subscription
  if (!settings.credentials.empty())
    RUNNEL_TRY(check(natsOptions_SetUserCredentialsFromFiles(options, settings.credentials.c_str(), nullptr),
                     settings.credentials));
  if (!settings.nkey.empty()) {
    RUNNEL_ASSIGN(const std::string key, public_key_in(settings.nkey));
    RUNNEL_TRY(
        check(natsOptions_SetNKeyFromSeed(options, key.c_str(), settings.nkey.c_str()), settings.nkey));
  }
  if (!settings.user.empty()) {
    std::string password = settings.password;
    if (!settings.password_file.empty()) {
      RUNNEL_ASSIGN(password, secret_in(settings.password_file));
    }
    natsOptions_SetUserInfo(options, settings.user.c_str(), password.c_str());
  }
  std::string token = settings.token;
  if (!settings.token_file.empty()) {
    RUNNEL_ASSIGN(token, secret_in(settings.token_file));
  }
  if (!token.empty()) natsOptions_SetToken(options, token.c_str());
  if (!settings.certificates.empty() || !settings.certificate.empty() ||
      settings.urls.find("tls://") != std::string::npos) {
    RUNNEL_TRY(check(natsOptions_SetSecure(options, true), "TLS"));
    if (!settings.certificates.empty())
      RUNNEL_TRY(check(natsOptions_LoadCATrustedCertificates(options, settings.certificates.c_str()),
                       settings.certificates));
    // Without it the library expects the host of the address.
    if (!settings.server_name.empty())
      RUNNEL_TRY(check(natsOptions_SetExpectedHostname(options, settings.server_name.c_str()),
                       settings.server_name));
    if (!settings.certificate.empty())
      RUNNEL_TRY(check(
          natsOptions_LoadCertificatesChain(options, settings.certificate.c_str(), settings.key.c_str()),
          settings.certificate));
  }
  return {};
}

Status NatsWire::open(const Settings& settings, Arrives arrives) {
  arrives_ = std::move(arrives);
  natsOptions* made = nullptr;
  if (const natsStatus status = natsOptions_Create(&made); status != NATS_OK)
    return failed("libnats", status);
  const Options options(made);
  RUNNEL_TRY(configure(made, settings));
  natsOptions_SetReconnectedCB(made, reconnected, here_.closure());
  natsOptions_SetErrorHandler(made, complained, here_.closure());
  if (settings.gather > 0) {
    gathering_ = std::make_unique<Gathering>(std::chrono::milliseconds(settings.gather));
    RUNNEL_TRY(gathering_->attach_to(made));
  }
  if (const natsStatus status = natsConnection_Connect(&connection_, made); status != NATS_OK)
    return failed(settings.urls, status);
  connections_ = 1;
  natsInbox* inbox = nullptr;
  if (const natsStatus status = natsInbox_Create(&inbox); status != NATS_OK) return failed("libnats", status);
  inbox_ = std::string(inbox) + '.';
  natsInbox_Destroy(inbox);
  if (!settings.inbox.empty()) inbox_ = settings.inbox + inbox_.substr(inbox_.find('.'));
  RUNNEL_TRY(listen("a.>"));
  if (gathering_ != nullptr) gathering_->start([this] { take_all(); });
  return {};
}

void NatsWire::reconnected(natsConnection*, void* whose) {
  Here<NatsWire>::call(whose, [](NatsWire& wire) { ++wire.connections_; });
}

void NatsWire::complained(natsConnection* connection, natsSubscription*, natsStatus status, void* whose) {
  const char* text = nullptr;
  natsConnection_GetLastError(connection, &text);
  std::string out = natsStatus_GetText(status);
  if (text != nullptr && *text != '\0') out = text;
  Here<NatsWire>::call(whose, [&](NatsWire& wire) {
    const std::lock_guard lock(wire.mutex_);
    wire.complaint_ = std::move(out);
  });
}

Status NatsWire::listen(std::string_view tokens) {
  natsSubscription* made = nullptr;
  const std::string subject = inbox_ + std::string(tokens);
  const natsStatus status =
      gathering_ != nullptr
          ? natsConnection_SubscribeSync(&made, connection_, subject.c_str())
          : natsConnection_Subscribe(&made, connection_, subject.c_str(), came, here_.closure());
  if (status != NATS_OK) return failed(subject, status);
  // The server's flow control bounds what waits.
  natsSubscription_SetPendingLimits(made, -1, -1);
  const std::lock_guard lock(listening_);
  subscriptions_[std::string(tokens)].reset(made);
  polled_.push_back(made);
  return {};
}

void NatsWire::unlisten(std::string_view tokens) noexcept {
  const std::lock_guard lock(listening_);
  const auto at = subscriptions_.find(tokens);
  if (at == subscriptions_.end()) return;
  std::erase(polled_, at->second.get());
  natsSubscription_Unsubscribe(at->second.get());
  const auto now = std::chrono::steady_clock::now();
  ended_.push_back({now, std::move(at->second)});
  subscriptions_.erase(at);
  while (ended_.size() > kStaying && now - ended_.front().since > kStay) ended_.pop_front();
}

// What has come for all subscriptions, in the order of each.
void NatsWire::take_all() {
  {
    const std::lock_guard lock(listening_);
    for (natsSubscription* const subscription : polled_) {
      int waiting = 0, bytes = 0;
      if (natsSubscription_GetPending(subscription, &waiting, &bytes) != NATS_OK) continue;
      for (; waiting > 0; --waiting) {
        natsMsg* message = nullptr;
        if (natsSubscription_NextMsg(&message, subscription, 0) != NATS_OK) break;
        taken_.push_back(message_of(message));
      }
    }
  }
  // All at once: whoever waits for them wakes once, and finds all.
  if (!taken_.empty()) arrives_(taken_);
  taken_.clear();
}

void NatsWire::came(natsConnection*, natsSubscription*, natsMsg* message, void* whose) {
  std::vector<WireMessage> one;
  one.push_back(message_of(message));
  Here<NatsWire>::call(whose, [&](NatsWire& wire) { wire.arrives_(one); });
}

WireMessage NatsWire::message_of(natsMsg* message) {
  const OwnedMessage owner(message);
  WireMessage out;
  out.subject = natsMsg_GetSubject(message);
  if (const char* const reply = natsMsg_GetReply(message); reply != nullptr) out.reply = reply;
  const auto* const data = reinterpret_cast<const std::byte*>(natsMsg_GetData(message));
  out.data.assign(data, data + natsMsg_GetDataLength(message));
  const char** keys = nullptr;
  int count = 0;
  if (natsMsgHeader_Keys(message, &keys, &count) == NATS_OK) {
    out.headers.reserve(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) {
      const char* value = nullptr;
      // Conditions under which it was stored: nobody asks for them any more.
      const std::string_view name = keys[i];
      if (name.starts_with("Nats-Expected-") || name == "Nats-Msg-Id") continue;
      if (natsMsgHeader_Get(message, keys[i], &value) == NATS_OK && value != nullptr)
        out.headers.emplace_back(keys[i], value);
    }
    free(static_cast<void*>(keys));
  }
  for (const auto& [name, value] : out.headers) {
    if (name == "Status") out.status = std::atoi(value.c_str());
    if (name == "Description") out.description = value;
  }
  return out;
}

Status NatsWire::publish(std::string_view subject, std::string_view reply, const Headers& headers,
                         std::string_view data) {
  natsMsg* made = nullptr;
  const std::string to(subject), back(reply);
  natsStatus status = natsMsg_Create(&made, to.c_str(), back.empty() ? nullptr : back.c_str(), data.data(),
                                     static_cast<int>(data.size()));
  if (status != NATS_OK) return failed(subject, status);
  const OwnedMessage message(made);
  for (const auto& [name, value] : headers)
    if (status == NATS_OK) status = natsMsgHeader_Set(made, name.c_str(), value.c_str());
  if (status == NATS_OK) status = natsConnection_PublishMsg(connection_, made);
  return status == NATS_OK ? Status() : failed(subject, status);
}

}  // namespace

Result<std::unique_ptr<Wire>> make_wire() { return std::unique_ptr<Wire>(std::make_unique<NatsWire>()); }

}  // namespace runnel::fleet
