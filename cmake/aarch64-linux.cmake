# Toolchain file for 64-bit Arm with Linux (Debian: g++-aarch64-linux-gnu), for the preset `aarch64`:
#
#   scripts/arm64_sysroot.sh && cmake --preset aarch64 && cmake --build --preset aarch64
#
# RUNNEL_SYSROOT has the libraries. What the build runs, and the tests, run in qemu-aarch64 as RUNNEL_QEMU_CPU.
set(RUNNEL_SYSROOT "${CMAKE_CURRENT_LIST_DIR}/../build-aarch64-sysroot" CACHE PATH "Libraries for 64-bit Arm (scripts/arm64_sysroot.sh)")
set(RUNNEL_QEMU_CPU max CACHE STRING "Processor that qemu-aarch64 plays: cortex-a53, cortex-a72, cortex-a76 or max")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES RUNNEL_SYSROOT RUNNEL_QEMU_CPU)
get_filename_component(sysroot "${RUNNEL_SYSROOT}" ABSOLUTE)
if(NOT EXISTS "${sysroot}/.complete")
  message(FATAL_ERROR "RUNNEL_SYSROOT=${sysroot} has no libraries for 64-bit Arm: scripts/arm64_sysroot.sh makes it")
endif()

set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_SYSROOT "${sysroot}")
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_SYSROOT_DIR} "${sysroot}")
set(ENV{PKG_CONFIG_LIBDIR} "${sysroot}/usr/lib/aarch64-linux-gnu/pkgconfig:${sysroot}/usr/share/pkgconfig")
set(CMAKE_CROSSCOMPILING_EMULATOR "qemu-aarch64;-cpu;${RUNNEL_QEMU_CPU};-L;${sysroot}")
