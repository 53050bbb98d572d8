#include "pipeline/host/live/portaudio/open.h"

#include <dlfcn.h>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <vector>

#include "pipeline/host/live/portaudio/library.h"
#include "pipeline/host/live/portaudio/turn.h"

namespace runnel::pipeline {
namespace {

// Rates that devices commonly have, besides their own.
constexpr double kRates[] = {8000, 11025, 16000, 22050, 32000, 44100, 48000, 88200, 96000, 176400, 192000};

void say_nothing(const char*, int, const char*, int, const char*, ...) {}
void say_nothing_either(const char*) {}

PaDeviceIndex find_device(std::string_view name, bool capture) {
  if (name == "default")
    return capture ? portaudio().Pa_GetDefaultInputDevice() : portaudio().Pa_GetDefaultOutputDevice();
  const PaDeviceIndex count = portaudio().Pa_GetDeviceCount();
  PaDeviceIndex other = paNoDevice;
  for (PaDeviceIndex i = 0; i < count; ++i) {
    const PaDeviceInfo& info = *portaudio().Pa_GetDeviceInfo(i);
    if (name != info.name && name != portaudio_name(i)) continue;
    if ((capture ? info.maxInputChannels : info.maxOutputChannels) > 0) return i;
    other = i;
  }
  return other;
}

// The rate to open with: the one asked for, or the device's nearest.
double nearest_rate(const PaStreamParameters& parameters, double wanted, double own) {
  const auto takes = [&](double rate) {
    return portaudio().Pa_IsFormatSupported(&parameters, nullptr, rate) == paFormatIsSupported;
  };
  if (takes(wanted)) return wanted;
  std::vector<double> rates(std::begin(kRates), std::end(kRates));
  rates.push_back(own);
  std::stable_sort(rates.begin(), rates.end(),
                   [&](double a, double b) { return std::abs(a - wanted) < std::abs(b - wanted); });
  const auto found = std::find_if(rates.begin(), rates.end(), takes);
  return found == rates.end() ? own : *found;
}

}  // namespace

const char* const PortAudioLibrary::kFile = RUNNEL_PORTAUDIO_FILE;

std::mutex& portaudio_turn() noexcept {
  static std::mutex turn;
  return turn;
}

void silence_portaudio() noexcept {
  using AlsaHandler = int (*)(void (*)(const char*, int, const char*, int, const char*, ...));
  using JackHandler = void (*)(void (*)(const char*));
  if (const auto alsa = reinterpret_cast<AlsaHandler>(dlsym(RTLD_DEFAULT, "snd_lib_error_set_handler")))
    alsa(say_nothing);
  for (const char* name : {"jack_set_error_function", "jack_set_info_function"}) {
    if (const auto jack = reinterpret_cast<JackHandler>(dlsym(RTLD_DEFAULT, name))) jack(say_nothing_either);
  }
}

std::string portaudio_name(PaDeviceIndex device) {
  const PaDeviceInfo& info = *portaudio().Pa_GetDeviceInfo(device);
  const PaHostApiInfo* const api = portaudio().Pa_GetHostApiInfo(info.hostApi);
  return std::string(api == nullptr ? "" : api->name) + ": " + info.name;
}

Status PortAudioStream::refused(std::string_view what, PaError error) const noexcept {
  const Code code =
      error == paInvalidDevice || error == paDeviceUnavailable ? Code::not_found : Code::io_error;
  return Status(code) << "device " << name_ << ": cannot " << what << ": "
                      << portaudio().Pa_GetErrorText(error);
}

Status PortAudioStream::open_capture(const PortAudioSettings& settings, PaStreamCallback* callback,
                                     void* user) noexcept {
  return open(settings, true, callback, user);
}

Status PortAudioStream::open_playback(const PortAudioSettings& settings) noexcept {
  return open(settings, false, nullptr, nullptr);
}

Status PortAudioStream::open(const PortAudioSettings& settings, bool capture, PaStreamCallback* callback,
                             void* user) noexcept {
  if (const auto& opened = late<PortAudioLibrary>(); !opened.ok()) return opened.status();
  close();
  name_ = settings.name;
  const std::lock_guard lock(portaudio_turn());
  silence_portaudio();
  if (const PaError error = portaudio().Pa_Initialize(); error != paNoError)
    return refused("open PortAudio", error);
  initialised_ = true;
  const PaDeviceIndex device = find_device(settings.name, capture);
  if (device == paNoDevice)
    return Status(Code::not_found) << "device " << name_ << ": cannot open: PortAudio lists no such device";
  const PaDeviceInfo& info = *portaudio().Pa_GetDeviceInfo(device);
  const int most = capture ? info.maxInputChannels : info.maxOutputChannels;
  if (most == 0 || (!capture && most < settings.channels)) {
    return Status(Code::mismatch) << "device " << name_ << ": " << (capture ? "gives " : "plays ") << most
                                  << " channels, expected " << settings.channels;
  }
  PaStreamParameters parameters{};
  parameters.device = device;
  parameters.channelCount = std::min(settings.channels, most);
  // PortAudio converts every other format of a device; from integers of up to 24 bits float32 is exact.
  parameters.sampleFormat = paFloat32;
  parameters.suggestedLatency = settings.buffer * 1e-3;
  const double rate =
      capture ? nearest_rate(parameters, settings.rate, info.defaultSampleRate) : settings.rate;
  period_ = std::max<std::int64_t>(1, std::llround(settings.period * 1e-3 * rate));
  const PaError error =
      portaudio().Pa_OpenStream(&stream_, capture ? &parameters : nullptr, capture ? nullptr : &parameters,
                                rate, static_cast<unsigned long>(period_), paDitherOff, callback, user);
  if (error != paNoError) {
    stream_ = nullptr;
    return refused("open", error);
  }
  channels_ = parameters.channelCount;
  rate_ = static_cast<std::int32_t>(std::lround(rate));
  if (const PaStreamInfo* const facts = portaudio().Pa_GetStreamInfo(stream_); facts != nullptr) {
    if (facts->sampleRate > 0) rate_ = static_cast<std::int32_t>(std::lround(facts->sampleRate));
    latency_ = 1e3 * (capture ? facts->inputLatency : facts->outputLatency);
  }
  return {};
}

Status PortAudioStream::start() noexcept {
  const PaError error = portaudio().Pa_StartStream(stream_);
  return error == paNoError ? Status() : refused("start", error);
}

void PortAudioStream::close() noexcept {
  if (!initialised_) return;
  const std::lock_guard lock(portaudio_turn());
  if (stream_ != nullptr) portaudio().Pa_CloseStream(stream_);
  stream_ = nullptr;
  portaudio().Pa_Terminate();
  initialised_ = false;
}

}  // namespace runnel::pipeline
