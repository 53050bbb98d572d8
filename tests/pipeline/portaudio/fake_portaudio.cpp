#include "tests/pipeline/portaudio/fake_portaudio.h"

#include <algorithm>
#include <cmath>

namespace runnel::pipeline::test {
namespace {

struct FakeStream {
  std::size_t device = 0;
  int channels = 0;
  double rate = 0;
  std::int64_t frames = 0;
  PaStreamCallback* callback = nullptr;
  void* user = nullptr;
  bool active = false;
  int written = 0;  // blocks
  PaStreamInfo info{};
};

// Unplugged devices keep their number and cannot be opened.
bool is_there(const FakeDevice& device) {
  return device.unplug_at < 0 || fake().position < device.unplug_at ||
         (device.back_at >= 0 && fake().position >= device.back_at);
}

bool takes(const FakeDevice& device, double rate) {
  return rate == device.rate ||
         std::find(device.rates.begin(), device.rates.end(), rate) != device.rates.end();
}

void bring_block(FakeStream& stream) {
  FakeDevice& device = fake().devices[stream.device];
  std::int64_t& position = fake().position;
  PaStreamCallbackFlags flags = 0;
  if (device.overflow_at >= 0 && position >= device.overflow_at) {
    position += device.overflow;
    device.overflow_at = -1;
    flags = paInputOverflow;
  }
  if (device.sleep_at >= 0 && position >= device.sleep_at) {
    position += device.sleep;
    device.sleep_at = -1;
  }
  if (device.unplug_at >= 0 && position <= device.unplug_at && position + stream.frames > device.unplug_at) {
    position = device.unplug_at;
    stream.active = false;
    return;
  }
  std::vector<float> samples;
  for (std::int64_t i = 0; i < stream.frames; ++i) {
    for (int channel = 0; channel < stream.channels; ++channel)
      samples.push_back(fake_sample(position + i, channel));
  }
  PaStreamCallbackTimeInfo time{};
  time.currentTime = 100 + static_cast<double>(position + stream.frames) / stream.rate;
  if (device.stamps) time.inputBufferAdcTime = 100 + static_cast<double>(position) / stream.rate;
  position += stream.frames;
  if (stream.callback(samples.data(), nullptr, static_cast<unsigned long>(stream.frames), &time, flags,
                      stream.user) != paContinue)
    stream.active = false;
}

FakeStream& stream_of(PaStream* stream) { return *static_cast<FakeStream*>(stream); }

}  // namespace

FakePortAudio& fake() noexcept {
  static FakePortAudio one;
  return one;
}

float fake_sample(std::int64_t index, int channel) noexcept {
  return static_cast<float>((index * 7919 + channel * 104729) % 65536 - 32768) / 32768;
}

}  // namespace runnel::pipeline::test

using namespace runnel::pipeline::test;

extern "C" {

PaError Pa_Initialize() {
  ++fake().initialised;
  return paNoError;
}
PaError Pa_Terminate() {
  --fake().initialised;
  return paNoError;
}
PaDeviceIndex Pa_GetDeviceCount() { return static_cast<PaDeviceIndex>(fake().devices.size()); }
const PaDeviceInfo* Pa_GetDeviceInfo(PaDeviceIndex index) {
  static PaDeviceInfo info;
  const FakeDevice& device = fake().devices[static_cast<std::size_t>(index)];
  info = {};
  info.name = device.name.c_str();
  info.maxInputChannels = device.input_channels;
  info.maxOutputChannels = device.output_channels;
  info.defaultSampleRate = device.rate;
  return &info;
}
const PaHostApiInfo* Pa_GetHostApiInfo(PaHostApiIndex) {
  static PaHostApiInfo info;
  info.name = "Fake API";
  return &info;
}
static PaDeviceIndex first_with(int FakeDevice::*channels) {
  for (std::size_t i = 0; i < fake().devices.size(); ++i) {
    if (fake().devices[i].*channels > 0) return static_cast<PaDeviceIndex>(i);
  }
  return paNoDevice;
}
PaDeviceIndex Pa_GetDefaultInputDevice() { return first_with(&FakeDevice::input_channels); }
PaDeviceIndex Pa_GetDefaultOutputDevice() { return first_with(&FakeDevice::output_channels); }
const char* Pa_GetErrorText(PaError error) {
  return error == paInvalidSampleRate   ? "Invalid sample rate"
         : error == paDeviceUnavailable ? "Device unavailable"
                                        : "Unanticipated host error";
}
PaError Pa_IsFormatSupported(const PaStreamParameters* input, const PaStreamParameters* output, double rate) {
  const PaStreamParameters& one = input != nullptr ? *input : *output;
  return takes(fake().devices[static_cast<std::size_t>(one.device)], rate) ? paFormatIsSupported
                                                                           : paInvalidSampleRate;
}
PaError Pa_OpenStream(PaStream** stream, const PaStreamParameters* input, const PaStreamParameters* output,
                      double rate, unsigned long frames, PaStreamFlags, PaStreamCallback* callback,
                      void* user) {
  const PaStreamParameters& one = input != nullptr ? *input : *output;
  const FakeDevice& device = fake().devices[static_cast<std::size_t>(one.device)];
  // Time passes between two attempts.
  if (fake().position > 0) fake().position += 5000;
  if (!is_there(device)) return paDeviceUnavailable;
  if (!takes(device, rate)) return paInvalidSampleRate;
  auto* const made = new FakeStream;
  made->device = static_cast<std::size_t>(one.device);
  made->channels = one.channelCount;
  made->rate = device.reported_rate > 0 ? device.reported_rate : rate;
  made->frames = static_cast<std::int64_t>(frames);
  made->callback = callback;
  made->user = user;
  made->info.sampleRate = made->rate;
  made->info.inputLatency = made->info.outputLatency = one.suggestedLatency;
  *stream = made;
  ++fake().open_streams;
  return paNoError;
}
PaError Pa_CloseStream(PaStream* stream) {
  delete &stream_of(stream);
  --fake().open_streams;
  return paNoError;
}
const PaStreamInfo* Pa_GetStreamInfo(PaStream* stream) { return &stream_of(stream).info; }
PaError Pa_StartStream(PaStream* stream) {
  stream_of(stream).active = true;
  return paNoError;
}
PaError Pa_StopStream(PaStream* stream) {
  stream_of(stream).active = false;
  fake().finished = true;
  return paNoError;
}
PaError Pa_IsStreamActive(PaStream* stream) {
  FakeStream& one = stream_of(stream);
  for (int i = 0; i < fake().devices[one.device].blocks && one.active; ++i) bring_block(one);
  return one.active ? 1 : 0;
}
PaError Pa_WriteStream(PaStream* stream, const void* buffer, unsigned long frames) {
  FakeStream& one = stream_of(stream);
  const FakeDevice& device = fake().devices[one.device];
  const auto* const samples = static_cast<const float*>(buffer);
  fake().played.insert(fake().played.end(), samples,
                       samples + frames * static_cast<unsigned long>(one.channels));
  if (device.unplug_at >= 0 && static_cast<std::int64_t>(fake().played.size()) > device.unplug_at)
    return paUnanticipatedHostError;
  return device.underflow_every > 0 && ++one.written % device.underflow_every == 0 ? paOutputUnderflowed
                                                                                   : paNoError;
}

}  // extern "C"
