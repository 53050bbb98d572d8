// Modules for late_library_test.cpp: one of this build, one of another, one without the constant.
#include "base/host/late_library.h"

namespace {
[[maybe_unused]] int twice(int value) { return 2 * value; }
}  // namespace

#if defined(RUNNEL_TEST_MODULE)
RUNNEL_MODULE(twice)
#elif defined(RUNNEL_TEST_ANOTHER_BUILD)
extern "C" {
extern const runnel::Module<int(int)> runnel_module;
const runnel::Module<int(int)> runnel_module{{"runnel of yesterday"}, twice};
}
#endif
