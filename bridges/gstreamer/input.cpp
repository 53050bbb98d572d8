// The module `gst`: a pipeline of GStreamer's that ends in an appsink, for the node gst.
#include <gst/app/gstappsink.h>
#include <gst/audio/audio.h>
#include <gst/gst.h>

#include <algorithm>
#include <optional>
#include <string>

#include "base/host/late_library.h"
#include "bridges/gstreamer/sound_times.h"
#include "pipeline/host/live/sound_input.h"

namespace runnel::gstreamer {
namespace {

using pipeline::SampleCode;
using pipeline::SoundInput;

constexpr const char* kSink = "runnel_sound";
constexpr int kWaitMilliseconds = 100;
// Buffers that may wait: enough for elements that give many at once, and little memory.
constexpr guint kMostBuffers = 64;
constexpr GstClockTimeDiff kTolerance = 40 * GST_MSECOND;
constexpr GstClockTimeDiff kLongestGap = 3600 * static_cast<GstClockTimeDiff>(GST_SECOND);

struct Format {
  const char* name;
  SampleCode code;
};
// As GStreamer calls the samples that runnel knows. Others are converted.
constexpr Format kFormats[] = {{"S16LE", SampleCode::s16},
                               {"S32LE", SampleCode::s32},
                               {"S24_32LE", SampleCode::s24},
                               {"S24LE", SampleCode::s24_3},
                               {"F32LE", SampleCode::float32}};

// One line without a full stop at its end, which GStreamer's sentences have.
std::string sentence_of(const gchar* text) {
  std::string sentence = text == nullptr ? "no reason is given" : text;
  std::replace(sentence.begin(), sentence.end(), '\n', ' ');
  while (!sentence.empty() && (sentence.back() == '.' || sentence.back() == ' ')) sentence.pop_back();
  return sentence;
}

class Input final : public SoundInput {
 public:
  Input() = default;
  ~Input() override {
    drop();
    if (sink_ != nullptr) gst_object_unref(sink_);
    if (bus_ != nullptr) gst_object_unref(bus_);
    if (pipeline_ != nullptr) {
      gst_element_set_state(pipeline_, GST_STATE_NULL);
      gst_object_unref(pipeline_);
    }
  }

  Result<Shape> open(const Settings& settings) override {
    settings_ = settings;
    RUNNEL_TRY(build());
    gst_element_set_state(pipeline_, GST_STATE_PLAYING);
    while (sample_ == nullptr) {
      RUNNEL_TRY(pull(kWaitMilliseconds));
      if (sample_ != nullptr) break;
      if (ended_) return failed(Code::invalid_data) << "gave no sound";
      if (settings_.stop != nullptr && settings_.stop->load(std::memory_order_relaxed))
        return failed(Code::io_error) << "gave no sound before the program was stopped";
    }
    return shape();
  }

  // A file gives more as soon as there is room: so as many buffers as may wait, and no more.
  void close() override { left_ = kMostBuffers; }

  Result<Piece> next(int milliseconds) override {
    if (!first_ && left_ && (*left_)-- == 0) return Piece{.end = true};
    if (!first_) {
      drop();
      RUNNEL_TRY(pull(milliseconds));
    }
    first_ = false;
    Piece piece;
    if (sample_ == nullptr) {
      piece.end = ended_;
      return piece;
    }
    GstBuffer* const buffer = gst_sample_get_buffer(sample_);
    if (gst_buffer_map(buffer, &map_, GST_MAP_READ) == FALSE)
      return failed(Code::io_error) << "gave a buffer that cannot be read";
    mapped_ = true;
    piece.data = reinterpret_cast<const std::byte*>(map_.data);
    piece.frames = static_cast<std::int64_t>(map_.size) / GST_AUDIO_INFO_BPF(&info_);
    RUNNEL_ASSIGN(piece.lost, lost_before(*buffer));
    expected_ += duration_of(piece.frames, info_.rate);
    return piece;
  }

 private:
  [[nodiscard]] Status failed(Code code) const {
    return Status(code) << "GStreamer pipeline '" << settings_.what << "': ";
  }

  Status build() {
    GError* error = nullptr;
    if (gst_init_check(nullptr, nullptr, &error) == FALSE) {
      const std::string why = sentence_of(error == nullptr ? nullptr : error->message);
      g_clear_error(&error);
      return Status(Code::io_error) << "GStreamer does not start: " << why;
    }
    const std::string text = settings_.what + " ! audioconvert ! audioresample ! appsink name=" + kSink;
    pipeline_ = gst_parse_launch_full(text.c_str(), nullptr, GST_PARSE_FLAG_FATAL_ERRORS, &error);
    if (pipeline_ == nullptr || error != nullptr) {
      const std::string why = sentence_of(error == nullptr ? nullptr : error->message);
      g_clear_error(&error);
      return failed(Code::invalid_argument) << why;
    }
    if (GST_IS_PIPELINE(pipeline_) == FALSE)
      return failed(Code::invalid_argument) << "expected elements, the last of which gives sound";
    bus_ = gst_element_get_bus(pipeline_);
    sink_ = gst_bin_get_by_name(GST_BIN(pipeline_), kSink);
    // As fast as the sound comes; it waits in the elements before when runnel does not keep up.
    g_object_set(sink_, "sync", FALSE, "max-buffers", kMostBuffers, "drop", FALSE, nullptr);
    set_caps(settings_.rate, settings_.channels, nullptr);
    return {};
  }

