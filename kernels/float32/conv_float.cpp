#include "kernels/float32/conv_float.h"

#include <algorithm>
#include <cstdint>
#include <new>

namespace runnel::kernels {
namespace {

bool is_depthwise(const FloatConvSpec& spec) noexcept {
  return spec.groups > 1 && spec.in_channels == spec.groups && spec.out_channels == spec.groups;
}

// Products of one window.
std::int32_t window_size(const FloatConvSpec& spec) noexcept {
  return spec.kernel_height * spec.kernel_width * (spec.in_channels / spec.groups);
}

// A kernel that spans the whole width has one contiguous window per row: rows become columns
// with more channels.
void merge_width(FloatConvSpec& spec) noexcept {
  if (spec.groups != 1 || spec.kernel_width != spec.in_width || spec.out_width != 1 || spec.pad_left != 0 ||
      spec.dilation_width != 1)
    return;
  spec.in_channels *= spec.in_width;
  spec.in_width = spec.in_height;
  spec.out_width = spec.out_height;
  spec.kernel_width = spec.kernel_height;
  spec.stride_width = spec.stride_height;
  spec.dilation_width = spec.dilation_height;
  spec.pad_left = spec.pad_top;
  spec.in_height = spec.out_height = spec.kernel_height = spec.stride_height = spec.dilation_height = 1;
  spec.pad_top = 0;
}

// Windows are mostly a few floats long: no call for each one.
void copy(const float* from, std::int64_t count, float* to) noexcept {
  for (; count >= 4; count -= 4, from += 4, to += 4) __builtin_memcpy(to, from, 16);
  for (; count > 0; --count) *to++ = *from++;
}

void zero(std::int64_t count, float* to) noexcept {
  for (; count > 0; --count) *to++ = 0;
}

// The window of an output position; x: the first input channel of its group. Zeros for padding.
void copy_window(const FloatConvSpec& spec, std::int64_t position, const float* x, float* to) noexcept {
  const std::int64_t channels = spec.in_channels / spec.groups, line = spec.kernel_width * channels;
  const std::int64_t row = position / spec.out_width * spec.stride_height - spec.pad_top,
                     column = position % spec.out_width * spec.stride_width - spec.pad_left;
  const bool one_piece = spec.groups == 1 && spec.dilation_width == 1;
  const std::int64_t before = std::clamp<std::int64_t>(-column, 0, spec.kernel_width),
                     end = std::clamp<std::int64_t>(spec.in_width - column, before, spec.kernel_width);
  const std::int64_t row_step = std::int64_t{spec.dilation_height} * spec.in_width * spec.in_channels;
  const float* from = x + (row * spec.in_width + column) * spec.in_channels;
  for (std::int64_t i = 0; i < spec.kernel_height; ++i, from += row_step, to += line) {
    const std::int64_t in_row = row + i * spec.dilation_height;
    if (in_row < 0 || in_row >= spec.in_height) {
      zero(line, to);
    } else if (one_piece && end - before == spec.kernel_width) {
      copy(from, line, to);
    } else if (one_piece) {
      zero(before * channels, to);
      copy(from + before * channels, (end - before) * channels, to + before * channels);
      zero((spec.kernel_width - end) * channels, to + end * channels);
    } else {
      for (std::int64_t j = 0; j < spec.kernel_width; ++j) {
        const std::int64_t in_column = column + j * spec.dilation_width;
        if (in_column >= 0 && in_column < spec.in_width)
          copy(from + j * spec.dilation_width * spec.in_channels, channels, to + j * channels);
        else
          zero(channels, to + j * channels);
      }
    }
  }
}

// Columns [first, last) whose windows are each contiguous in the input.
struct Range {
  std::int64_t first = 0, last = 0;
};
Range in_place(const FloatConvSpec& spec) noexcept {
  const bool one_tap = spec.kernel_height == 1 && spec.kernel_width == 1;
  const bool one_row =
      spec.kernel_height == 1 && spec.groups == 1 && (spec.dilation_width == 1 || spec.kernel_width == 1);
  if ((!one_tap && !one_row) || spec.pad_top != 0 ||
      (spec.out_height - 1) * std::int64_t{spec.stride_height} >= spec.in_height)
    return {};
  Range range;
  const std::int64_t room = std::int64_t{spec.in_width} - spec.kernel_width + spec.pad_left;
  range.first = std::clamp<std::int64_t>((spec.pad_left + spec.stride_width - 1) / spec.stride_width, 0,
                                         spec.out_width);
  range.last = room < 0 ? range.first
                        : std::clamp<std::int64_t>(room / spec.stride_width + 1, range.first, spec.out_width);
  // Few columns between borders: one product is better than three that each read all weights.
  constexpr std::int64_t kFew = 12;
  if (range.last - range.first < kFew && range.last - range.first < spec.out_width) return {};
  return range;
}

// Rows and columns that the windows of `count` results reach over, padding included.
std::int64_t reach(std::int64_t count, std::int32_t stride, std::int32_t kernel,
                   std::int32_t dilation) noexcept {
  return (count - 1) * stride + std::int64_t{kernel - 1} * dilation + 1;
}
std::int64_t reached_width(const FloatConvSpec& spec) noexcept {
  return reach(spec.out_width, spec.stride_width, spec.kernel_width, spec.dilation_width);
}
std::int64_t reached_height(const FloatConvSpec& spec, std::int64_t rows) noexcept {
  return reach(rows, spec.stride_height, spec.kernel_height, spec.dilation_height);
}

// Rows [first, first + rows) of the image, with its padding to `width` columns.
void copy_padded(const FloatConvSpec& spec, std::int64_t first, std::int64_t rows, std::int64_t width,
                 const float* x, float* to) noexcept {
  const std::int64_t channels = spec.in_channels, left = std::min<std::int64_t>(spec.pad_left, width),
                     columns = std::min<std::int64_t>(spec.in_width, width - left), line = width * channels;
  for (std::int64_t row = first; row < first + rows; ++row, to += line) {
    if (row < 0 || row >= spec.in_height) {
      std::fill_n(to, line, 0.0f);
      continue;
    }
    std::fill_n(to, left * channels, 0.0f);
    std::copy_n(x + row * spec.in_width * channels, columns * channels, to + left * channels);
    std::fill_n(to + (left + columns) * channels, line - (left + columns) * channels, 0.0f);
  }
}

// Where the image lies, or will be copied to: the place of every factor of a window. Null: no memory.
const std::int32_t* make_places(const FloatConvSpec& spec, std::int64_t width, Memory& memory) noexcept {
  const std::int32_t channels = spec.in_channels / spec.groups;
  auto* const places = memory.array<std::int32_t>(static_cast<std::size_t>(window_size(spec)));
  if (places == nullptr) return nullptr;
  std::int32_t* to = places;
  for (std::int64_t i = 0; i < spec.kernel_height; ++i) {
    for (std::int64_t j = 0; j < spec.kernel_width; ++j) {
      const std::int64_t from =
          (i * spec.dilation_height * width + j * spec.dilation_width) * spec.in_channels;
      for (std::int32_t channel = 0; channel < channels; ++channel)
        *to++ = static_cast<std::int32_t>(from + channel);
    }
  }
  return places;
}

}  // namespace

// Copies the windows of positions [first, last) side by side, zeros for padding, and multiplies them.
void FloatConv::gather(std::int32_t group, std::int64_t first, std::int64_t last, const float* x, float* y,
                       float* windows) const noexcept {
  const std::int64_t size = window_size(spec), outputs = spec.out_channels;
  while (first < last) {
    const std::int64_t count = std::min<std::int64_t>(last - first, gathered);
    for (std::int64_t i = 0; i < count; ++i) copy_window(spec, first + i, x, windows + i * size);
    kernels->product(matrices[group], count, windows, size, y + first * outputs, outputs, spec.limits);
    first += count;
  }
}

void FloatConv::run_group(std::int32_t group, const float* x, float* y, float* windows) const noexcept {
  x += std::int64_t{group} * (spec.in_channels / spec.groups);
  y += std::int64_t{group} * (spec.out_channels / spec.groups);
  const std::int64_t channels = spec.in_channels, outputs = spec.out_channels, height = spec.out_height,
                     width = spec.out_width;
  const Range direct = in_place(spec);
  if (direct.first == direct.last) return gather(group, 0, height * width, x, y, windows);
  const bool all = direct.first == 0 && direct.last == width;
  if (all && spec.stride_height == 1 && std::int64_t{spec.stride_width} * width == spec.in_width) {
    return kernels->product(matrices[group], height * width, x, spec.stride_width * channels, y, outputs,
                            spec.limits);
  }
  for (std::int64_t row = 0; row < height; ++row) {
    const std::int64_t at = row * width;
    gather(group, at, at + direct.first, x, y, windows);
    kernels->product(
        matrices[group], direct.last - direct.first,
        x + (row * spec.stride_height * spec.in_width + direct.first * spec.stride_width - spec.pad_left) *
                channels,
        spec.stride_width * channels, y + (at + direct.first) * outputs, outputs, spec.limits);
    gather(group, at + direct.last, at + width, x, y, windows);
  }
}

// Row by row of results; the image is read where it lies, or copied with its padding in bands.
void FloatConv::run_places(const float* x, float* y, float* image) const noexcept {
  const std::int64_t channels = spec.in_channels / spec.groups, outputs = spec.out_channels / spec.groups,
                     width = band == 0 ? spec.in_width : reached_width(spec), line = width * spec.in_channels,
                     rows = band == 0 ? spec.out_height : band;
  for (std::int64_t first = 0; first < spec.out_height; first += rows) {
    const std::int64_t last = std::min<std::int64_t>(first + rows, spec.out_height),
                       top = first * spec.stride_height;
    if (band != 0) copy_padded(spec, top - spec.pad_top, reached_height(spec, last - first), width, x, image);
    const float* const from = band == 0 ? x + top * line : image;
    for (std::int64_t row = first; row < last; ++row) {
      for (std::int32_t group = 0; group < spec.groups; ++group)
        kernels->product_at(matrices[group], spec.out_width,
                            from + (row - first) * spec.stride_height * line + group * channels,
                            std::int64_t{spec.stride_width} * spec.in_channels, places,
                            y + row * spec.out_width * spec.out_channels + group * outputs, spec.out_channels,
                            spec.limits);
    }
  }
}

void FloatConv::run(const float* x, float* y, void* scratch) const noexcept {
  if (matrices == nullptr) return kernels->depthwise(depthwise, x, y);
  if (places != nullptr) return run_places(x, y, static_cast<float*>(scratch));
  for (std::int32_t group = 0; group < spec.groups; ++group)
    run_group(group, x, y, static_cast<float*>(scratch));
}

Status prepare_float_conv(const FloatConvSpec& wanted, Isa isa, Memory& memory, FloatConv& conv) noexcept {
  const auto named = [](const Status& status) {
    return Status(status.code()) << "convolution: " << status.text();
  };
  for (const std::int32_t size :
       {wanted.in_height, wanted.in_width, wanted.in_channels, wanted.out_height, wanted.out_width,
        wanted.out_channels, wanted.kernel_height, wanted.kernel_width, wanted.stride_height,
        wanted.stride_width, wanted.dilation_height, wanted.dilation_width, wanted.groups}) {
    if (size < 1)
      return Status(Code::invalid_argument)
             << "convolution: sizes, strides, dilations and groups must be at least 1, found " << size;
  }
  if (wanted.in_channels % wanted.groups != 0 || wanted.out_channels % wanted.groups != 0) {
    return Status(Code::invalid_argument)
           << "convolution: " << wanted.groups << " groups must divide " << wanted.in_channels
           << " inputs and " << wanted.out_channels << " outputs";
  }
  conv = FloatConv();
  conv.spec = wanted;
  conv.kernels = &float_kernels(isa);
  FloatConvSpec& spec = conv.spec;
  if (is_depthwise(spec)) {
    // As a matrix with one column per tap, packed as [taps][channels], with the bias that depthwise needs.
    FloatMatrix by_tap;
    const std::int32_t taps = spec.kernel_height * spec.kernel_width;
    auto* const weights =
        memory.array<float>(static_cast<std::size_t>(taps) * static_cast<std::size_t>(spec.out_channels));
    if (weights == nullptr)
      return Status(Code::out_of_memory)
             << "convolution: no memory for " << taps << " times " << spec.out_channels << " weights";
    for (std::int32_t n = 0; n < spec.out_channels; ++n) {
      for (std::int32_t tap = 0; tap < taps; ++tap) {
        const float weight = spec.weights[n * taps + tap];
        if (weight - weight != 0)
          return Status(Code::invalid_argument)
                 << "convolution: weight " << tap << " of output " << n << " is not finite";
        weights[tap * spec.out_channels + n] = weight;
      }
    }
    const Status packed =
        pack_float_matrix({nullptr, 0, 0, spec.bias}, 0, spec.out_channels, isa, memory, by_tap);
    if (!packed.ok()) return named(packed);
    conv.depthwise = {
        spec.in_channels,    spec.in_height,    spec.in_width,      spec.out_height,   spec.out_width,
        spec.kernel_height,  spec.kernel_width, spec.stride_height, spec.stride_width, spec.dilation_height,
        spec.dilation_width, spec.pad_top,      spec.pad_left,      weights,           by_tap.bias,
        spec.limits};
    return {};
  }
  merge_width(spec);
  const std::int32_t size = window_size(spec), outputs = spec.out_channels / spec.groups;
  const std::int64_t positions = std::int64_t{spec.out_height} * spec.out_width;
  auto* const matrices = memory.array<FloatMatrix>(static_cast<std::size_t>(spec.groups));
  if (matrices == nullptr)
    return Status(Code::out_of_memory) << "convolution: no memory for " << spec.groups << " groups";
  for (std::int32_t group = 0; group < spec.groups; ++group) {
    const std::int64_t first = std::int64_t{group} * outputs;
    const Status packed = pack_float_matrix(
        {spec.weights + first * size, size, 1, spec.bias == nullptr ? nullptr : spec.bias + first}, size,
        outputs, isa, memory, matrices[group]);
    if (!packed.ok()) return named(packed);
  }
  conv.matrices = matrices;
  const Range direct = in_place(spec);
  if (direct.last - direct.first == spec.out_width) return {};
  // A row of results must be worth a product of its own.
  constexpr std::int32_t kLeastRow = 4;
  const std::int64_t width = reached_width(spec), height = reached_height(spec, spec.out_height);
  if (conv.kernels->product_at != nullptr && direct.last == direct.first && spec.out_width >= kLeastRow &&
      height * std::max<std::int64_t>(width, spec.in_width) * spec.in_channels < INT32_MAX) {
    const bool padded =
        spec.pad_top > 0 || spec.pad_left > 0 || height > spec.in_height || width > spec.in_width;
    conv.places = make_places(spec, padded ? width : spec.in_width, memory);
    if (conv.places == nullptr)
      return Status(Code::out_of_memory) << "convolution: no memory for " << size << " places";
    if (!padded) return {};
    constexpr std::int64_t kBandFloats = 8192;  // in the first-level cache, with the weights of a panel
    const std::int64_t line = width * spec.in_channels;
    std::int64_t rows = 1;
    while (rows < spec.out_height && reached_height(spec, rows + 1) * line <= kBandFloats) ++rows;
    conv.band = static_cast<std::int32_t>(rows);
    conv.scratch_bytes = static_cast<std::size_t>(reached_height(spec, rows) * line) * sizeof(float);
    return {};
  }
  constexpr std::int64_t kWindowFloats = 4096;
  conv.gathered = static_cast<std::int32_t>(
      std::min<std::int64_t>(positions, std::clamp<std::int64_t>(kWindowFloats / size, 6, 24)));
  conv.scratch_bytes =
      static_cast<std::size_t>(conv.gathered) * static_cast<std::size_t>(size) * sizeof(float);
  return {};
}

void float_conv_reference(const FloatConvSpec& spec, const float* x, float* y) noexcept {
  const std::int32_t channels = spec.in_channels / spec.groups, outputs = spec.out_channels / spec.groups,
                     size = window_size(spec);
  const std::int32_t segments = is_depthwise(spec) ? 1 : float_segments(size, outputs),
                     length = size / segments;
  const auto input = [&](std::int64_t row, std::int64_t column, std::int32_t group, std::int32_t k) {
    const std::int32_t tap = k / channels;
    const std::int64_t in_row = row * spec.stride_height - spec.pad_top +
                                std::int64_t{tap / spec.kernel_width} * spec.dilation_height;
    const std::int64_t in_column = column * spec.stride_width - spec.pad_left +
                                   std::int64_t{tap % spec.kernel_width} * spec.dilation_width;
    if (in_row < 0 || in_row >= spec.in_height || in_column < 0 || in_column >= spec.in_width) return 0.0f;
    return x[(in_row * spec.in_width + in_column) * spec.in_channels + group * channels + k % channels];
  };
  for (std::int64_t row = 0; row < spec.out_height; ++row) {
    for (std::int64_t column = 0; column < spec.out_width; ++column) {
      for (std::int32_t n = 0; n < spec.out_channels; ++n) {
        float total = 0;
        for (std::int32_t segment = 0; segment < segments; ++segment) {
          const std::int32_t end = segment + 1 == segments ? size : (segment + 1) * length;
          float sum = 0;
          for (std::int32_t k = segment * length; k < end; ++k)
            sum = __builtin_fmaf(input(row, column, n / outputs, k), spec.weights[std::int64_t{n} * size + k],
                                 sum);
          total = segment == 0 ? sum : total + sum;
        }
        total += spec.bias == nullptr ? 0.0f : spec.bias[n] + 0.0f;
        *y++ = spec.limits.apply(total);
      }
    }
  }
}

}  // namespace runnel::kernels
