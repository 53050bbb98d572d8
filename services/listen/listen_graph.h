// A listening graph: sound from a device or a recording, through a model, to actions on its events.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "services/listen/model_graph.h"

namespace runnel::listen {

// Where the sound comes from: `wav` if it is given, else the standard input, else `tcp` if it is given, else
// the ALSA device.
struct SoundSource {
  std::string wav;  // path of a recording
  double tail = 0;  // seconds of silence after the recording
  bool from_stdin = false;
  std::string tcp;                 // address to listen at: tcp:HOST:PORT, unix:PATH
  std::string format = "s16";      // of bare samples: s16, s32, s24, s24_3, float
  std::string device = "default";  // ALSA capture device
  std::int64_t rate = 16000;       // Hz; of the device or of bare samples
  std::int64_t channels = 1;
  double period = 10, buffer = 200;  // ms; of the device
  std::string overload = "block";    // block, drop-oldest, drop-newest, skip-inference
  double replug = 0;                 // seconds to wait for a device that was unplugged
  double duration = 0;               // seconds to listen to a device; 0: no end
};

// What is done about events.
struct EventActions {
  bool json = true;                   // lines of JSON on stdout
  std::vector<std::string> commands;  // programs to run
  std::vector<std::string> sends;     // tcp:HOST:PORT, unix:PATH
  std::string broker = "127.0.0.1:1883";
  std::vector<std::string> topics;  // of MQTT
  std::string record;               // folder for the sound around events; empty: none
  double before = 1, after = 1;     // seconds of it

  // Whether anything but the lines hears of the events.
  [[nodiscard]] bool any() const {
    return !commands.empty() || !sends.empty() || !topics.empty() || !record.empty();
  }
};

struct ListenGraph {
  SoundSource source;
  ModelGraph model;
  double threshold = -1;  // of the model's decision (`detect`); below 0: its own
  EventActions actions;
};

// The node of a recording with `tail` seconds of silence after it.
std::string wav_text(std::string_view path, double tail);

// The text of the graph for a loaded model. Errors: those of graph_around(); invalid_argument for a threshold
// when the decision has no `detect`.
Result<std::string> graph_text(const ListenGraph& graph, const Model& model);

}  // namespace runnel::listen
