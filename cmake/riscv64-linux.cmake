# Toolchain file for 64-bit RISC-V with Linux (Debian: g++-riscv64-linux-gnu), for the preset `riscv64`:
#
#   scripts/riscv64_sysroot.sh && cmake --preset riscv64 && cmake --build --preset riscv64
#
# RUNNEL_SYSROOT has the libraries, which are of a later Debian than the compiler. What the build runs, and the tests, run in
# qemu-riscv64.
set(RUNNEL_SYSROOT "${CMAKE_CURRENT_LIST_DIR}/../build-riscv64-sysroot" CACHE PATH "Libraries for 64-bit RISC-V (scripts/riscv64_sysroot.sh)")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES RUNNEL_SYSROOT)
get_filename_component(sysroot "${RUNNEL_SYSROOT}" ABSOLUTE)
if(NOT EXISTS "${sysroot}/.complete")
  message(FATAL_ERROR "RUNNEL_SYSROOT=${sysroot} has no libraries for 64-bit RISC-V: scripts/riscv64_sysroot.sh makes it")
endif()

set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR riscv64)
set(CMAKE_C_COMPILER riscv64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER riscv64-linux-gnu-g++)
set(CMAKE_SYSROOT "${sysroot}")
set(CMAKE_LIBRARY_ARCHITECTURE riscv64-linux-gnu)
# libstdc++ of the libraries' own compiler, which is in the sysroot, before this compiler's.
foreach(kind EXE SHARED MODULE)
  set(CMAKE_${kind}_LINKER_FLAGS_INIT "-L${sysroot}/usr/lib/riscv64-linux-gnu")
endforeach()
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_SYSROOT_DIR} "${sysroot}")
set(ENV{PKG_CONFIG_LIBDIR} "${sysroot}/usr/lib/riscv64-linux-gnu/pkgconfig:${sysroot}/usr/share/pkgconfig")
set(CMAKE_CROSSCOMPILING_EMULATOR "qemu-riscv64;-L;${sysroot}")
foreach(package MBEDTLS ONNX HTTPLIB CURL MQTT PYTHON)
  set(RUNNEL_${package} OFF CACHE STRING "Not among the libraries (scripts/riscv64_sysroot.sh)")
endforeach()
