#include "services/embed/dry_device.h"

#include <list>
#include <vector>

#include "inference/delegate.h"
#include "npu/delegate.h"
#include "npu/driver.h"
#include "npu/host/simulator/fake_device.h"
#include "npu/payload.h"

namespace runnel::embedding {
namespace {

struct DryDevice {
  explicit DryDevice(const npu::FakeDeviceOptions& options) : device(options), driver(device) {}
  npu::FakeDevice device;
  npu::Driver driver;
};

}  // namespace

OperatorTable dry_operators() {
  static const std::vector<const OperatorDefinition*> table = [] {
    std::vector<const OperatorDefinition*> all(all_operators().begin(), all_operators().end());
    all.push_back(&npu::ethos_u_v1);
    return all;
  }();
  return table;
}

Result<std::string> add_dry_device(const Model& model) {
  static std::list<DryDevice> devices;
  for (int i = 0; i < model.operator_count(); ++i) {
    if (code_of(model.op(i)) != OpCode::delegate) continue;
    const DelegateSegment segment(model, model.op(i));
    if (segment.kind() != "ethos-u") continue;
    RUNNEL_ASSIGN(const npu::Payload payload, npu::read_payload(segment.part("command_stream")));
    for (DryDevice& one : devices) {
      const npu::FakeDeviceOptions& has = one.device.options();
      if (has.config == payload.config && has.id == payload.id)
        return std::string(one.driver.accelerator()->name);
    }
    npu::FakeDeviceOptions options;
    options.config = payload.config;
    options.id = payload.id;
    DryDevice& added = devices.emplace_back(options);
    if (const Status status = added.driver.init(); !status.ok()) {
      devices.pop_back();
      return status;
    }
    npu::add_driver(added.driver);
    return std::string(added.driver.accelerator()->name);
  }
  return std::string();
}

}  // namespace runnel::embedding
