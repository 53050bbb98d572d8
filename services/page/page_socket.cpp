#include "services/page/page_socket.h"

#include <poll.h>

#include <chrono>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "pipeline/host/json.h"
#include "services/net/web_socket_frames.h"

namespace runnel::page {
namespace {

using Json = nlohmann::json;
using pipeline::json_string;

// A reader that has this much unsent misses messages instead of getting them late.
constexpr std::size_t kMostUnsent = std::size_t{1} << 17;

std::string microphone_state(std::string_view name, std::string_view message) {
  return R"({"type":"microphone","state":")" + std::string(name) + R"(","message":)" + json_string(message) +
         "}";
}

std::string speaker_message(bool speaks, std::int32_t rate) {
  return std::string(R"({"type":"speaker","speaks":)") + (speaks ? "true" : "false") +
         ",\"rate\":" + std::to_string(rate) + "}";
}

}  // namespace

PageSocket::PageSocket(MessageLog& log, const Feed& feed, const Microphone& microphone, bool speaks,
                       std::function<void()> ended)
    : log_(log), feed_(feed), microphone_(microphone), speaks_(speaks), ended_(std::move(ended)) {
  log_.wake(&wake_);
}

PageSocket::~PageSocket() {
  log_.forget(&wake_);
  silence();
  ended_();
}

net::SocketPeer::Interest PageSocket::interest() const { return {wake_.descriptor(), POLLIN}; }

void PageSocket::work(net::SocketOut& out) {
  wake_.clear();
  if (next_ == 0) {
    // Before the beginning: what is added meanwhile may come twice, but nothing is missed.
    next_ = log_.next();
    for (const std::string& message : feed_.beginning()) out.text(message);
    if (const std::int32_t rate = microphone_.speaker_rate(); rate > 0) out.text(speaker_message(true, rate));
  }
  bool closed = false;
  while (!closed && out.unsent() < kMostUnsent) {
    const auto messages = log_.read(next_, std::chrono::milliseconds(0), closed);
    for (const MessageLog::Message& message : messages) {
      out.text(message.text);
      next_ = message.number + 1;
    }
    if (messages.empty()) break;
  }
  if (!closed) return;
  out.text(R"({"type":"end"})");
  out.close(net::kNormal, "the run is over");
}

void PageSocket::heard(bool is_text, std::string_view message, net::SocketOut& out) {
  if (!is_text) return take_samples(message, out);
  const Json asked = Json::parse(message, nullptr, false);
  const auto type = asked.is_object() ? asked.find("type") : asked.end();
  if (!asked.is_object() || type == asked.end() || !type->is_string())
    return out.close(net::kNotAccepted, "expected a JSON object with a type");
  if (*type == "microphone") return open(std::string(message), out);
  if (*type == "silent") return silence();
  if (*type == "lost") {
    const auto samples = asked.find("samples");
    if (samples == asked.end() || !samples->is_number_integer())
      return out.close(net::kNotAccepted, "lost: expected a number of samples");
    if (sound_ != nullptr && !sound_->lose(turn_, samples->get<std::int64_t>())) taken_over(out);
    return;
  }
  out.close(net::kNotAccepted, "expected the type microphone, lost or silent");
}

void PageSocket::open(const std::string& text, net::SocketOut& out) {
  const Json asked = Json::parse(text, nullptr, false);
  pipeline::RemoteSound::Speaker speaker;
  // A field of another type is refused like a field of another value.
  const auto is_other = [&](const char* key, bool (Json::*is)() const noexcept) {
    return asked.contains(key) && !(asked[key].*is)();
  };
  std::int64_t rate = 0;
  if (is_other("rate", &Json::is_number_integer) || is_other("session", &Json::is_string) ||
      is_other("first", &Json::is_number_integer) || is_other("take_over", &Json::is_boolean))
    return out.close(net::kNotAccepted, "microphone: expected rate, session, first and take_over");
  rate = asked.value("rate", rate);
  speaker.rate = rate >= 0 && rate <= pipeline::RemoteSound::kMostRate ? static_cast<std::int32_t>(rate) : 0;
  speaker.session = asked.value("session", std::string());
  speaker.first = asked.value("first", std::int64_t{0});
  speaker.takes_over = asked.value("take_over", false);
  if (speaker.session.empty() || speaker.session.size() > 100)
    return out.close(net::kNotAccepted, "microphone: expected a session of 1 to 100 bytes");
  silence();
  if (!speaks_) return out.text(microphone_state("refused", "this token lacks the scope stream"));
  const auto sound = microphone_.sound();
  if (sound == nullptr) {
    out.text(microphone_state("refused", "this run does not listen to browsers: start it with --browser"));
    return;
  }
  const auto turn = sound->begin(speaker);
  if (!turn.ok()) {
    out.text(microphone_state("refused", turn.status().text()));
    return;
  }
  sound_ = sound;
  turn_ = *turn;
  out.text(R"({"type":"microphone","state":"open","rate":)" + std::to_string(sound->rate()) + "}");
  microphone_.set_speaker(speaker.rate);
  log_.add(speaker_message(true, speaker.rate));
}

void PageSocket::take_samples(std::string_view bytes, net::SocketOut& out) {
  if (sound_ == nullptr) return;  // refused, or taken over: what was on its way
  if (bytes.size() % 2 != 0) return out.close(net::kNotAccepted, "half a sample: expected 16 bits each");
  samples_.resize(bytes.size() / 2);
  // Empty spans may have no address.
  if (!bytes.empty()) std::memcpy(samples_.data(), bytes.data(), bytes.size());
  if (!sound_->push(turn_, samples_, std::chrono::steady_clock::now())) taken_over(out);
}

void PageSocket::taken_over(net::SocketOut& out) {
  sound_.reset();
  out.text(microphone_state("taken", "another page has taken over"));
}

void PageSocket::silence() {
  if (sound_ == nullptr) return;
  if (sound_->end(turn_)) {
    microphone_.set_speaker(0);
    log_.add(speaker_message(false, 0));
  }
  sound_.reset();
}

}  // namespace runnel::page
