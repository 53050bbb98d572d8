#include "services/wyoming/conversation.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/limits.h"

namespace runnel::wyoming {
namespace {

using Json = nlohmann::json;

// As for other clients of the server (docs/serve.md): usual rates are multiples of 25 Hz, and the table of a
// resampler for others takes too long to make for a mere request.
constexpr std::int64_t kLeastRate = 1000, kLargestRate = limits::kStreamRate, kRateStep = 25,
                       kMostChannels = limits::kStreamChannels;
constexpr std::size_t kMostNames = limits::kWyomingNames;
// So that times stay exact in 64 bits.
constexpr std::int64_t kMostTimestamp = std::int64_t{1} << 52;

Status wrong(const Message& message, std::string_view key, std::string_view expected) {
  std::string found = "nothing";
  if (const auto value = message.data.find(key); value != message.data.end())
    found = value->dump(-1, ' ', true, Json::error_handler_t::replace);
  if (found.size() > 40) found = found.substr(0, 40) + "...";
  return Status(Code::invalid_data) << message.type << ": \"" << key << "\": expected " << expected
                                    << ", found " << found;
}

bool is_absent(const Message& message, std::string_view key) {
  const auto value = message.data.find(key);
  return value == message.data.end() || value->is_null();
}

Result<std::int64_t> integer(const Message& message, std::string_view key, std::int64_t least,
                             std::int64_t most) {
  const auto value = message.data.find(key);
  // (Above the largest int64 it is taken for a negative one, and refused.)
  const bool fits = value != message.data.end() && value->is_number_integer() &&
                    value->get<std::int64_t>() >= least && value->get<std::int64_t>() <= most;
  if (!fits)
    return wrong(message, key,
                 "a whole number from " + std::to_string(least) + " to " + std::to_string(most));
  return value->get<std::int64_t>();
}

// An optional text; empty: none.
Result<std::string> text(const Message& message, std::string_view key) {
  if (is_absent(message, key)) return std::string();
  const Json& value = message.data.at(std::string(key));
  if (!value.is_string()) return wrong(message, key, "a text");
  return value.get<std::string>();
}

}  // namespace

std::string Conversation::error(std::string_view code, std::string_view text) {
  return message_text("error", {{"text", text}, {"code", code}});
}

void Conversation::refuse(std::string_view code, std::string_view what, std::string& out) {
  ++counts_.errors;
  out += error(code, what);
  close_streams();
  ignoring_ = true;
  audio_ = false;
}

void Conversation::take(const Message& message, std::string& out) {
  Status status;
  std::string_view code = "format";
  if (message.type == "describe") {
    out += catalogue_.info();
  } else if (message.type == "ping") {
    out += message_text(
        "pong", is_absent(message, "text") ? Json::object() : Json{{"text", message.data.at("text")}});
  } else if (message.type == "detect") {
    code = "request";
    status = take_detect(message);
  } else if (message.type == "transcribe") {
    code = "request";
    status = take_transcribe(message);
  } else if (message.type == "audio-start") {
    ignoring_ = false;
    if (audio_) stop_audio(out);
    const Result<Format> format = format_of(message);
    status = format.ok() ? start_audio(*format) : format.status();
    if (format.ok()) code = "request";
  } else if (message.type == "audio-chunk") {
    if (!ignoring_) status = take_chunk(message);
  } else if (message.type == "audio-stop") {
    if (audio_) stop_audio(out);
    ignoring_ = false;
  }
  // Other events are not for us: the protocol grows, and programs ignore what they do not know.
  if (!status.ok()) refuse(code, status.text(), out);
}

Status Conversation::take_detect(const Message& message) {
  close_streams();
  audio_ = ignoring_ = false;
  request_ = Request::none;
  words_.clear();
  if (catalogue_.words().empty())
    return Status(Code::not_found, "detect: no model of this server finds words");
  if (!is_absent(message, "names")) {
    const Json& names = message.data.at("names");
    if (!names.is_array() || names.size() > kMostNames) return wrong(message, "names", "a list of texts");
    for (const Json& name : names) {
      if (!name.is_string()) return wrong(message, "names", "a list of texts");
      const auto found = catalogue_.words_named(name.get_ref<const std::string&>());
      if (found.empty()) return wrong(message, "names", "names of words that `info` lists");
      words_.insert(words_.end(), found.begin(), found.end());
    }
  }
  request_ = Request::detect;
  ++counts_.requests;
  return {};
}

Status Conversation::take_transcribe(const Message& message) {
  close_streams();
  audio_ = ignoring_ = false;
  request_ = Request::none;
  RUNNEL_ASSIGN(const std::string name, text(message, "name"));
  RUNNEL_ASSIGN(const std::string language, text(message, "language"));
  speech_ = catalogue_.first(Use::speech, name);
  if (speech_ == nullptr) return wrong(message, "name", "a model of speech that `info` lists");
  if (!catalogue_.speaks(language)) return wrong(message, "language", "a language that `info` lists");
  request_ = Request::transcribe;
  ++counts_.requests;
  return {};
}

Result<Conversation::Format> Conversation::format_of(const Message& message) {
  using pipeline::SampleCode;
  Format format;
  RUNNEL_ASSIGN(format.samples.rate, integer(message, "rate", kLeastRate, kLargestRate));
  if (format.samples.rate % kRateStep != 0)
    return wrong(message, "rate", "a multiple of " + std::to_string(kRateStep) + " Hz");
  RUNNEL_ASSIGN(const std::int64_t width, integer(message, "width", 2, 4));
  format.samples.code = width == 2 ? SampleCode::s16 : width == 3 ? SampleCode::s24_3 : SampleCode::s32;
  RUNNEL_ASSIGN(const std::int64_t channels, integer(message, "channels", 1, kMostChannels));
  format.samples.channels = static_cast<std::int32_t>(channels);
  if (!is_absent(message, "timestamp")) {
    RUNNEL_ASSIGN(format.timestamp, integer(message, "timestamp", 0, kMostTimestamp));
  }
  return format;
}

Status Conversation::start_audio(const Format& format) {
  close_streams();
  detections_ = 0;
  text_.clear();
  speaks_ = false;
  voice_begins_.clear();
  voice_ends_.clear();
  format_ = format;
  const auto listen = [&](Offer& offer, bool ends) -> Status {
    auto listening = std::make_unique<Listening>();
    listening->offer = &offer;
    listening->ends = ends;
    RUNNEL_ASSIGN(listening->stream, offer.open(format.samples, ends));
    listening->stream->begin(offer.name(), &listening->lines);
    listening_.push_back(std::move(listening));
    return {};
  };
  if (request_ == Request::transcribe) {
    RUNNEL_TRY(listen(*speech_, false));
  } else if (request_ == Request::detect) {
    for (std::size_t i = 0; i < catalogue_.offers().size(); ++i) {
      const auto wanted = [i](const Catalogue::Word* word) { return word->offer == i; };
      Offer& offer = *catalogue_.offers()[i];
      if (offer.use() == Use::wake && (words_.empty() || std::any_of(words_.begin(), words_.end(), wanted)))
        RUNNEL_TRY(listen(offer, false));
    }
  } else if (Offer* const voice = catalogue_.first(Use::voice); voice != nullptr) {
    ++counts_.requests;
    RUNNEL_TRY(listen(*voice, false));
    RUNNEL_TRY(listen(*voice, true));
  } else {
    return Status(Code::invalid_data,
                  "the sound: expected `detect` or `transcribe` before it, because no model of this server "
                  "listens for voices alone");
  }
  audio_ = true;
  return {};
}

Status Conversation::take_chunk(const Message& message) {
  RUNNEL_ASSIGN(const Format format, format_of(message));
  if (!audio_) RUNNEL_TRY(start_audio(format));
  if (!(format.samples == format_.samples))
    return Status(Code::invalid_data)
           << "audio-chunk: expected the format in which the sound began (" << format_.samples.rate << " Hz, "
           << format_.samples.channels << " channels, " << pipeline::name_of(format_.samples.code)
           << "), found " << format.samples.rate << " Hz, " << format.samples.channels << " channels, "
           << pipeline::name_of(format.samples.code);
  if (message.payload.size() % format.samples.frame_bytes() != 0)
    return Status(Code::invalid_data)
           << "audio-chunk: a payload of " << message.payload.size() << " bytes, expected a multiple of "
           << format.samples.frame_bytes() << ", the bytes of a sample of all channels";
  for (const auto& listening : listening_) listening->stream->give(message.payload);
  counts_.microseconds += static_cast<std::int64_t>(message.payload.size() / format.samples.frame_bytes()) *
                          1'000'000 / format.samples.rate;
  return {};
}

bool Conversation::busy() const noexcept {
  return std::any_of(listening_.begin(), listening_.end(),
                     [](const auto& listening) { return listening->stream->waiting() > 0; });
}

void Conversation::add_turns(const Offer& offer, std::vector<serve::Together::Turn>& turns) {
  for (const auto& listening : listening_) {
    if (listening->offer == &offer && listening->stream->waiting() > 0)
      turns.emplace_back(listening->stream.get());
  }
}

bool Conversation::owns(const serve::Stream* stream) const noexcept {
  return std::any_of(listening_.begin(), listening_.end(),
                     [stream](const auto& listening) { return listening->stream.get() == stream; });
}

void Conversation::fail(const Status& status, std::string& out) { refuse("failed", status.text(), out); }

void Conversation::collect(std::string& out) {
  for (const auto& listening : listening_) {
    std::string_view lines = listening->lines;
    while (!lines.empty()) {
      const std::size_t end = std::min(lines.find('\n'), lines.size());
      const Json record =
          Json::parse(lines.begin(), lines.begin() + static_cast<std::ptrdiff_t>(end), nullptr, false);
      if (record.is_object()) answer(*listening, record, out);
      lines.remove_prefix(std::min(end + 1, lines.size()));
    }
    listening->lines.clear();
  }
  tell_voice(out);
}

std::int64_t Conversation::timestamp_of(const Json& record, const char* key) const {
  return format_.timestamp + std::llround(1000 * record.at(key).get<double>());
}

void Conversation::answer(Listening& from, const Json& record, std::string& out) {
  const std::string& type = record.at("type").get_ref<const std::string&>();
  if (request_ == Request::transcribe) {
    if (type != "final") return;
    const std::string& heard = record.at("text").get_ref<const std::string&>();
    if (!heard.empty()) text_ += (text_.empty() ? "" : " ") + heard;
    ++counts_.events;
    return;
  }
  if (type != "event") return;
  if (request_ == Request::none) {
    (from.ends ? voice_ends_ : voice_begins_).push_back(record);
    return;
  }
  const std::string& label = record.at("label").get_ref<const std::string&>();
  const auto fits = [&](const Catalogue::Word& word) {
    return word.label == label && catalogue_.offers()[word.offer].get() == from.offer;
  };
  const auto known = std::find_if(catalogue_.words().begin(), catalogue_.words().end(), fits);
  const bool wanted = words_.empty() || std::any_of(words_.begin(), words_.end(),
                                                    [&](const Catalogue::Word* word) { return fits(*word); });
  if (!wanted || known == catalogue_.words().end()) return;
  ++detections_;
  ++counts_.events;
  out += message_text(
      "detection", {{"name", known->name}, {"timestamp", timestamp_of(record, "end")}, {"runnel", record}});
}

// The two streams of a voice: one gives an event as soon as it begins, the other the same event once it has
// ended.
void Conversation::tell_voice(std::string& out) {
  for (;;) {
    std::deque<Json>& next = speaks_ ? voice_ends_ : voice_begins_;
    if (next.empty()) return;
    out += message_text(
        speaks_ ? "voice-stopped" : "voice-started",
        {{"timestamp", timestamp_of(next.front(), speaks_ ? "end" : "start")}, {"runnel", next.front()}});
    next.pop_front();
    speaks_ = !speaks_;
    ++counts_.events;
  }
}

void Conversation::stop_audio(std::string& out) {
  audio_ = false;
  for (const auto& listening : listening_) {
    if (const Status status = listening->stream->end(); !status.ok()) {
      refuse("failed", status.text(), out);
      ignoring_ = false;
      return;
    }
  }
  collect(out);
  if (request_ == Request::detect && detections_ == 0) out += message_text("not-detected");
  if (request_ == Request::transcribe) out += message_text("transcript", {{"text", text_}});
  close_streams();
}

void Conversation::end(std::string& out) {
  if (audio_) stop_audio(out);
}

void Conversation::close_streams() {
  for (const auto& listening : listening_) {
    listening->stream->begin("", nullptr);
    listening->offer->give_back(std::move(listening->stream), listening->ends);
  }
  listening_.clear();
}

}  // namespace runnel::wyoming
