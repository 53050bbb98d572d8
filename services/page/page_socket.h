// The WebSocket of the live page: the messages of the run, and the page's microphone.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pipeline/host/live/wake.h"
#include "pipeline/nodes/host/live/browser/remote_sound.h"
#include "services/net/web_socket.h"
#include "services/page/feed.h"
#include "services/page/message_log.h"

namespace runnel::page {

// Where the sound of pages goes; empty until a graph that takes it is shown. Thread-safe.
class Microphone {
 public:
  void connect(std::shared_ptr<pipeline::RemoteSound> sound) {
    const std::lock_guard lock(mutex_);
    sound_ = std::move(sound);
  }
  [[nodiscard]] std::shared_ptr<pipeline::RemoteSound> sound() const {
    const std::lock_guard lock(mutex_);
    return sound_;
  }
  // The rate of the page that speaks; 0: none does.
  void set_speaker(std::int32_t rate) const noexcept { speaker_rate_.store(rate, std::memory_order_relaxed); }
  [[nodiscard]] std::int32_t speaker_rate() const noexcept {
    return speaker_rate_.load(std::memory_order_relaxed);
  }

 private:
  mutable std::atomic<std::int32_t> speaker_rate_{0};
  mutable std::mutex mutex_;
  std::shared_ptr<pipeline::RemoteSound> sound_;
};

// From the server, texts: the messages of feed.h, and of the microphone
//     {"type":"microphone","state":"open","rate":48000}
//     {"type":"microphone","state":"refused","message":...}     busy, or the run takes no sound of browsers
//     {"type":"microphone","state":"taken","message":...}       another page took over
// From the page, texts, then bytes: 16-bit little-endian samples, mono
//     {"type":"microphone","rate":48000,"session":"...","first":0,"take_over":false}
//     {"type":"lost","samples":N}                               these will not come
//     {"type":"silent"}                                         the microphone is closed
class PageSocket final : public net::SocketPeer {
 public:
  // All outlive it. `speaks`: whether the client may. `ended`: called when the connection is over.
  PageSocket(MessageLog& log, const Feed& feed, const Microphone& microphone, bool speaks,
             std::function<void()> ended);
  ~PageSocket() override;
  PageSocket(const PageSocket&) = delete;
  PageSocket& operator=(const PageSocket&) = delete;

  [[nodiscard]] Interest interest() const override;
  void heard(bool is_text, std::string_view message, net::SocketOut& out) override;
  void work(net::SocketOut& out) override;

 private:
  void open(const std::string& text, net::SocketOut& out);
  void silence();
  void take_samples(std::string_view bytes, net::SocketOut& out);
  void taken_over(net::SocketOut& out);

  MessageLog& log_;
  const Feed& feed_;
  const Microphone& microphone_;
  bool speaks_;
  std::function<void()> ended_;
  pipeline::Wake wake_;
  std::uint64_t next_ = 0;                        // of the log; 0: the beginning has not been sent
  std::shared_ptr<pipeline::RemoteSound> sound_;  // with a turn
  std::uint64_t turn_ = 0;
  std::vector<std::int16_t> samples_;
};

}  // namespace runnel::page
