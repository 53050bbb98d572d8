#include "bench/xnnpack_networks.h"

#include <xnnpack.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <utility>

namespace runnel::bench {
namespace {

// Bytes that XNNPACK may read past a buffer.
constexpr std::size_t kTail = 128;

// Common names for the two families of operators.
template <class T>
struct Operators;

template <>
struct Operators<std::int8_t> {
  static float scale() { return std::ldexp(1.0f, kExponent); }
  static xnn_status conv(const ConvLayer& layer, bool padded, xnn_operator_t* op) {
    const auto pad = [=](int size) { return padded ? static_cast<std::uint32_t>(size) : 0u; };
    const auto u = [](int value) { return static_cast<std::uint32_t>(value); };
    const auto in = static_cast<std::size_t>(layer.in), out = static_cast<std::size_t>(layer.out);
    return xnn_create_convolution2d_nhwc_qs8(
        pad(layer.pad_top), pad(layer.pad_right), pad(layer.pad_bottom), pad(layer.pad_left),
        u(layer.kernel_height), u(layer.kernel_width), u(layer.stride), u(layer.stride), 1, u(layer.dilation),
        u(layer.groups), in / static_cast<std::size_t>(layer.groups),
        out / static_cast<std::size_t>(layer.groups), in, out, 0, scale(), std::ldexp(1.0f, -layer.shift),
        layer.weights.data(), layer.bias.data(), 0, scale(), layer.relu ? 0 : -128, 127, 0, op);
  }
  static xnn_status setup_conv(xnn_operator_t op, int height, int width, const std::int8_t* x,
                               std::int8_t* y) {
    return xnn_setup_convolution2d_nhwc_qs8(op, 1, static_cast<std::size_t>(height),
                                            static_cast<std::size_t>(width), x, y, nullptr);
  }
  static xnn_status dense(const ConvLayer& layer, xnn_operator_t* op) {
    const auto in = static_cast<std::size_t>(layer.in), out = static_cast<std::size_t>(layer.out);
    return xnn_create_fully_connected_nc_qs8(in, out, in, out, 0, scale(), std::ldexp(1.0f, -layer.shift),
                                             layer.weights.data(), layer.bias.data(), 0, scale(),
                                             layer.relu ? 0 : -128, 127, 0, op);
  }
  static xnn_status setup_dense(xnn_operator_t op, std::size_t rows, const std::int8_t* x, std::int8_t* y) {
    return xnn_setup_fully_connected_nc_qs8(op, rows, x, y, nullptr);
  }
  static xnn_status add_relu(xnn_operator_t* op) {
    return xnn_create_add_nd_qs8(0, scale(), 0, scale(), 0, scale(), 0, 127, 0, op);
  }
  static xnn_status setup_add(xnn_operator_t op, std::size_t count, const std::int8_t* a,
                              const std::int8_t* b, std::int8_t* y) {
    return xnn_setup_add_nd_qs8(op, 1, &count, 1, &count, a, b, y, nullptr);
  }
  static xnn_status mean(std::size_t channels, xnn_operator_t* op) {
    return xnn_create_global_average_pooling_nwc_qs8(channels, channels, channels, 0, scale(), 0, scale(),
                                                     -128, 127, 0, op);
  }
  static xnn_status setup_mean(xnn_operator_t op, std::size_t rows, const std::int8_t* x, std::int8_t* y) {
    return xnn_setup_global_average_pooling_nwc_qs8(op, 1, rows, x, y, nullptr);
  }
  static std::int8_t from_integer(std::int8_t value) { return value; }
  static std::int8_t to_integer(std::int8_t value) { return value; }
};

template <>
struct Operators<float> {
  static constexpr float kNone = std::numeric_limits<float>::infinity();
  static std::vector<float> weights(const ConvLayer& layer) {
    std::vector<float> values(layer.weights.size());
    std::transform(layer.weights.begin(), layer.weights.end(), values.begin(),
                   [&](std::int8_t w) { return std::ldexp(static_cast<float>(w), -layer.shift); });
    return values;
  }
  static std::vector<float> bias(const ConvLayer& layer) {
    std::vector<float> values(layer.bias.size());
    std::transform(layer.bias.begin(), layer.bias.end(), values.begin(), [&](std::int32_t b) {
      return std::ldexp(static_cast<float>(b), kExponent - layer.shift);
    });
    return values;
  }
  static xnn_status conv(const ConvLayer& layer, bool padded, xnn_operator_t* op) {
    const auto pad = [=](int size) { return padded ? static_cast<std::uint32_t>(size) : 0u; };
    const auto u = [](int value) { return static_cast<std::uint32_t>(value); };
    const auto in = static_cast<std::size_t>(layer.in), out = static_cast<std::size_t>(layer.out);
    return xnn_create_convolution2d_nhwc_f32(
        pad(layer.pad_top), pad(layer.pad_right), pad(layer.pad_bottom), pad(layer.pad_left),
        u(layer.kernel_height), u(layer.kernel_width), u(layer.stride), u(layer.stride), 1, u(layer.dilation),
        u(layer.groups), in / static_cast<std::size_t>(layer.groups),
        out / static_cast<std::size_t>(layer.groups), in, out, weights(layer).data(), bias(layer).data(),
        layer.relu ? 0 : -kNone, kNone, 0, op);
  }
  static xnn_status setup_conv(xnn_operator_t op, int height, int width, const float* x, float* y) {
    return xnn_setup_convolution2d_nhwc_f32(op, 1, static_cast<std::size_t>(height),
                                            static_cast<std::size_t>(width), x, y, nullptr);
  }
  static xnn_status dense(const ConvLayer& layer, xnn_operator_t* op) {
    const auto in = static_cast<std::size_t>(layer.in), out = static_cast<std::size_t>(layer.out);
    return xnn_create_fully_connected_nc_f32(in, out, in, out, weights(layer).data(), bias(layer).data(),
                                             layer.relu ? 0 : -kNone, kNone, 0, op);
  }
  static xnn_status setup_dense(xnn_operator_t op, std::size_t rows, const float* x, float* y) {
    return xnn_setup_fully_connected_nc_f32(op, rows, x, y, nullptr);
  }
  static xnn_status add_relu(xnn_operator_t* op) { return xnn_create_add_nd_f32(0, kNone, 0, op); }
  static xnn_status setup_add(xnn_operator_t op, std::size_t count, const float* a, const float* b,
                              float* y) {
    return xnn_setup_add_nd_f32(op, 1, &count, 1, &count, a, b, y, nullptr);
  }
  static xnn_status mean(std::size_t channels, xnn_operator_t* op) {
    return xnn_create_global_average_pooling_nwc_f32(channels, channels, channels, -kNone, kNone, 0, op);
  }
  static xnn_status setup_mean(xnn_operator_t op, std::size_t rows, const float* x, float* y) {
    return xnn_setup_global_average_pooling_nwc_f32(op, 1, rows, x, y, nullptr);
  }
  static float from_integer(std::int8_t value) { return std::ldexp(static_cast<float>(value), kExponent); }
  static std::int8_t to_integer(float value) {
    return static_cast<std::int8_t>(
        std::clamp(std::floor(std::ldexp(value, -kExponent) + 0.5f), -128.0f, 127.0f));
  }
};

// Operators and buffers of one network.
template <class T>
class Network final : public XnnpackNetwork {
 public:
  using Op = Operators<T>;
  ~Network() override {
    for (const xnn_operator_t op : operators_) xnn_delete_operator(op);
  }

