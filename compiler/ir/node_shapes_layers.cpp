// Layers with weights, windows and state.
#include "compiler/ir/node_shapes.h"
#include "compiler/ir/shapes.h"

namespace runnel::compiler::node_shapes {
namespace {

// The two spatial axes of [.., height, width, C]; rank 3 (or a 1-D window) has height 1 and time as width.
struct Plane {
  std::int64_t height = 1, width = 1, channels = 1;
  bool two_dimensional = false;
};

Result<Plane> plane_of(const Case& at, bool one_dimensional) {
  const Shape& x = at.input(0);
  Plane plane;
  plane.two_dimensional = !one_dimensional;
  const std::size_t least = one_dimensional ? 2 : 3;
  if (x.size() < least) return at.fail() << "input of rank " << x.size() << ", expected at least " << least;
  plane.channels = x[x.size() - 1];
  plane.width = x[x.size() - 2];
  if (!one_dimensional) plane.height = x[x.size() - 3];
  return plane;
}

template <class Window>
Status check_window(const Case& at, const Window& window) {
  for (const int value :
       {window.stride_height, window.stride_width, window.dilation_height, window.dilation_width}) {
    if (value < 1) return at.fail() << "stride or dilation " << value << ", expected at least 1";
  }
  for (const int pad : {window.pad_top, window.pad_left, window.pad_bottom, window.pad_right}) {
    if (pad < 0) return at.fail() << "padding " << pad << ", expected at least 0";
  }
  return {};
}

template <class Window>
Status set_window(const Case& at, const Window& window, const Plane& plane, std::int64_t kernel_height,
                  std::int64_t kernel_width, std::int64_t channels) {
  const auto extent = [](std::int64_t kernel, std::int64_t dilation) { return (kernel - 1) * dilation + 1; };
  std::vector<std::int64_t> dims(at.input(0).begin(), at.input(0).end());
  const std::size_t rank = dims.size();
  dims[rank - 1] = channels;
  dims[rank - 2] = window_length(plane.width, extent(kernel_width, window.dilation_width),
                                 window.stride_width, window.pad_left, window.pad_right);
  if (plane.two_dimensional) {
    dims[rank - 3] = window_length(plane.height, extent(kernel_height, window.dilation_height),
                                   window.stride_height, window.pad_top, window.pad_bottom);
  }
  return at.set(0, dims);
}

}  // namespace

// A 2-D weight tensor always has four dimensions; whether the input has a height is told by its rank: [1, T,
// C] has none.
Status conv(const Case& at) {
  RUNNEL_TRY(at.operands(2, 1));
  const auto options = at.options<ConvOptions>();
  RUNNEL_TRY(check_window(at, options));
  const Shape& weights = at.input(1);
  if (weights.size() != 4) return at.fail() << "weights of rank " << weights.size() << ", expected 4";
  RUNNEL_ASSIGN(const Plane plane, plane_of(at, at.input(0).size() < 4));
  if (!plane.two_dimensional && (weights[1] != 1 || options.pad_top != 0 || options.pad_bottom != 0)) {
    return at.fail() << "a kernel or padding in height for an input of " << text_of(at.input(0));
  }
  if (options.groups < 1 || weights[0] % options.groups != 0 ||
      std::int64_t{weights[3]} * options.groups != plane.channels) {
    return at.fail() << "weights of " << text_of(weights) << " in " << options.groups
                     << " groups for an input of " << text_of(at.input(0));
  }
  if (at.has(2) && elements(at.input(2)) != weights[0])
    return at.fail() << "bias of " << text_of(at.input(2)) << " for " << weights[0] << " outputs";
  return set_window(at, options, plane, weights[1], weights[2], weights[0]);
}

Status fully_connected(const Case& at) {
  RUNNEL_TRY(at.operands(2, 1));
  const Shape &x = at.input(0), &weights = at.input(1);
  if (weights.size() != 2 || x.empty() || x.back() != weights[1]) {
    return at.fail() << "weights of " << text_of(weights) << " for an input of " << text_of(x)
                     << ", expected [outputs, " << (x.empty() ? 0 : x.back()) << "]";
  }
  if (at.has(2) && elements(at.input(2)) != weights[0])
    return at.fail() << "bias of " << text_of(at.input(2)) << " for " << weights[0] << " outputs";
  std::vector<std::int64_t> dims(x.begin(), x.end());
  dims.back() = weights[0];
  return at.set(0, dims);
}

Status matmul(const Case& at) {
  RUNNEL_TRY(at.operands(2, 1));
  const Shape &a = at.input(0), &b = at.input(1);
  if (a.size() < 2 || b.size() < 2 || a.back() != b[b.size() - 2])
    return at.fail() << "operands of " << text_of(a) << " and " << text_of(b) << " do not fit";
  RUNNEL_ASSIGN(auto dims, broadcast(at, Shape(a.begin(), a.end() - 2), Shape(b.begin(), b.end() - 2)));
  dims.push_back(a[a.size() - 2]);
  dims.push_back(b.back());
  return at.set(0, dims);
}

Status pool(const Case& at) {
  RUNNEL_TRY(at.operands(1, 1));
  const auto options = at.options<PoolOptions>();
  RUNNEL_TRY(check_window(at, options));
  RUNNEL_ASSIGN(const Plane plane, plane_of(at, at.input(0).size() < 4));
  if (options.global) {
    std::vector<std::int64_t> dims(at.input(0).begin(), at.input(0).end());
    dims[dims.size() - 2] = 1;
    if (plane.two_dimensional) dims[dims.size() - 3] = 1;
    return at.set(0, dims);
  }
  if (options.kernel_height < 1 || options.kernel_width < 1 ||
      (!plane.two_dimensional && options.kernel_height != 1)) {
    return at.fail() << "kernel of " << options.kernel_height << " x " << options.kernel_width
                     << " for an input of " << text_of(at.input(0));
  }
  return set_window(at, options, plane, options.kernel_height, options.kernel_width, plane.channels);
}

Status transposed_conv(const Case& at) {
  RUNNEL_TRY(at.operands(2, 1));
  const auto options = at.options<TransposedConvOptions>();
  const Shape &x = at.input(0), &weights = at.input(1);
  if ((x.size() != 3 && x.size() != 4) || weights.size() != 4)
    return at.fail() << "weights of " << text_of(weights) << " for an input of " << text_of(x);
  const auto grown = [](std::int64_t size, std::int64_t stride, std::int64_t kernel, std::int64_t dilation,
                        std::int64_t crops) {
    return (size - 1) * stride + (kernel - 1) * dilation + 1 - crops;
  };
  std::vector<std::int64_t> dims(x.begin(), x.end());
  const std::size_t width = x.size() - 2;
  dims[width] = grown(dims[width], options.stride_width, weights[2], options.dilation_width,
                      std::int64_t{options.crop_left} + options.crop_right);
  if (width == 2)
    dims[1] = grown(dims[1], options.stride_height, weights[1], options.dilation_height,
                    std::int64_t{options.crop_top} + options.crop_bottom);
  dims[width + 1] = weights[0];
  return at.set(0, dims);
}

Status recurrent(const Case& at) {
  const auto options = at.options<RecurrentOptions>();
  std::size_t outputs = 0;
  for (const int which : {1, 2, 4}) outputs += (options.outputs & which) != 0 ? 1 : 0;
  RUNNEL_TRY(at.operands(3, outputs));
  const Shape &x = at.input(0), &hidden = at.input(2);
  if (x.size() != 3 || x[1] != 1)
    return at.fail() << "input of " << text_of(x) << ", expected [time, 1, features]";
  if (hidden.size() != 3) return at.fail() << "hidden weights of " << text_of(hidden) << ", expected rank 3";
  const std::int64_t directions = options.direction == Direction::bidirectional ? 2 : 1;
  std::size_t position = 0;
  if ((options.outputs & 1) != 0) RUNNEL_TRY(at.set(position++, {x[0], directions, 1, hidden[2]}));
  for (; position < outputs; ++position) RUNNEL_TRY(at.set(position, {directions, 1, hidden[2]}));
  return {};
}

Status sequence_lstm(const Case& at) {
  RUNNEL_TRY(at.operands(13, 1));
  const Shape &x = at.input(0), &weights = at.input(5);
  if (x.size() != 3 || weights.size() != 2)
    return at.fail() << "input of " << text_of(x) << " and hidden weights of " << text_of(weights)
                     << ", expected rank 3 and 2";
  return at.set(0, {x[0], x[1], weights[0]});
}

Status svdf(const Case& at) {
  RUNNEL_TRY(at.operands(3, 1));
  const Shape &x = at.input(0), &weights = at.input(1);
  const int rank = at.options<SvdfOptions>().rank;
  if (x.size() != 2 || weights.size() != 2 || rank < 1 || weights[0] % rank != 0) {
    return at.fail() << "weights of " << text_of(weights) << " in rank " << rank << " for an input of "
                     << text_of(x);
  }
  return at.set(0, {x[0], weights[0] / rank});
}

// The values, in the shape of the queries, which may have channels for a table of distances.
Status attention(const Case& at) {
  RUNNEL_TRY(at.operands(3, 1));
  Shape keys = at.input(0);
  if (at.has(4) && keys.size() == 4 && !at.input(4).empty()) keys[3] -= at.input(4).back();
  if (keys.size() != 4 || at.input(1) != keys || at.input(2).size() != 4) {
    return at.fail() << "operands of " << text_of(at.input(0)) << ", " << text_of(at.input(1)) << " and "
                     << text_of(at.input(2)) << ", expected [1, time, heads, channels]";
  }
  at.output(0) = at.input(2);
  return {};
}

}  // namespace runnel::compiler::node_shapes
