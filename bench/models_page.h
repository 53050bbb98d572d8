// What models_bench measured, as a page and as JSON.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/host/machine_peak.h"
#include "bench/interleaved.h"

namespace runnel::bench {

// One model, run one way.
struct ModelRow {
  std::string model, mode;  // "trained/M1.onnx"; "whole" or "stream 2"
  bool floats = false;      // its products are of float32
  std::int64_t macs = 0;    // of one run
  Times ours, peer;         // peer.min 0: not compared
  std::string peer_refused;
  double difference = -1;  // of the results, relative to the largest; negative: not compared
  // The slowest layer.
  std::string layer, kernel;
  double layer_share = 0, layer_gmacs = 0, layer_peak_share = 0;
  // Layers that take much of the time and little of what the machine can do (inference/host/slow_layers.h).
  std::vector<std::string> slow;
};

// The same network with other numbers: rows of these models are compared.
struct NumbersPair {
  std::string floats, integers;  // as ModelRow::model
};

struct ModelsPage {
  MachinePeak peak;
  std::vector<ModelRow> rows;
  std::vector<NumbersPair> pairs;
  std::vector<std::pair<std::string, std::string>> refused;  // file, reason
};

std::string row_text(const ModelRow& row);
std::string markdown_of(const ModelsPage& page);
nlohmann::ordered_json json_of(const ModelsPage& page);

}  // namespace runnel::bench
