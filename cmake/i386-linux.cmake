# Toolchain file for 32-bit x86 with Linux and Clang, for the preset `fuzz32`: device libraries have pointers and sizes of 32 bits
# there, as on microcontrollers, and libFuzzer and AddressSanitizer run.
#
#   scripts/i386_sysroot.sh && cmake --preset fuzz32 && cmake --build --preset fuzz32
set(RUNNEL_SYSROOT "${CMAKE_CURRENT_LIST_DIR}/../build-i386-sysroot" CACHE PATH "Libraries for 32-bit x86 (scripts/i386_sysroot.sh)")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES RUNNEL_SYSROOT)
get_filename_component(sysroot "${RUNNEL_SYSROOT}" ABSOLUTE)
if(NOT EXISTS "${sysroot}/.complete")
  message(FATAL_ERROR "RUNNEL_SYSROOT=${sysroot} has no libraries for 32-bit x86: scripts/i386_sysroot.sh makes it")
endif()

set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR i686)
set(CMAKE_CXX_COMPILER clang++-14)
set(CMAKE_CXX_COMPILER_TARGET i686-linux-gnu)
set(CMAKE_SYSROOT "${sysroot}")
set(CMAKE_LIBRARY_ARCHITECTURE i386-linux-gnu)
# Floats as on every other machine: not with the 80 bits of the old unit.
set(CMAKE_CXX_FLAGS_INIT "--gcc-toolchain=${sysroot}/usr -msse2 -mfpmath=sse")
# Programs run with the libraries that they were linked with.
set(CMAKE_EXE_LINKER_FLAGS_INIT "-Wl,--dynamic-linker=${sysroot}/lib/ld-linux.so.2 -Wl,-rpath,${sysroot}/lib/i386-linux-gnu:${sysroot}/usr/lib/i386-linux-gnu")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