  // [context + frames][channels]: the context moves up after each run.
  struct Cache {
    std::vector<T> data;
    std::size_t context = 0, block = 0;  // elements
    T* now() { return data.data() + context; }
  };

  bool build(const M1& network, int frames, bool streamed) {
    const auto n = static_cast<std::size_t>(frames);
    const auto context = [&](const ConvLayer& layer) {
      return streamed ? static_cast<std::size_t>(layer.pad_left) : 0;
    };
    input_ = cache(context(network.stem), n, M1::kFeatures);
    Cache* x = cache(context(network.blocks[0].depthwise), n, M1::kChannels);
    const auto width = [&](const ConvLayer& layer) { return frames + static_cast<int>(context(layer)); };
    if (!conv(network.stem, !streamed, 1, width(network.stem), input_->data.data(), x->now())) return false;
    Cache* taps = cache(0, n, M1::kChannels);
    Cache* mixed = cache(0, n, M1::kChannels);
    for (std::size_t i = 0; i < network.blocks.size(); ++i) {
      const M1::Block& block = network.blocks[i];
      Cache* y = cache(i + 1 < network.blocks.size() ? context(network.blocks[i + 1].depthwise) : 0, n,
                       M1::kChannels);
      if (!conv(block.depthwise, !streamed, 1, width(block.depthwise), x->data.data(), taps->now()) ||
          !dense(block.pointwise, n, taps->now(), mixed->now()) ||
          !add_relu(n * M1::kChannels, mixed->now(), x->now(), y->now())) {
        return false;
      }
      x = y;
    }
    output_ = cache(0, n, M1::kChannels);
    return dense(network.head, n, x->now(), output_->now());
  }

