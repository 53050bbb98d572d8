// The text of the graph that `runnel listen` runs: a source, the model, and sinks for its events.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace runnel::listen {

// The first source given is used: wav, from_stdin, tcp, browser, else the device.
struct ListenOptions {
  std::string device = "default";    // of ALSA, or of PortAudio in builds without it
  std::string wav;                   // path of a recording
  std::string tcp_allow;             // senders on other machines, as the node `tcp` has them
  std::string tcp;                   // address to listen on for bare samples: tcp:HOST:PORT or unix:PATH
  std::string stdin_format = "s16";  // of bare samples: s16, s32, s24, s24_3, float
  bool from_stdin = false;
  bool browser = false;       // the microphone of a page that is open in a browser
  std::int64_t rate = 16000;  // Hz, of the device or bare samples
  std::int64_t channels = 1;
  double period = 10, buffer = 200;  // of the device, in ms
  std::string overload = "block";    // block, drop-oldest, drop-newest, skip-inference
  double replug = 0;                 // seconds to wait for an unplugged device; 0: the stream ends
  double duration = 0;               // seconds to listen to a device; 0: no limit
  double tail = 0;                   // seconds of silence after a recording

  double threshold = -1;  // posterior in [0, 1] at which an event is made; negative: the decision's own

  std::vector<std::string> commands, sends, topics;  // for every event: programs, addresses, MQTT topics
  std::string broker = "127.0.0.1:1883";             // MQTT, HOST:PORT
  // Makes each topic known to Home Assistant below this prefix; empty: not. The device's name, and the class
  // of its binary sensors.
  std::string discovery, discovery_device = "runnel", device_class = "sound";
  bool forget = false;           // removes it at the end
  std::string record;            // folder for the sound around events; empty: none
  double before = 1, after = 1;  // seconds of that sound
  bool no_json = false;          // no JSON lines of events on stdout
};

// The whole graph, "SOURCE ! AROUND ! SINKS", for `around` = "FRONT END ! infer ... ! DECISION" (text_around
// in model_graph.h). With several sinks, the last node of `around` is named `events`. The values are quoted,
// not checked: building the graph does that. Errors: those of parse_graph; invalid_argument for a threshold
// when `around` has no `detect`. Thread-safe.
Result<std::string> graph_text(const ListenOptions& options, const std::string& around);

// The node that captures from sound devices in this build: alsa, or portaudio where there is no ALSA.
std::string_view device_node() noexcept;
// Its source alone: "wav path=...", "alsa device=... rate=...". `node`: the one for devices.
std::string source_text(const ListenOptions& options, std::string_view node = device_node());
// `around` with another threshold of its last `detect`, whose release is at most as high; unchanged for a
// negative one. Errors: as above.
Result<std::string> with_threshold(const std::string& around, double threshold);

}  // namespace runnel::listen
