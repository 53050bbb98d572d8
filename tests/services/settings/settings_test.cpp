#include "services/settings/settings.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "tests/support/data.h"

namespace runnel::settings {
namespace {

std::string refusal(std::string_view text) {
  const auto settings = parse_settings(text);
  EXPECT_FALSE(settings.ok());
  return std::string(settings.status().text());
}

TEST(Settings, ReadsSectionsAndAllKindsOfValues) {
  const auto settings = parse_settings(
      "# mine\n"
      "model = \"digits\"   # the default\r\n"
      "\n"
      "[listen]\n"
      "device = 'plughw:1,0'\n"
      "threads=2\n"
      "tail = 0.5\n"
      "rate = 48_000\n"
      "no-json = true\n"
      "send = [\"tcp:a:1\", \"say \\\"x\\\"\", ]\n"
      "[npu.compile]\n"
      "block = -1");
  ASSERT_TRUE(settings.ok()) << settings.status().text();
  ASSERT_EQ(settings->size(), 8U);
  const auto expect = [&](std::size_t i, const char* section, const char* key,
                          const std::vector<std::string>& values, int line) {
    EXPECT_EQ((*settings)[i].section, section);
    EXPECT_EQ((*settings)[i].key, key);
    EXPECT_EQ((*settings)[i].values, values);
    EXPECT_EQ((*settings)[i].line, line);
  };
  expect(0, "", "model", {"digits"}, 2);
  expect(1, "listen", "device", {"plughw:1,0"}, 5);
  expect(2, "listen", "threads", {"2"}, 6);
  expect(3, "listen", "tail", {"0.5"}, 7);
  expect(4, "listen", "rate", {"48000"}, 8);
  expect(5, "listen", "no-json", {"true"}, 9);
  expect(6, "listen", "send", {"tcp:a:1", "say \"x\""}, 10);
  expect(7, "npu.compile", "block", {"-1"}, 12);
}

TEST(Settings, NamesTheLineAndWhatIsWrongWithIt) {
  EXPECT_EQ(refusal("a\n"), "line 1: expected OPTION = VALUE, found the end of the line");
  EXPECT_EQ(refusal("\n[listen\n"), "line 2: expected [VERB], found the end of the line");
  EXPECT_EQ(refusal("[listen] x"), "line 1: expected the end of the line, found \"x\"");
  EXPECT_EQ(
      refusal("a = plughw"),
      "line 1: expected a text in quotes, a number, true, false or an array of these, found \"plughw\"");
  EXPECT_EQ(refusal("a = \"x"), "line 1: expected a closing \", found the end of the line");
  EXPECT_EQ(refusal("a = 'x"), "line 1: expected a closing ', found \"x\"");
  EXPECT_EQ(refusal("a = \"\\q\""), "line 1: expected \\\\, \\\", \\n or \\t, found \"q\"\"");
  EXPECT_EQ(refusal("a = [1 2]"), "line 1: expected ',' or ']', found \"2]\"");
  EXPECT_EQ(refusal("a = 1 2"), "line 1: expected the end of the line, found \"2\"");
  EXPECT_EQ(refusal("a = 1\n[b]\na = 1\na = 2\n"), "line 4: a is there already in line 3");
}

TEST(Settings, AnEmptyFileIsGood) {
  EXPECT_TRUE(parse_settings("")->empty());
  EXPECT_TRUE(parse_settings("# nothing\n\n")->empty());
}

TEST(Settings, TheEnvironmentNamesTheFileAndVariables) {
  const runnel::test::TemporaryFolder folder;
  const std::string file = folder.path() / "mine.toml";
  std::ofstream(file) << "[listen]\nx\n";
  setenv("RUNNEL_CONFIG", file.c_str(), 1);
  EXPECT_EQ(settings_path(), file);
  EXPECT_EQ(read_settings().status().text(),
            file + ": line 2: expected OPTION = VALUE, found the end of the line");
  setenv("RUNNEL_CONFIG", "", 1);
  EXPECT_EQ(settings_path(), "");
  EXPECT_TRUE(read_settings()->empty());
  setenv("RUNNEL_CONFIG", (file + ".not").c_str(), 1);
  EXPECT_FALSE(read_settings().ok());
  unsetenv("RUNNEL_CONFIG");
  setenv("XDG_CONFIG_HOME", folder.path().c_str(), 1);
  EXPECT_EQ(settings_path(), folder.path() / "runnel" / "config.toml");
  EXPECT_TRUE(read_settings()->empty());
  unsetenv("XDG_CONFIG_HOME");
  setenv("RUNNEL_CONFIG", "", 1);
  EXPECT_EQ(variable_of("listen", "no-json"), "RUNNEL_LISTEN_NO_JSON");
  EXPECT_EQ(variable_of("npu.compile", "block"), "RUNNEL_NPU_COMPILE_BLOCK");
  EXPECT_EQ(variable_of("", "model"), "RUNNEL_MODEL");
}

}  // namespace
}  // namespace runnel::settings
