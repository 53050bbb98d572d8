// The recording digits/stitched_90s.wav of the test data has 44 digits. Tests that compare ways of hearing
// them want at least so many events, so that there is something to compare; how many are right is the matter
// of apps_accuracy_tests alone.
#pragma once

namespace runnel::test {

inline constexpr int kStitchedEvents = 30;

}  // namespace runnel::test
