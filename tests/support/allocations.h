// How often the threads of a test program ask for memory: C++ (operator new) and, where the C library lets a
// program put its own functions in front, C (malloc and its kin). For programs of their own, which name
// allocations.cpp among their sources: it replaces the allocator, as sanitizers do.
#pragma once

#include <atomic>
#include <cstddef>

namespace runnel::test {

// Of the calling thread since its start. Other threads may read it as long as this one lives.
const std::atomic<std::size_t>& allocations_of_this_thread() noexcept;

// Fails the test when allocations are not seen.
void expect_that_allocations_are_counted();

}  // namespace runnel::test
