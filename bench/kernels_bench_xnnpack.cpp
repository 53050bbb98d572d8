// XNNPACK's signed int8 operators on the same shapes: created and set up once, then run repeatedly.
#include <xnnpack.h>

#include <cstdint>
#include <vector>

namespace runnel::bench {

bool xnnpack(int channels, int taps, int frames, bool depthwise,
             double (*time)(void (*call)(void*), void* data, void* state), void* state, double& seconds) {
  if (xnn_initialize(nullptr) != xnn_status_success) return false;
  const auto c = static_cast<std::size_t>(channels);
  const auto n = static_cast<std::size_t>(frames);
  const std::vector<std::int8_t> weights(c * static_cast<std::size_t>(taps) * (depthwise ? 1 : c),
                                         std::int8_t{3});
  const std::vector<std::int32_t> bias(c, 100);
  const std::vector<std::int8_t> x((n + static_cast<std::size_t>(taps)) * c + 64, std::int8_t{5});
  std::vector<std::int8_t> y(n * c + 64);
  xnn_operator_t op = nullptr;
  xnn_status status = xnn_status_success;
  if (depthwise) {
    status = xnn_create_convolution2d_nhwc_qs8(
        0, 0, 0, 0, 1, static_cast<std::uint32_t>(taps), 1, 1, 1, 1, static_cast<std::uint32_t>(channels), 1,
        1, c, c, 0, 0.5f, 0.5f, weights.data(), bias.data(), 0, 128.0f, -128, 127, 0, &op);
    if (status != xnn_status_success) return false;
    status = xnn_setup_convolution2d_nhwc_qs8(op, 1, 1, n + static_cast<std::size_t>(taps) - 1, x.data(),
                                              y.data(), nullptr);
  } else {
    status = xnn_create_fully_connected_nc_qs8(c, c, c, c, 0, 0.5f, 0.5f, weights.data(), bias.data(), 0,
                                               128.0f, -128, 127, 0, &op);
    if (status != xnn_status_success) return false;
    status = xnn_setup_fully_connected_nc_qs8(op, n, x.data(), y.data(), nullptr);
  }
  if (status == xnn_status_success) {
    seconds =
        time([](void* data) { xnn_run_operator(static_cast<xnn_operator_t>(data), nullptr); }, op, state);
  }
  xnn_delete_operator(op);
  return status == xnn_status_success;
}

}  // namespace runnel::bench
