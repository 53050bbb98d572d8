// System files: the sections of vela.ini, and sentences for what is none.
#include "npu/host/cycles/system_file.h"

#include <gtest/gtest.h>

namespace runnel::test {
namespace {

constexpr const char* kBoard = R"(; a board
[System_Config.board]
core_clock=400e6
axi0_port=Sram
axi1_port=OffChipFlash
Sram_clock_scale=1.0
Sram_burst_length = 32
Sram_read_latency = 16   # cycles
OffChipFlash_clock_scale = 0.125
OffChipFlash_burst_length = 128
OffChipFlash_read_latency = 64
OffChipFlash_max_reads = 2
OffChipFlash_max_writes = 0

[Memory_Mode.flash]
const_mem_area = Axi1
arena_mem_area = Axi0
cache_mem_area = Axi0

[Memory_Mode.both]
inherit = Memory_Mode.flash
arena_mem_area = Axi1
arena_cache_size = 65536
)";

TEST(SystemFile, ReadsConfigurationsAndModes) {
  npu::SystemFile file;
  const Status status = file.read(kBoard);
  ASSERT_TRUE(status.ok()) << status.text();
  const auto system = file.find_system("");
  ASSERT_TRUE(system.ok()) << system.status().text();
  EXPECT_EQ((*system)->name, "board");
  EXPECT_EQ((*system)->clock, 400e6);
  EXPECT_EQ((*system)->second, npu::MemoryArea::off_chip_flash);
  EXPECT_EQ((*system)->sram.write_latency, 16);
  EXPECT_EQ((*system)->sram.ports, 1);
  EXPECT_EQ((*system)->other.clock_scale, 0.125);
  EXPECT_EQ((*system)->other.burst, 128);
  EXPECT_EQ((*system)->other.writes, 0);
  EXPECT_EQ(*file.find_system("board"), *system);
  const npu::MemoryMode* const flash = file.find_mode("flash");
  ASSERT_NE(flash, nullptr);
  EXPECT_TRUE(flash->constants_outside);
  EXPECT_FALSE(flash->arena_outside);
  const npu::MemoryMode* const both = file.find_mode("both");
  ASSERT_NE(both, nullptr);
  EXPECT_TRUE(both->constants_outside && both->arena_outside);
  EXPECT_EQ(both->cache, 65536);
  EXPECT_EQ(file.find_mode("Sram_Only"), nullptr);
}

TEST(SystemFile, SaysWhatIsWrong) {
  const std::pair<const char*, const char*> cases[] = {
      {"x = 1", "line 1: \"x = 1\", expected [SECTION]"},
      {"[System_Config.a\n", "line 1: a section without ]"},
      {"[Board]\n", "line 1: section \"Board\", expected System_Config.NAME or Memory_Mode.NAME"},
      {"[Memory_Mode.a]\n[Memory_Mode.a]\n", "line 2: section \"Memory_Mode.a\" for the second time"},
      {"[Memory_Mode.a]\nx\n", "line 2: \"x\", expected NAME = VALUE"},
      {"[Memory_Mode.a]\nx=1\nx=2\n", "line 3: \"x\" for the second time"},
      {"[Memory_Mode.a]\n", "line 1: the section has no const_mem_area"},
      {"[Memory_Mode.a]\ninherit=Memory_Mode.b\n",
       "line 2: inherits from \"Memory_Mode.b\", expected an earlier section"},
      {"[Memory_Mode.a]\nconst_mem_area=Sram\n", "line 1: const_mem_area is \"Sram\", expected Axi0 or Axi1"},
      {"[Memory_Mode.a]\nconst_mem_area=Axi1\narena_mem_area=Axi1\ncache_mem_area=Axi0\n",
       "line 1: the section has no cache_size"},
      {"[Memory_Mode.a]\nconst_mem_area=Axi1\narena_mem_area=Axi0\ncache_mem_area=Axi0\nspeed=1\n",
       "line 5: unknown or unneeded setting \"speed\""},
      {"[System_Config.a]\ncore_clock=fast\n",
       "line 2: core_clock is \"fast\", expected 1000 to 100000000000"},
      {"[System_Config.a]\ncore_clock=1e9\naxi0_port=Dram\n", "line 1: axi0_port is \"Dram\", expected Sram"},
  };
  for (const auto& [text, sentence] : cases) {
    npu::SystemFile file;
    EXPECT_EQ(file.read(text).text(), sentence);
  }
  npu::SystemFile none, two;
  ASSERT_TRUE(none.read("").ok());
  EXPECT_EQ(none.find_system("").status().text(), "the file has no section [System_Config.NAME]");
  const std::string board = kBoard;
  ASSERT_TRUE(two.read(board + std::string("[System_Config.other]\ninherit=System_Config.board\n")).ok());
  EXPECT_EQ(two.find_system("").status().text(),
            "the file has several system configurations, expected FILE:NAME with one of board other");
  EXPECT_TRUE(two.find_system("other").ok());
  EXPECT_EQ(two.find_system("third").status().text(),
            "no system configuration of that name, expected one of board other");
}

}  // namespace
}  // namespace runnel::test
