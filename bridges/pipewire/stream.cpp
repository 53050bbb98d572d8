#include "bridges/pipewire/stream.h"

#include <poll.h>
#include <spa/param/audio/format-utils.h>
#include <spa/utils/result.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#ifdef __clang__
// PipeWire's macros are statements that have a value.
#pragma clang diagnostic ignored "-Wgnu-statement-expression-from-macro-expansion"
#endif

namespace runnel::pipewire {

void begin() {
  static std::once_flag once;
  std::call_once(once, [] { pw_init(nullptr, nullptr); });
}

void Stream::leave() {
  leaving_.store(true, std::memory_order_release);
  other_.up();
  if (loop_ != nullptr) pw_thread_loop_stop(loop_);
  if (stream_ != nullptr) pw_stream_destroy(stream_);
  if (loop_ != nullptr) pw_thread_loop_destroy(loop_);
  loop_ = nullptr;
  stream_ = nullptr;
}

Status Stream::connect(const Wanted& wanted) {
  target_ = wanted.target;
  loop_ = pw_thread_loop_new(wanted.thread, nullptr);
  if (loop_ == nullptr) return Status(Code::io_error) << "PipeWire: cannot make a thread";
  pw_properties* const properties = pw_properties_new(
      PW_KEY_MEDIA_TYPE, "Audio", PW_KEY_MEDIA_CATEGORY, wanted.category, PW_KEY_MEDIA_ROLE, "DSP",
      PW_KEY_NODE_NAME, wanted.name.c_str(), PW_KEY_NODE_DESCRIPTION, wanted.name.c_str(), PW_KEY_APP_NAME,
      "runnel", PW_KEY_APP_ICON_NAME, wanted.icon, PW_KEY_MEDIA_NAME, wanted.media, nullptr);
  if (!target_.empty() && target_ != "none")
    pw_properties_set(properties, PW_KEY_TARGET_OBJECT, target_.c_str());
  if (wanted.monitor) pw_properties_set(properties, PW_KEY_STREAM_CAPTURE_SINK, "true");
  events_.version = PW_VERSION_STREAM_EVENTS;
  events_.state_changed = [](void* self, pw_stream_state before, pw_stream_state now, const char* error) {
    static_cast<Stream*>(self)->changed(before, now, error);
  };
  events_.io_changed = [](void* self, std::uint32_t id, void* area, std::uint32_t) {
    if (id == SPA_IO_Position) static_cast<Stream*>(self)->position_ = static_cast<spa_io_position*>(area);
  };
  events_.param_changed = [](void* self, std::uint32_t id, const spa_pod* param) {
    if (id == SPA_PARAM_Format && param != nullptr) static_cast<Stream*>(self)->negotiated(param);
  };
  events_.process = [](void* self) { static_cast<Stream*>(self)->process(); };
  events_.drained = [](void* self) { static_cast<Stream*>(self)->drained(); };
  stream_ =
      pw_stream_new_simple(pw_thread_loop_get_loop(loop_), wanted.name.c_str(), properties, &events_, this);
  if (stream_ == nullptr)
    return Status(Code::io_error) << "PipeWire: cannot connect to the daemon: " << std::strerror(errno);
  std::array<std::uint8_t, 1024> room{};
  spa_pod_builder builder{};
  spa_pod_builder_init(&builder, room.data(), room.size());
  spa_audio_info_raw format{};
  format.format = SPA_AUDIO_FORMAT_F32_LE;
  format.rate = static_cast<std::uint32_t>(wanted.rate);
  format.channels = static_cast<std::uint32_t>(wanted.channels);
  format.flags = SPA_AUDIO_FLAG_UNPOSITIONED;
  // What plays has a left and a right side; what captures takes any two channels.
  const bool stereo = wanted.channels == 2 && wanted.direction == PW_DIRECTION_OUTPUT;
  if (wanted.channels == 1 || stereo) {
    format.flags = SPA_AUDIO_FLAG_NONE;
    format.position[0] = stereo ? SPA_AUDIO_CHANNEL_FL : SPA_AUDIO_CHANNEL_MONO;
    format.position[1] = stereo ? SPA_AUDIO_CHANNEL_FR : SPA_AUDIO_CHANNEL_UNKNOWN;
  }
  const spa_pod* formats[] = {spa_format_audio_raw_build(&builder, SPA_PARAM_EnumFormat, &format)};
  auto flags =
      static_cast<unsigned>(PW_STREAM_FLAG_MAP_BUFFERS) | static_cast<unsigned>(PW_STREAM_FLAG_RT_PROCESS);
  if (target_ != "none") flags |= static_cast<unsigned>(PW_STREAM_FLAG_AUTOCONNECT);
  const int result = pw_stream_connect(stream_, wanted.direction, PW_ID_ANY,
                                       static_cast<pw_stream_flags>(flags), formats, 1);
  if (result < 0)
    return Status(Code::io_error) << "PipeWire: cannot connect to the daemon: " << spa_strerror(result);
  if (pw_thread_loop_start(loop_) < 0) return Status(Code::io_error) << "PipeWire: cannot start a thread";
  return {};
}

Status Stream::failure() {
  const std::lock_guard lock(mutex_);
  return broken_.empty() ? Status() : Status(Code::io_error) << "PipeWire: " << broken_;
}

Status Stream::about_target(Code code) const {
  Status status(code);
  status << "PipeWire";
  if (!target_.empty()) status << " node " << target_;
  return status << ": ";
}

void Stream::wait(int milliseconds) const {
  pollfd one{wake_.descriptor(), POLLIN, 0};
  poll(&one, 1, milliseconds);
  wake_.clear();
}

void Stream::wait_for_other() const {
  pollfd one{other_.descriptor(), POLLIN, 0};
  poll(&one, 1, kWaitMilliseconds);
  other_.clear();
}

void Stream::fail(std::string why) {
  {
    const std::lock_guard lock(mutex_);
    if (broken_.empty()) broken_ = std::move(why);
  }
  wake_.up();
}

void Stream::changed(pw_stream_state before, pw_stream_state now, const char* error) {
  if (before == PW_STREAM_STATE_STREAMING && now != before)
    interrupted_.store(true, std::memory_order_release);
  streaming_.store(now == PW_STREAM_STATE_STREAMING, std::memory_order_release);
  if (now == PW_STREAM_STATE_ERROR)
    fail(error == nullptr ? "the stream failed" : error);
  else if (now == PW_STREAM_STATE_UNCONNECTED && before != PW_STREAM_STATE_UNCONNECTED)
    fail("the daemon is gone");
}

}  // namespace runnel::pipewire