  // What the sink takes; 0 and null: any.
  void set_caps(int rate, int channels, const char* format) {
    std::string text = "audio/x-raw,layout=interleaved,format=";
    if (format != nullptr) {
      text += format;
    } else {
      text += '{';
      for (const Format& one : kFormats) text += (text.back() == '{' ? "" : ",") + std::string(one.name);
      text += '}';
    }
    if (rate > 0) text += ",rate=" + std::to_string(rate);
    if (channels > 0) text += ",channels=" + std::to_string(channels);
    GstCaps* const caps = gst_caps_from_string(text.c_str());
    gst_app_sink_set_caps(GST_APP_SINK(sink_), caps);
    gst_caps_unref(caps);
  }

  // The next sample, if it comes in time.
  Status pull(int milliseconds) {
    sample_ = gst_app_sink_try_pull_sample(GST_APP_SINK(sink_),
                                           static_cast<GstClockTime>(milliseconds) * GST_MSECOND);
    if (sample_ != nullptr) return {};
    GstMessage* const message = gst_bus_pop_filtered(bus_, GST_MESSAGE_ERROR);
    if (message == nullptr) {
      ended_ = gst_app_sink_is_eos(GST_APP_SINK(sink_)) != FALSE;
      return {};
    }
    GError* error = nullptr;
    gst_message_parse_error(message, &error, nullptr);
    const std::string who =
        GST_MESSAGE_SRC(message) == nullptr ? "" : GST_OBJECT_NAME(GST_MESSAGE_SRC(message));
    const std::string why = sentence_of(error->message);
    g_clear_error(&error);
    gst_message_unref(message);
    return failed(Code::io_error) << who << ": " << why;
  }

  // That of the first sample, which all others will have.
  Result<Shape> shape() {
    GstCaps* const caps = gst_sample_get_caps(sample_);
    if (caps == nullptr || gst_audio_info_from_caps(&info_, caps) == FALSE)
      return failed(Code::invalid_data) << "gave something that is no sound";
    const char* const name = gst_audio_format_to_string(GST_AUDIO_INFO_FORMAT(&info_));
    const Format* const found =
        std::find_if(std::begin(kFormats), std::end(kFormats),
                     [name](const Format& one) { return std::string(one.name) == name; });
    if (found == std::end(kFormats)) return failed(Code::unsupported) << "gave samples of format " << name;
    set_caps(info_.rate, info_.channels, name);
    expected_ = GST_BUFFER_PTS(gst_sample_get_buffer(sample_));
    if (!GST_CLOCK_TIME_IS_VALID(expected_)) expected_ = 0;
    return Shape{info_.rate, info_.channels, found->code};
  }

  // By the time stamp of a buffer, as the element runnel counts.
  Result<std::int64_t> lost_before(const GstBuffer& buffer) {
    const GstClockTime time = GST_BUFFER_PTS(&buffer);
    if (!GST_CLOCK_TIME_IS_VALID(time)) return std::int64_t{0};
    const GstClockTimeDiff ahead = GST_CLOCK_DIFF(expected_, time);
    if (ahead > kLongestGap)
      return failed(Code::invalid_data)
             << "the time of the sound jumps by " << ahead / static_cast<GstClockTimeDiff>(GST_SECOND)
             << " s, expected at most an hour";
    expected_ = time;
    const bool marked = GST_BUFFER_FLAG_IS_SET(&buffer, GST_BUFFER_FLAG_DISCONT) != FALSE;
    // A clock that drifts loses nothing.
    return ahead > kTolerance || (marked && ahead > 0) ? samples_in(ahead, info_.rate) : std::int64_t{0};
  }

  void drop() {
    if (mapped_) gst_buffer_unmap(gst_sample_get_buffer(sample_), &map_);
    mapped_ = false;
    if (sample_ != nullptr) gst_sample_unref(sample_);
    sample_ = nullptr;
  }

  Settings settings_;
  GstElement *pipeline_ = nullptr, *sink_ = nullptr;
  GstBus* bus_ = nullptr;
  GstSample* sample_ = nullptr;
  GstMapInfo map_{};
  bool mapped_ = false, ended_ = false, first_ = true;
  std::optional<guint> left_;  // buffers that may still be given, once it is closed
  GstAudioInfo info_{};
  GstClockTime expected_ = 0;
};

}  // namespace
}  // namespace runnel::gstreamer

namespace runnel::pipeline {

std::unique_ptr<SoundInput> make_sound_input() { return std::make_unique<gstreamer::Input>(); }

}  // namespace runnel::pipeline

RUNNEL_MODULE(runnel::pipeline::make_sound_input)
