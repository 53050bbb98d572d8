// runnel devices: lists capture devices, one JSON object per line.
#include <cstdio>
#include <nlohmann/json.hpp>

#include "apps/support.h"
#include "apps/verbs.h"
#include "pipeline/host/live/capture_devices.h"

namespace runnel::apps {
namespace {

void print(const pipeline::CaptureDevice& device) {
  nlohmann::ordered_json record = {
      {"type", "device"}, {"node", device.node}, {"name", device.name}, {"description", device.description}};
  if (!device.unavailable.empty()) {
    record["unavailable"] = device.unavailable;
  } else if (device.most_rate > 0) {
    record["rates"] = {device.least_rate, device.most_rate};
    record["channels"] = {device.least_channels, device.most_channels};
    record["formats"] = device.formats;
  }
  std::printf("%s\n", record.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
}

Status list_devices(const std::vector<std::string>& names) {
  RUNNEL_ASSIGN(const std::vector<pipeline::CaptureDevice> devices, pipeline::capture_devices(names));
  if (devices.empty()) say("the system names no sound device to listen to");
  for (const pipeline::CaptureDevice& device : devices) print(device);
  if (!names.empty()) return {};
  // Where PipeWire runs; where it does not, the devices above are all there are.
  const auto nodes = pipeline::pipewire_devices();
  if (!nodes.ok()) return {};
  for (const pipeline::CaptureDevice& node : *nodes) print(node);
  return {};
}

}  // namespace

void add_devices(Verb verb, int& exit_code) {
  auto names = std::make_shared<std::vector<std::string>>();
  verb.positional("NAME", *names, "Devices to list (default: all of the system)");
  verb.callback([names, &exit_code] {
    if (const Status status = list_devices(*names); !status.ok()) exit_code = fail(status);
  });
}

}  // namespace runnel::apps
