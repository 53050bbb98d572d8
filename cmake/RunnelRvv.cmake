# Kernels for RISC-V's vectors (V 1.0): which compiler takes them, and how their files are compiled.
#
# Only these files use vector instructions; best_isa() decides at run time whether to call them. The program's own compiler compiles them
# if it knows the intrinsics (GCC 14, Clang 16). Debian 12's GCC does not: then Clang compiles these files, with the headers of that GCC,
# and everything else stays as it is. They are plain C++ with intrinsics and have no weak functions, so that two compilers do not meet
# anywhere but in calls (tests/kernels/no_shared_symbols.cmake).

set(RUNNEL_HAVE_RVV OFF)
set(RUNNEL_RVV_FLAGS -march=rv64gcv)
if(NOT CMAKE_SYSTEM_PROCESSOR STREQUAL "riscv64" OR NOT CMAKE_SYSTEM_NAME STREQUAL "Linux" OR NOT RUNNEL_HOST)
  if(RUNNEL_RVV STREQUAL "ON")
    message(FATAL_ERROR "RUNNEL_RVV=ON is for host builds on 64-bit RISC-V with Linux, found ${CMAKE_SYSTEM_PROCESSOR} with ${CMAKE_SYSTEM_NAME}. "
                        "Use RUNNEL_RVV=AUTO")
  endif()
  return()
endif()
if(RUNNEL_RVV STREQUAL "OFF" OR NOT RUNNEL_VECTOR_KERNELS)
  return()
endif()

set(rvv_probe [==[
#include <riscv_vector.h>
#if !defined(__riscv_v_intrinsic) || __riscv_v_intrinsic < 11000
#error
#endif
vint32m8_t f(vint32m8_t a, vint16m4_t b, size_t vl) { return __riscv_vwmacc_vx_i32m8(a, 1, b, vl); }
]==])
include(CheckCXXSourceCompiles)
set(CMAKE_REQUIRED_FLAGS ${RUNNEL_RVV_FLAGS})
check_cxx_source_compiles("${rvv_probe}int main() {}" RUNNEL_COMPILER_KNOWS_RVV)
unset(CMAKE_REQUIRED_FLAGS)
if(RUNNEL_COMPILER_KNOWS_RVV)
  set(RUNNEL_HAVE_RVV ON)
  return()
endif()

find_program(RUNNEL_RVV_COMPILER NAMES clang++-16 clang++-19 clang++-18 clang++-17 clang++
             DOC "Clang 16 or later, for the files with RISC-V's vectors where the compiler does not know them")
if(RUNNEL_RVV_COMPILER)
  # The standard library's headers of the other compiler, without its intrinsics.
  set(RUNNEL_RVV_OTHER_FLAGS --target=riscv64-linux-gnu -mabi=lp64d -nostdlibinc)
  if(CMAKE_SYSROOT)
    list(APPEND RUNNEL_RVV_OTHER_FLAGS --sysroot=${CMAKE_SYSROOT})
  endif()
  foreach(folder IN LISTS CMAKE_CXX_IMPLICIT_INCLUDE_DIRECTORIES)
    if(NOT folder MATCHES "/gcc(-cross)?/[^/]*/[^/]*/include")
      list(APPEND RUNNEL_RVV_OTHER_FLAGS -isystem ${folder})
    endif()
  endforeach()
  set(probe_file ${CMAKE_BINARY_DIR}/CMakeFiles/rvv_probe.cpp)
  file(WRITE ${probe_file} "#include <algorithm>\n#include <cstdint>\n${rvv_probe}")
  execute_process(COMMAND ${RUNNEL_RVV_COMPILER} ${RUNNEL_RVV_OTHER_FLAGS} ${RUNNEL_RVV_FLAGS} -std=c++20 -c ${probe_file} -o ${probe_file}.o
                  RESULT_VARIABLE failed OUTPUT_QUIET ERROR_VARIABLE rvv_said)
  if(failed EQUAL 0)
    set(RUNNEL_HAVE_RVV ON)
    return()
  endif()
  file(WRITE ${probe_file}.log "${rvv_said}")
endif()
if(RUNNEL_RVV STREQUAL "ON")
  message(FATAL_ERROR "RUNNEL_RVV=ON, but neither ${CMAKE_CXX_COMPILER} nor RUNNEL_RVV_COMPILER (${RUNNEL_RVV_COMPILER}) compiles the "
                      "intrinsics of RISC-V's vectors. Install Clang 16 or later (Debian: clang-16), or use RUNNEL_RVV=OFF.")
endif()