  bool build(const M2& network) {
    constexpr std::size_t kPositions = std::size_t{M2::kOutHeight} * M2::kOutWidth;
    input_ = cache(0, 1, std::size_t{M2::kHeight} * M2::kWidth);
    Cache* x = cache(0, kPositions, M2::kChannels);
    Cache* taps = cache(0, kPositions, M2::kChannels);
    Cache* mean = cache(0, 1, M2::kChannels);
    output_ = cache(0, 1, M2::kClasses);
    if (!conv(network.stem, true, M2::kHeight, M2::kWidth, input_->now(), x->now())) return false;
    for (const M2::Block& block : network.blocks) {
      if (!conv(block.depthwise, true, M2::kOutHeight, M2::kOutWidth, x->now(), taps->now()) ||
          !dense(block.pointwise, kPositions, taps->now(), x->now())) {
        return false;
      }
    }
    xnn_operator_t op = nullptr;
    return keep(Op::mean(M2::kChannels, &op), op) &&
           Op::setup_mean(op, kPositions, x->now(), mean->now()) == xnn_status_success &&
           dense(network.dense, 1, mean->now(), output_->now());
  }

  void put(const std::int8_t* x) override {
    std::transform(x, x + input_->block, input_->now(), Op::from_integer);
  }
  bool run() override {
    bool ok = !operators_.empty();
    for (const xnn_operator_t op : operators_) ok = xnn_run_operator(op, nullptr) == xnn_status_success && ok;
    for (const auto& one : caches_) {
      if (one->context > 0)
        std::memmove(one->data.data(), one->data.data() + one->block, one->context * sizeof(T));
    }
    return ok;
  }
  std::vector<std::int8_t> output() const override {
    std::vector<std::int8_t> values(output_->block);
    std::transform(output_->now(), output_->now() + output_->block, values.begin(), Op::to_integer);
    return values;
  }

 private:
  Cache* cache(std::size_t context, std::size_t frames, std::size_t channels) {
    caches_.push_back(std::make_unique<Cache>());
    Cache& made = *caches_.back();
    made.context = context * channels;
    made.block = frames * channels;
    made.data.assign(made.context + made.block + kTail, T{});
    return &made;
  }
  // `op` by reference: the call whose status is the other argument sets it.
  bool keep(xnn_status status, const xnn_operator_t& op) {
    if (op != nullptr) operators_.push_back(op);
    return status == xnn_status_success;
  }
  bool conv(const ConvLayer& layer, bool padded, int height, int width, const T* x, T* y) {
    xnn_operator_t op = nullptr;
    return keep(Op::conv(layer, padded, &op), op) &&
           Op::setup_conv(op, height, width, x, y) == xnn_status_success;
  }
  bool dense(const ConvLayer& layer, std::size_t rows, const T* x, T* y) {
    xnn_operator_t op = nullptr;
    return keep(Op::dense(layer, &op), op) && Op::setup_dense(op, rows, x, y) == xnn_status_success;
  }
  bool add_relu(std::size_t count, const T* a, const T* b, T* y) {
    xnn_operator_t op = nullptr;
    return keep(Op::add_relu(&op), op) && Op::setup_add(op, count, a, b, y) == xnn_status_success;
  }

  std::vector<xnn_operator_t> operators_;
  std::vector<std::unique_ptr<Cache>> caches_;
  Cache *input_ = nullptr, *output_ = nullptr;
};

template <class T, class... Args>
std::unique_ptr<XnnpackNetwork> make(Args&&... args) {
  if (xnn_initialize(nullptr) != xnn_status_success) return nullptr;
  auto network = std::make_unique<Network<T>>();
  if (!network->build(std::forward<Args>(args)...)) return nullptr;
  return network;
}

}  // namespace

std::unique_ptr<XnnpackNetwork> xnnpack_m1(const M1& network, XnnpackType type, int frames, bool streamed) {
  return type == XnnpackType::qs8 ? make<std::int8_t>(network, frames, streamed)
                                  : make<float>(network, frames, streamed);
}

std::unique_ptr<XnnpackNetwork> xnnpack_m2(const M2& network, XnnpackType type) {
  return type == XnnpackType::qs8 ? make<std::int8_t>(network) : make<float>(network);
}

}  // namespace runnel::bench
