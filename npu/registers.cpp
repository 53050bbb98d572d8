#include "npu/registers.h"

#include <span>

namespace runnel::npu {
namespace {

enum Where : std::uint8_t { everywhere, not_on_u85, only_on_u85 };
struct Name {
  std::uint16_t code;
  std::string_view name;
  Where where = everywhere;
};

constexpr Name kShort[] = {
    {0x100, "IFM_PAD_TOP"},
    {0x101, "IFM_PAD_LEFT"},
    {0x102, "IFM_PAD_RIGHT"},
    {0x103, "IFM_PAD_BOTTOM"},
    {0x104, "IFM_DEPTH_M1"},
    {0x105, "IFM_PRECISION"},
    {0x107, "IFM_UPSCALE"},
    {0x108, "IFM_BROADCAST", only_on_u85},
    {0x109, "IFM_ZERO_POINT"},
    {0x10a, "IFM_WIDTH0_M1"},
    {0x10b, "IFM_HEIGHT0_M1"},
    {0x10c, "IFM_HEIGHT1_M1"},
    {0x10d, "IFM_IB_END", not_on_u85},
    {0x10f, "IFM_REGION"},
    {0x111, "OFM_WIDTH_M1"},
    {0x112, "OFM_HEIGHT_M1"},
    {0x113, "OFM_DEPTH_M1"},
    {0x114, "OFM_PRECISION"},
    {0x115, "OFM_BLK_WIDTH_M1"},
    {0x116, "OFM_BLK_HEIGHT_M1"},
    {0x117, "OFM_BLK_DEPTH_M1"},
    {0x118, "OFM_ZERO_POINT"},
    {0x11a, "OFM_WIDTH0_M1"},
    {0x11b, "OFM_HEIGHT0_M1"},
    {0x11c, "OFM_HEIGHT1_M1"},
    {0x11f, "OFM_REGION"},
    {0x120, "KERNEL_WIDTH_M1"},
    {0x121, "KERNEL_HEIGHT_M1"},
    {0x122, "KERNEL_STRIDE"},
    {0x123, "PARALLEL_MODE", not_on_u85},
    {0x124, "ACC_FORMAT"},
    {0x125, "ACTIVATION"},
    {0x126, "ACTIVATION_MIN"},
    {0x127, "ACTIVATION_MAX"},
    {0x128, "WEIGHT_REGION"},
    {0x129, "SCALE_REGION"},
    {0x12a, "RESIZE_X_SCALE_N_M1", only_on_u85},
    {0x12b, "RESIZE_Y_SCALE_N_M1", only_on_u85},
    {0x12c, "RESIZE_X_OFFSET", only_on_u85},
    {0x12d, "AB_START", not_on_u85},
    {0x12d, "RESIZE_Y_OFFSET", only_on_u85},
    {0x12e, "WEIGHT_FORMAT", only_on_u85},
    {0x12f, "BLOCKDEP"},
    {0x130, "DMA0_SRC_REGION"},
    {0x131, "DMA0_DST_REGION"},
    {0x132, "DMA0_SIZE0"},
    {0x133, "DMA0_SIZE1"},
    {0x134, "DMA0_IDX_REGION", only_on_u85},
    {0x180, "IFM2_BROADCAST"},
    {0x181, "IFM2_SCALAR", not_on_u85},
    {0x185, "IFM2_PRECISION"},
    {0x189, "IFM2_ZERO_POINT"},
    {0x18a, "IFM2_WIDTH0_M1"},
    {0x18b, "IFM2_HEIGHT0_M1"},
    {0x18c, "IFM2_HEIGHT1_M1"},
    {0x18d, "IFM2_IB_START", not_on_u85},
    {0x18f, "IFM2_REGION"},
};

constexpr Name kLong[] = {
    {0x000, "IFM_BASE0"},
    {0x001, "IFM_BASE1"},
    {0x002, "IFM_BASE2"},
    {0x003, "IFM_BASE3"},
    {0x004, "IFM_STRIDE_X"},
    {0x005, "IFM_STRIDE_Y"},
    {0x006, "IFM_STRIDE_C"},
    {0x010, "OFM_BASE0"},
    {0x011, "OFM_BASE1"},
    {0x012, "OFM_BASE2"},
    {0x013, "OFM_BASE3"},
    {0x014, "OFM_STRIDE_X"},
    {0x015, "OFM_STRIDE_Y"},
    {0x016, "OFM_STRIDE_C"},
    {0x020, "WEIGHT_BASE"},
    {0x021, "WEIGHT_LENGTH"},
    {0x022, "SCALE_BASE"},
    {0x023, "SCALE_LENGTH"},
    {0x024, "OFM_SCALE"},
    {0x025, "OPA_SCALE", not_on_u85},
    {0x026, "OPB_SCALE", not_on_u85},
    {0x025, "IFM_SCALE", only_on_u85},
    {0x026, "IFM2_SCALE", only_on_u85},
    {0x027, "OP_SCALAR", only_on_u85},
    {0x030, "DMA0_SRC"},
    {0x031, "DMA0_DST"},
    {0x032, "DMA0_LEN"},
    {0x033, "DMA0_SKIP0", not_on_u85},
    {0x034, "DMA0_SKIP1", not_on_u85},
    {0x033, "DMA0_SRC_STRIDE0", only_on_u85},
    {0x034, "DMA0_SRC_STRIDE1", only_on_u85},
    {0x035, "DMA0_DST_STRIDE0", only_on_u85},
    {0x036, "DMA0_DST_STRIDE1", only_on_u85},
    {0x037, "DMA0_IDX", only_on_u85},
    {0x038, "DMA0_IDX_MAX", only_on_u85},
    {0x039, "DMA0_IDX_SKIP1", only_on_u85},
    {0x080, "IFM2_BASE0"},
    {0x081, "IFM2_BASE1"},
    {0x082, "IFM2_BASE2"},
    {0x083, "IFM2_BASE3"},
    {0x084, "IFM2_STRIDE_X"},
    {0x085, "IFM2_STRIDE_Y"},
    {0x086, "IFM2_STRIDE_C"},
    {0x090, "WEIGHT1_BASE"},
    {0x091, "WEIGHT1_LENGTH"},
    {0x092, "SCALE1_BASE", not_on_u85},
    {0x093, "SCALE1_LENGTH", not_on_u85},
    {0x092, "WEIGHT2_BASE", only_on_u85},
    {0x093, "WEIGHT2_LENGTH", only_on_u85},
    {0x094, "WEIGHT3_BASE", only_on_u85},
    {0x095, "WEIGHT3_LENGTH", only_on_u85},
    {0x096, "RESIZE_X", only_on_u85},
    {0x097, "RESIZE_Y", only_on_u85},
    {0x100, "OP_BRANCH", only_on_u85},
};

constexpr Name kOperations[] = {
    {0x000, "STOP"},
    {0x001, "IRQ"},
    {0x002, "CONV"},
    {0x003, "DEPTHWISE"},
    {0x005, "POOL"},
    {0x006, "ELEMENTWISE"},
    {0x007, "RESIZE", only_on_u85},
    {0x010, "DMA_START"},
    {0x011, "DMA_WAIT"},
    {0x012, "KERNEL_WAIT"},
    {0x013, "PMU_MASK"},
};

std::string_view find(std::span<const Name> names, Product product, std::uint16_t code) noexcept {
  for (const Name& name : names) {
    const bool here = name.where == everywhere || (name.where == only_on_u85) == (product == Product::u85);
    if (name.code == code && here) return name.name;
  }
  return {};
}

}  // namespace

std::string_view short_name(Product product, std::uint16_t code) noexcept {
  return find(kShort, product, code);
}
std::string_view long_name(Product product, std::uint16_t code) noexcept {
  return find(kLong, product, code);
}
std::string_view operation_name(Product product, std::uint16_t code) noexcept {
  return find(kOperations, product, code);
}

}  // namespace runnel::npu
