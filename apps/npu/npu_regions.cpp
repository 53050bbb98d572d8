// runnel npu regions: the memories of an Ethos-U's segments, and where inputs and outputs are in them.
#include <cstdio>
#include <nlohmann/json.hpp>

#include "apps/npu/npu_segments.h"
#include "npu/host/regions.h"

namespace runnel::apps {
namespace {

using Json = nlohmann::ordered_json;

const char* kind_of(std::size_t region) {
  return region == npu::kConstants     ? "constants"
         : region == npu::kScratch     ? "scratch"
         : region == npu::kFastScratch ? "fast scratch"
                                       : "tensor";
}
std::string extent_text(const npu::Extent& extent) {
  return extent.high == 0 ? "-" : std::to_string(extent.low) + " to " + std::to_string(extent.high);
}
Json extent_json(const npu::Extent& extent) {
  return extent.high == 0 ? Json(nullptr) : Json{extent.low, extent.high};
}

void print_port(const std::string& segment, const char* kind, const npu::Port& port, bool json) {
  if (json) {
    const Json line{{"segment", segment},    {"port", kind},          {"name", port.name},
                    {"region", port.region}, {"offset", port.offset}, {"bytes", port.bytes},
                    {"kept", port.kept}};
    std::printf("%s\n", line.dump().c_str());
    return;
  }
  std::printf("%-6s  %-13s %12zu at %zu of region %d\n", kind, port.kept ? "(kept)" : port.name.c_str(),
              port.bytes, port.offset, int{port.region});
}

Status run_regions(const NpuFileCall& call) {
  RUNNEL_ASSIGN(const NpuSegments segments, load_npu_segments(call.file, call.flags));
  for (const auto& [name, segment] : segments.list) {
    const auto uses = npu::region_use(segment);
    if (!uses.ok()) return uses.status().at(call.file + ": " + name);
    if (!call.json) {
      std::printf("# %s: %s\n%-6s  %-13s %12s %24s %24s\n", name.c_str(),
                  std::string(segment.accelerator->name).c_str(), "region", "", "bytes", "read", "written");
    }
    for (std::size_t i = 0; i < uses->size(); ++i) {
      const npu::RegionUse& use = (*uses)[i];
      if (use.bytes == 0 && use.read.high == 0 && use.written.high == 0) continue;
      if (call.json) {
        const Json line{{"segment", name},
                        {"region", i},
                        {"kind", kind_of(i)},
                        {"bytes", use.bytes},
                        {"read", extent_json(use.read)},
                        {"written", extent_json(use.written)}};
        std::printf("%s\n", line.dump().c_str());
      } else {
        std::printf("%-6zu  %-13s %12llu %24s %24s\n", i, kind_of(i),
                    static_cast<unsigned long long>(use.bytes), extent_text(use.read).c_str(),
                    extent_text(use.written).c_str());
      }
    }
    for (const npu::Port& port : segment.inputs) print_port(name, "input", port, call.json);
    for (const npu::Port& port : segment.outputs) print_port(name, "output", port, call.json);
  }
  return {};
}

}  // namespace

void add_npu_regions(Verb npu, int& exit_code) {
  auto call = std::make_shared<NpuFileCall>();
  add_npu_file_verb(npu, "regions",
                    "Print the memories of every segment, which bytes of them it reads and writes, and where "
                    "its inputs and outputs are",
                    call)
      .callback([call, &exit_code] {
        if (const Status status = run_regions(*call); !status.ok()) exit_code = fail(status);
      });
}

}  // namespace runnel::apps
