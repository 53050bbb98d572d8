#include "npu/host/listing.h"

#include <cstdio>

#include "npu/host/disassemble.h"

namespace runnel::npu {
namespace {

std::string type_text(const FeatureMap& map) {
  return (map.is_signed ? "int" : "uint") + number(8 * map.element);
}
const char* layout_text(Layout layout) { return layout == Layout::nhwc ? "nhwc" : "nhcwb16"; }
const char* upscale_text(Upscale upscale) { return upscale == Upscale::nearest ? "nearest" : "zeros"; }
std::string shape_text(const FeatureMap& map) {
  return number(map.height) + "x" + number(map.width) + "x" + number(map.depth);
}
bool tiled(const FeatureMap& map) {
  if (map.storage == Storage::tiles_3x1) return map.height > map.height0;
  return map.width > map.width0 || map.height > map.height0;
}
// Where a U85's map is that is not in memory.
std::string inside_text(const FeatureMap& map) {
  return map.storage == Storage::chained ? "chain " + number(map.region) : "nowhere";
}

}  // namespace

std::string number(std::int64_t value) { return std::to_string(value); }

std::string place_text(std::uint8_t region, std::int64_t address) {
  char text[40];
  std::snprintf(text, sizeof text, "r%d+0x%llx", int{region}, static_cast<unsigned long long>(address));
  return text;
}

std::string map_text(const char* name, const FeatureMap& map) {
  std::string text = std::string("  ") + name + " " + shape_text(map) + " " + type_text(map) + " ";
  if (map.width0 == 0)
    return text + inside_text(map) + (map.zero_point != 0 ? " zero " + number(map.zero_point) : "");
  text += layout_text(map.layout) + (" " + place_text(map.region, map.base[0]));
  text += " stride " + number(map.stride_y) + "," +
          number(map.layout == Layout::nhwc ? map.stride_x : map.stride_c);
  if (map.zero_point != 0) text += " zero " + number(map.zero_point);
  if (tiled(map)) {
    text += " tiles " + number(map.height0) + "/" + number(map.height1) + "x" + number(map.width0);
    for (int tile = 1; tile < 4; ++tile) text += " " + place_text(map.region, map.base[tile]);
  }
  return text;
}
Json map_json(const FeatureMap& map) {
  if (map.width0 == 0)
    return {{"shape", {map.height, map.width, map.depth}},
            {"type", type_text(map)},
            {"inside", inside_text(map)},
            {"zero_point", map.zero_point}};
  Json out{{"shape", {map.height, map.width, map.depth}},
           {"type", type_text(map)},
           {"layout", layout_text(map.layout)},
           {"region", map.region},
           {"zero_point", map.zero_point},
           {"base", {map.base[0], map.base[1], map.base[2], map.base[3]}},
           {"stride_y", map.stride_y}};
  out[map.layout == Layout::nhwc ? "stride_x" : "stride_c"] =
      map.layout == Layout::nhwc ? map.stride_x : map.stride_c;
  if (tiled(map)) out["tiles"] = {{"width0", map.width0}, {"height0", map.height0}, {"height1", map.height1}};
  return out;
}

std::string kernel_text(const Operation& op) {
  const Kernel& k = op.kernel;
  std::string text = "  kernel " + number(k.height) + "x" + number(k.width) + " stride " +
                     number(k.stride_y) + "x" + number(k.stride_x);
  if (k.dilation_y > 1 || k.dilation_x > 1)
    text += " dilation " + number(k.dilation_y) + "x" + number(k.dilation_x);
  if (k.top + k.left + k.bottom + k.right > 0)
    text += " pad " + number(k.top) + "," + number(k.left) + "," + number(k.bottom) + "," + number(k.right);
  if (op.upscale != Upscale::none) text += std::string(" upscale ") + upscale_text(op.upscale);
  return text;
}
void add_kernel(const Operation& op, Json& out) {
  const Kernel& k = op.kernel;
  out["kernel"] = {{"size", {k.height, k.width}},
                   {"stride", {k.stride_y, k.stride_x}},
                   {"dilation", {k.dilation_y, k.dilation_x}},
                   {"padding", {k.top, k.left, k.bottom, k.right}}};
  if (op.upscale != Upscale::none) out["upscale"] = upscale_text(op.upscale);
}

bool has_window(const Operation& op) { return op.computes() && op.kind != OperationKind::elementwise; }
bool waits(const Operation& op) {
  return op.kind == OperationKind::kernel_wait || op.kind == OperationKind::dma_wait;
}

Json streams_json(const Bytes* streams, int count, std::uint8_t region) {
  Json out = Json::array();
  for (int i = 0; i < count; ++i) {
    if (streams[i].length > 0)
      out.push_back({{"region", region}, {"base", streams[i].base}, {"length", streams[i].length}});
  }
  return out;
}

}  // namespace runnel::npu
