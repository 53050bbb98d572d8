// Requirements of every failure.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>

#include "base/status.h"

namespace runnel::test {

// Counts failures, each with one line of text.
inline bool failed_with_a_sentence(const Status& status) {
  if (status.ok()) return false;
  EXPECT_FALSE(status.text().empty()) << "a failure (" << name_of(status.code()) << ") without text";
  EXPECT_EQ(status.text().find('\n'), std::string_view::npos)
      << "a failure of several lines: " << status.text();
  return true;
}

}  // namespace runnel::test
