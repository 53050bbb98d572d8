// A PortAudio for tests, in the program itself: late_library.h takes functions of the program before those of
// the library. No time passes but that of the fake: whenever the program asks whether its stream is active,
// the device brings some more blocks.
#pragma once

#include <portaudio.h>

#include <cstdint>
#include <string>
#include <vector>

namespace runnel::pipeline::test {

struct FakeDevice {
  std::string name = "Mic";
  int input_channels = 1, output_channels = 0;
  double rate = 16000;                          // its own
  std::vector<double> rates = {};               // that it takes besides
  double reported_rate = 0;                     // of the open stream; 0: what was asked for
  std::int64_t unplug_at = -1;                  // the sample at which it is unplugged; below 0: never
  std::int64_t back_at = -1;                    // the sample at which it can be opened again; below 0: never
  std::int64_t overflow_at = -1, overflow = 0;  // loses so many samples before this one, and says so
  std::int64_t sleep_at = -1, sleep = 0;        // the same, without a word
  bool stamps = true;       // knows when a sample was captured; otherwise only when it called
  int blocks = 1;           // that come at once
  int underflow_every = 0;  // blocks played, of which one comes too late; 0: none does
};

struct FakePortAudio {
  std::vector<FakeDevice> devices;
  std::int64_t position = 0;  // of the devices: the next sample
  int initialised = 0, open_streams = 0;
  std::vector<float> played;
  bool finished = false;  // a stream was stopped, and not just closed
};
FakePortAudio& fake() noexcept;
// A sample of any device: all are different, and exact in float32.
float fake_sample(std::int64_t index, int channel) noexcept;

}  // namespace runnel::pipeline::test
