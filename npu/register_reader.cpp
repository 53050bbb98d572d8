#include "npu/register_reader.h"

namespace runnel::npu {

std::uint16_t RegisterReader::get(Short code) noexcept {
  if (!registers_.is_set(code))
    refuse(fail() << "reads " << short_name(accelerator_.product, static_cast<std::uint16_t>(code))
                  << ", which was never set");
  return registers_.get(code);
}
Long RegisterReader::need(Long code) noexcept {
  if (!registers_.is_set(code))
    refuse(fail() << "reads " << long_name(accelerator_.product, static_cast<std::uint16_t>(code))
                  << ", which was never set");
  return code;
}

void RegisterReader::size(FeatureMap& map, std::int64_t height, std::int64_t width, std::int64_t depth,
                          const char* name) noexcept {
  if (height < 1 || width < 1 || depth < 1 || height > kMaxSize || width > kMaxSize || depth > kMaxSize) {
    refuse(fail() << name << " of " << height << " x " << width << " x " << depth
                  << ", expected 1 to 65536 each");
    return;
  }
  map.height = static_cast<std::int32_t>(height);
  map.width = static_cast<std::int32_t>(width);
  map.depth = static_cast<std::int32_t>(depth);
}

void RegisterReader::place(FeatureMap& map, const MapRegisters& from, std::int64_t height, std::int64_t width,
                           std::int64_t depth, const char* name) noexcept {
  size(map, height, width, depth, name);
  if (map.height == 0) return;
  type(map, from);
  map.region = static_cast<std::uint8_t>(get(from.region) & 7);
  map.width0 = get(from.width0) + 1;
  map.height0 = get(from.height0) + 1;
  map.height1 = get(from.height1) + 1;
  map.stride_y = distance(from.stride_y);
  if (map.layout == Layout::nhwc)
    map.stride_x = distance(from.stride_x);
  else
    map.stride_c = distance(from.stride_c);
  const bool rows = map.storage == Storage::tiles_3x1;
  if (rows) map.width0 = map.width;
  for (int tile = 0; tile < (rows ? 3 : 4); ++tile) {
    const bool right = (tile & 1) != 0, below = (tile & 2) != 0;
    const bool reached = rows ? tile == 0 || map.height > map.height0 + (tile == 2 ? map.height1 : 0)
                              : (!right || map.width > map.width0) &&
                                    (!below || map.height > (right ? map.height1 : map.height0));
    if (reached) map.base[tile] = address(plus(from.base0, tile));
  }
}

void RegisterReader::type(FeatureMap& map, const MapRegisters& from) noexcept {
  const std::uint16_t precision = get(from.precision);
  map.is_signed = (precision & 1) != 0;
  map.element = static_cast<std::uint8_t>(1 << (precision >> (from.output ? 1 : 2) & 3));
  if (map.element == 8 && accelerator_.product != Product::u85) refuse(fail() << "elements of 64 bits");
  const int layout = precision >> 6 & 3;
  if (layout > 1) refuse(fail() << "format " << layout << ", expected 0 or 1");
  map.layout = layout == 1 ? Layout::nhcwb16 : Layout::nhwc;
}

void RegisterReader::block() noexcept {
  op_.block_height = get(Short::ofm_block_height_m1) + 1;
  op_.block_width = get(Short::ofm_block_width_m1) + 1;
  op_.block_depth = get(Short::ofm_block_depth_m1) + 1;
  op_.block_dependency = static_cast<std::uint8_t>(get(Short::block_dependency) & 7);
}

void RegisterReader::window() noexcept {
  Kernel& kernel = op_.kernel;
  kernel.height = get(Short::kernel_height_m1) + 1;
  kernel.width = get(Short::kernel_width_m1) + 1;
  const std::uint16_t fields = get(Short::kernel_stride);
  kernel.stride_x = 1 + (fields & 1) + (fields >> 6 & 1) * 2;
  kernel.stride_y = 1 + (fields >> 1 & 1) + (fields >> 9 & 1) * 2;
  kernel.part_kernel = (fields >> 2 & 1) != 0;
  kernel.dilation_x = 1 + (fields >> 3 & 1);
  kernel.dilation_y = 1 + (fields >> 4 & 1);
  kernel.top = get(Short::ifm_pad_top);
  kernel.left = get(Short::ifm_pad_left);
  kernel.bottom = get(Short::ifm_pad_bottom);
  kernel.right = get(Short::ifm_pad_right);
  const int upscale = get(Short::ifm_upscale);
  if (upscale > 2) refuse(fail() << "upscaling " << upscale << ", expected 0 to 2");
  op_.upscale = static_cast<Upscale>(upscale & 3);
}

namespace {
// In memory, of a size after upscaling.
std::int64_t stored(std::int64_t size, Upscale upscale) noexcept {
  return upscale == Upscale::none || size <= 0 ? size : (size + 1) / 2;
}
}  // namespace

std::int64_t RegisterReader::window_rows() const noexcept {
  const Kernel& k = op_.kernel;
  return stored(std::int64_t{op_.ofm.height - 1} * k.stride_y + k.height - k.top - k.bottom, op_.upscale);
}
std::int64_t RegisterReader::window_columns() const noexcept {
  const Kernel& k = op_.kernel;
  return stored(std::int64_t{op_.ofm.width - 1} * k.stride_x + k.width - k.left - k.right, op_.upscale);
}

}  // namespace runnel::npu
