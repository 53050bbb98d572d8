// What is said on one connection of the Wyoming protocol, without its socket.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "services/serve/stream.h"
#include "services/wyoming/catalogue.h"
#include "services/wyoming/message.h"

namespace runnel::wyoming {

struct Counts {
  std::int64_t clients = 0, requests = 0, events = 0, errors = 0;
  std::int64_t microseconds = 0;  // of sound
};

// Takes messages, opens streams for their sound, and writes answers. A message that is wrong in itself gives
// an `error` and ends the request: the rest of its sound is not heard, and the next request is served. Not
// thread-safe.
class Conversation {
 public:
  // Both outlive it. `counts` are added to.
  Conversation(Catalogue& catalogue, Counts& counts) : catalogue_(catalogue), counts_(counts) {}
  ~Conversation() { close_streams(); }
  Conversation(const Conversation&) = delete;
  Conversation& operator=(const Conversation&) = delete;

  // Answers are appended to `out`. Not while it is busy().
  void take(const Message& message, std::string& out);
  // Whether streams still have samples of the last message, whose payload must stay valid.
  [[nodiscard]] bool busy() const noexcept;
  // Adds the streams that have samples for one step, those of this offer.
  void add_turns(const Offer& offer, std::vector<serve::Together::Turn>& turns);
  // After a step: appends what it gave.
  void collect(std::string& out);
  // A step of one of its streams failed: ends the request.
  void fail(const Status& status, std::string& out);
  // Whether one of its streams is this one.
  [[nodiscard]] bool owns(const serve::Stream* stream) const noexcept;
  // The server stops: flushes the streams as at the end of the sound.
  void end(std::string& out);

  // An `error` event.
  static std::string error(std::string_view code, std::string_view text);

 private:
  enum class Request : std::uint8_t { none, detect, transcribe };
  struct Listening {
    Offer* offer = nullptr;
    bool ends = false;
    std::unique_ptr<serve::Stream> stream;
    std::string lines;  // of events that were not answered yet
  };
  struct Format {
    serve::SampleFormat samples;
    std::int64_t timestamp = 0;  // of its message, ms
  };

  void refuse(std::string_view code, std::string_view text, std::string& out);
  Status take_detect(const Message& message);
  Status take_transcribe(const Message& message);
  static Result<Format> format_of(const Message& message);
  Status start_audio(const Format& format);
  Status take_chunk(const Message& message);
  void stop_audio(std::string& out);
  void close_streams();
  void answer(Listening& from, const nlohmann::json& record, std::string& out);
  void tell_voice(std::string& out);
  [[nodiscard]] std::int64_t timestamp_of(const nlohmann::json& record, const char* key) const;

  Catalogue& catalogue_;
  Counts& counts_;
  Request request_ = Request::none;
  std::vector<const Catalogue::Word*> words_;  // of `detect`; empty: all
  Offer* speech_ = nullptr;                    // of `transcribe`
  bool audio_ = false;                         // between its start and its stop
  bool ignoring_ = false;                      // after an error, to the end of the sound
  Format format_;
  std::vector<std::unique_ptr<Listening>> listening_;
  std::int64_t detections_ = 0;  // of this sound
  std::string text_;
  bool speaks_ = false;
  std::deque<nlohmann::json> voice_begins_, voice_ends_;
};

}  // namespace runnel::wyoming
