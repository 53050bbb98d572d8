// What the properties of the element set, and the program that they load.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "library/runnel_host.h"

namespace runnel::gstreamer {

struct Settings {
  std::string model = "digits";     // name or path
  std::string graph;                // instead of a model; empty: none
  std::string front_end, decision;  // empty: the model's own
  std::string source = "samples";   // name in lines of JSON
  std::string key_file;             // empty: the environment's
  double threshold = -1;            // negative: the decision's own
  std::uint32_t chunk = 0;
  bool any_rate = false;                       // takes any rate, which runnel converts
  bool zeros = false;                          // what lost samples become; else the stream restarts
  std::uint64_t tolerance = 40 * 1000 * 1000;  // ns by which time stamps may jump without a gap
  bool messages = true;
};

struct Release {
  void operator()(runnel_program* program) const noexcept { runnel_release(program); }
};
struct Close {
  void operator()(runnel_node* node) const noexcept { runnel_close(node); }
};
using Program = std::unique_ptr<runnel_program, Release>;
using Node = std::unique_ptr<runnel_node, Close>;

// For samples of this rate (0: that of the front end) and number of channels. Null after a failure; its
// sentence is runnel_last_failure().
Program load(const Settings& settings, std::uint32_t rate, std::uint32_t channels);

}  // namespace runnel::gstreamer
