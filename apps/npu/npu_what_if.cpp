#include "apps/npu/npu_what_if.h"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "npu/host/cycles/u85/what_if.h"

namespace runnel::apps {
namespace {

using Alternatives = std::vector<npu::u85::Alternative>;

void print_layers_json(const std::string& name, const npu::SystemConfiguration& system,
                       const npu::MemoryMode& mode, const Alternatives& all) {
  for (std::size_t i = 0; i < all.front().estimate.operations.size(); ++i) {
    const npu::OperationEstimate& layer = all.front().estimate.operations[i];
    nlohmann::ordered_json line{{"segment", name},
                                {"first", layer.first},
                                {"last", layer.last},
                                {"operation", name_of(layer)},
                                {"macs", layer.macs}};
    for (const npu::u85::Alternative& one : all) {
      const npu::OperationEstimate& here = one.estimate.operations[i];
      line["cycles"][std::string(one.accelerator->name)] = here.total;
      line["npu_cycles"][std::string(one.accelerator->name)] = here.npu;
    }
    std::printf("%s\n", line.dump().c_str());
  }
  nlohmann::ordered_json sums{{"segment", name}, {"system", system.name}, {"memory_mode", mode.name}};
  for (const npu::u85::Alternative& one : all) {
    const std::string accelerator(one.accelerator->name);
    if (one.compiled) sums["compiled_for"] = accelerator;
    sums["cycles"][accelerator] = one.estimate.total;
    sums["npu_cycles"][accelerator] = one.estimate.npu;
    sums["seconds"][accelerator] = one.estimate.seconds;
    sums["utilisation"][accelerator] = one.estimate.utilisation;
  }
  std::printf("%s\n", sums.dump().c_str());
}

void print_layers(const std::string& name, const npu::SystemConfiguration& system,
                  const npu::MemoryMode& mode, const Alternatives& all) {
  std::printf("# %s: %s, %s; cycles, and * the configuration that it was compiled for\n", name.c_str(),
              std::string(system.name).c_str(), std::string(mode.name).c_str());
  std::printf("%11s  %-12s %12s", "operations", "", "macs");
  for (const npu::u85::Alternative& one : all)
    std::printf(" %11d%c", one.accelerator->macs, one.compiled ? '*' : ' ');
  std::printf("\n");
  const auto line = [&](const std::string& place, const std::string& what, std::int64_t macs,
                        const auto& cycles) {
    std::printf("%11s  %-12s %12lld", place.c_str(), what.c_str(), static_cast<long long>(macs));
    for (const npu::u85::Alternative& one : all) std::printf(" %11.0f ", cycles(one.estimate));
    std::printf("\n");
  };
  const npu::Estimate& first = all.front().estimate;
  for (std::size_t i = 0; i < first.operations.size(); ++i) {
    const npu::OperationEstimate& layer = first.operations[i];
    line(place_of(layer), name_of(layer), layer.macs,
         [&](const npu::Estimate& estimate) { return estimate.operations[i].total; });
  }
  line("all", "", first.macs, [](const npu::Estimate& estimate) { return estimate.total; });
  line("microseconds", "", first.macs, [](const npu::Estimate& estimate) { return estimate.seconds * 1e6; });
}

}  // namespace

Status print_what_if(const std::string& name, const npu::Segment& segment,
                     std::span<const npu::Operation> operations, const npu::SystemConfiguration& system,
                     const npu::MemoryMode& mode, bool json) {
  if (segment.accelerator->product != npu::Product::u85)
    return Status(Code::unsupported) << segment.accelerator->name << ": --what-if, expected an Ethos-U85";
  RUNNEL_ASSIGN(const Alternatives all,
                npu::u85::what_if(operations, *segment.accelerator, system, mode, segment.constants));
  (json ? print_layers_json : print_layers)(name, system, mode, all);
  return {};
}

}  // namespace runnel::apps
