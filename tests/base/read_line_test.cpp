#include "base/host/read_line.h"

#include <gtest/gtest.h>

#include <sstream>
#include <vector>

namespace runnel::test {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> lines;
  std::string line;
  for (auto more = read_line(in, line); more.ok() && *more; more = read_line(in, line)) lines.push_back(line);
  return lines;
}

// As std::getline does.
TEST(ReadLine, GivesEveryLineOnce) {
  const std::string zero("a\0b", 3);
  EXPECT_EQ(lines_of(""), std::vector<std::string>());
  EXPECT_EQ(lines_of("\n"), std::vector<std::string>({""}));
  EXPECT_EQ(lines_of("a\n\nb"), std::vector<std::string>({"a", "", "b"}));
  EXPECT_EQ(lines_of(zero + "\nc\r\n"), std::vector<std::string>({zero, "c\r"}));
  // Around the size of the read buffer.
  for (std::size_t bytes = 4090; bytes < 4100; ++bytes) {
    for (const std::size_t times : {1, 2, 3}) {
      const std::string line(bytes * times, 'x');
      EXPECT_EQ(lines_of(line), std::vector<std::string>({line})) << line.size();
      EXPECT_EQ(lines_of(line + "\n" + line + "\n"), std::vector<std::string>({line, line})) << line.size();
    }
  }
}

TEST(ReadLine, RefusesWhatHasNoEnd) {
  std::string line;
  std::istringstream longest(std::string(kLongestLine, 'x') + "\ny"),
      longer(std::string(kLongestLine + 1, 'x') + "\ny");
  EXPECT_TRUE(read_line(longest, line).ok());
  EXPECT_EQ(line.size(), kLongestLine);
  const auto refused = read_line(longer, line);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().text(), "more than 1048576 bytes without a line end");
}

}  // namespace
}  // namespace runnel::test
