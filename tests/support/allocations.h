// Counts the allocations of a test program's threads: C++ (operator new) and, where the C library lets a
// program replace them, C (malloc and related functions). For separate programs with allocations.cpp among
// their sources: it replaces the allocator, but under sanitizers.
#pragma once

#include <atomic>
#include <cstddef>

namespace runnel::test {

// Count of the calling thread since its start. Other threads may read it as long as this one lives.
const std::atomic<std::size_t>& allocations_of_this_thread() noexcept;

// False under sanitizers.
bool allocations_are_counted() noexcept;

// Fails the test when allocations are not counted. Under sanitizers they are not, and it does nothing.
void expect_that_allocations_are_counted();

}  // namespace runnel::test
