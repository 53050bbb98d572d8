// runnel npu estimate: the estimated time and memory traffic of an Ethos-U.
#include <cstdio>
#include <nlohmann/json.hpp>

#include "apps/npu/npu_device.h"
#include "apps/npu/npu_segments.h"
#include "apps/npu/npu_what_if.h"
#include "npu/host/cycles/estimate.h"

namespace runnel::apps {
namespace {

constexpr const char* kAreas[npu::kMemoryAreas] = {"sram", "dram", "on_chip_flash", "off_chip_flash"};

struct EstimateCall : NpuFileCall {
  DeviceMemories memories;
  bool what_if = false;
};

nlohmann::ordered_json memories(const std::array<double, npu::kMemoryAreas>& access,
                                const std::array<npu::Traffic, npu::kMemoryAreas>& traffic) {
  nlohmann::ordered_json out = nlohmann::ordered_json::object();
  for (std::size_t i = 0; i < access.size(); ++i) {
    if (access[i] == 0 && traffic[i].read == 0 && traffic[i].written == 0) continue;
    out[kAreas[i]] = {{"cycles", access[i]}, {"read", traffic[i].read}, {"written", traffic[i].written}};
  }
  return out;
}

void print_json(const std::string& name, const npu::Segment& segment, const npu::SystemConfiguration& system,
                const npu::MemoryMode& mode, const npu::Estimate& estimate) {
  for (const npu::OperationEstimate& one : estimate.operations) {
    const nlohmann::ordered_json line{{"segment", name},
                                      {"first", one.first},
                                      {"last", one.last},
                                      {"operation", name_of(one)},
                                      {"macs", one.macs},
                                      {"npu_cycles", one.npu},
                                      {"cycles", one.total},
                                      {"utilisation", one.utilisation},
                                      {"memory", memories(one.access, one.traffic)}};
    std::printf("%s\n", line.dump().c_str());
  }
  const nlohmann::ordered_json total{{"segment", name},
                                     {"accelerator", segment.accelerator->name},
                                     {"system", system.name},
                                     {"memory_mode", mode.name},
                                     {"macs", estimate.macs},
                                     {"npu_cycles", estimate.npu},
                                     {"cycles", estimate.total},
                                     {"seconds", estimate.seconds},
                                     {"utilisation", estimate.utilisation},
                                     {"memory", memories(estimate.access, estimate.traffic)}};
  std::printf("%s\n", total.dump().c_str());
}

void print_text(const std::string& name, const npu::Segment& segment, const npu::SystemConfiguration& system,
                const npu::MemoryMode& mode, const npu::Estimate& estimate) {
  std::printf("# %s: %s, %s, %s\n", name.c_str(), std::string(segment.accelerator->name).c_str(),
              std::string(system.name).c_str(), std::string(mode.name).c_str());
  std::printf("%11s  %-12s %12s %12s %12s %12s %12s %7s\n", "operations", "", "macs", "cycles", "npu", "sram",
              "second", "used");
  const auto line = [](const char* place, const char* what, std::int64_t macs, double total, double npu,
                       const std::array<double, npu::kMemoryAreas>& access, double utilisation) {
    const double second = access[1] + access[2] + access[3];
    std::printf("%11s  %-12s %12lld %12.1f %12.1f %12.1f %12.1f %6.1f%%\n", place, what,
                static_cast<long long>(macs), total, npu, access[0], second, 100 * utilisation);
  };
  for (const npu::OperationEstimate& one : estimate.operations) {
    line(place_of(one).c_str(), name_of(one).c_str(), one.macs, one.total, one.npu, one.access,
         one.utilisation);
  }
  line("all", "", estimate.macs, estimate.total, estimate.npu, estimate.access, estimate.utilisation);
  for (std::size_t i = 0; i < estimate.traffic.size(); ++i) {
    const npu::Traffic& traffic = estimate.traffic[i];
    if (traffic.read + traffic.written > 0)
      std::printf("# %s: %.0f bytes read, %.0f written\n", kAreas[i], traffic.read, traffic.written);
  }
  std::printf("# %.6f s at %.0f MHz\n", estimate.seconds, system.clock / 1e6);
}

Status run_estimate(EstimateCall& call) {
  RUNNEL_ASSIGN(const NpuSegments segments, load_npu_segments(call.file, call.flags));
  for (const auto& [name, segment] : segments.list) {
    const npu::Product product = segment.accelerator->product;
    const npu::SystemConfiguration* system = &npu::default_system(product);
    const npu::MemoryMode* mode = &npu::default_memory_mode(product);
    RUNNEL_TRY(call.memories.find(system, mode));
    const auto operations = npu::operations_of(segment);
    if (!operations.ok()) return operations.status().at(call.file + ": " + name);
    if (call.what_if) {
      const Status status = print_what_if(name, segment, *operations, *system, *mode, call.json);
      if (!status.ok()) return status.at(call.file + ": " + name);
      continue;
    }
    const auto estimate =
        npu::estimate_stream(*operations, *segment.accelerator, *system, *mode, segment.constants);
    if (!estimate.ok()) return estimate.status().at(call.file + ": " + name);
    (call.json ? print_json : print_text)(name, segment, *system, *mode, *estimate);
  }
  return {};
}

}  // namespace

std::string name_of(const npu::OperationEstimate& one) {
  npu::Operation op;
  op.kind = one.kind;
  op.mode = one.mode;
  return std::string(npu::name_of(op));
}
std::string place_of(const npu::OperationEstimate& one) {
  return one.first == one.last ? std::to_string(one.first)
                               : std::to_string(one.first) + " to " + std::to_string(one.last);
}

void add_npu_estimate(Verb npu, int& exit_code) {
  auto call = std::make_shared<EstimateCall>();
  Verb verb = add_npu_file_verb(
      npu, "estimate",
      "Estimate the time and the memory traffic of every operation with the model of Arm's compiler", call);
  verb.option(
          "--system", call->memories.system,
          "Memories: Ethos_U55_Deep_Embedded, Ethos_U55_High_End_Embedded, Ethos_U65_Embedded, "
          "Ethos_U65_Mid_End, Ethos_U65_High_End, Ethos_U65_Client_Server, Ethos_U85_SYS_Flash_Low, "
          "Ethos_U85_SYS_Flash_High, Ethos_U85_SYS_DRAM_Low, Ethos_U85_SYS_DRAM_Mid, "
          "Ethos_U85_SYS_DRAM_High, or FILE[:NAME] with sections as in vela.ini (default: "
          "Ethos_U55_High_End_Embedded for a U55, Ethos_U65_High_End for a U65, Ethos_U85_SYS_DRAM_Mid for "
          "a U85)")
      .default_str("");
  verb.option("--memory-mode", call->memories.memory_mode,
              "Sram_Only, Shared_Sram, Dedicated_Sram, Dedicated_Sram_256KB, Dedicated_Sram_384KB, "
              "Dedicated_Sram_512KB (default: Shared_Sram for a U55, Dedicated_Sram for a U65, "
              "Dedicated_Sram_384KB for a U85)")
      .default_str("");
  verb.flag("--what-if", call->what_if,
            "Cycles of every layer of a U85's stream on all five configurations, in one table: blocks are "
            "chosen anew for those that it was not compiled for");
  verb.callback([call, &exit_code] {
    if (const Status status = run_estimate(*call); !status.ok()) exit_code = fail(status);
  });
}

}  // namespace runnel::apps
