# Toolchain file for RISC-V without an operating system (Debian: gcc-riscv64-unknown-elf, picolibc-riscv64-unknown-elf,
# libstdc++-arm-none-eabi-newlib):
#
#   cmake -S . -B build-rv32 -G Ninja -D CMAKE_TOOLCHAIN_FILE=cmake/riscv-none-elf.cmake -D RUNNEL_BOARD=virt-rv32imafc
#
# RUNNEL_BOARD is QEMU's machine `virt` with one of three processors; it selects the instructions.
# Debian's compiler for RISC-V has no C++ headers. Those of its newlib library for Arm have no code of Arm's in what device libraries
# include; nothing of that library is linked.
set(RUNNEL_BOARD virt-rv32imafc CACHE STRING "virt-rv32imac (as ESP32-C6), virt-rv32imafc (as ESP32-P4) or virt-rv64gc")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES RUNNEL_BOARD)

if(RUNNEL_BOARD STREQUAL "virt-rv32imac")
  set(cpu "-march=rv32imac -misa-spec=2.2 -mabi=ilp32")
elseif(RUNNEL_BOARD STREQUAL "virt-rv32imafc")
  set(cpu "-march=rv32imafc -misa-spec=2.2 -mabi=ilp32f")
elseif(RUNNEL_BOARD STREQUAL "virt-rv64gc")
  set(cpu "-march=rv64imafdc -misa-spec=2.2 -mabi=lp64d -mcmodel=medany")
else()
  message(FATAL_ERROR "RUNNEL_BOARD=${RUNNEL_BOARD}: expected virt-rv32imac, virt-rv32imafc or virt-rv64gc")
endif()

file(GLOB headers /usr/include/newlib/c++/*)
if(NOT headers)
  message(FATAL_ERROR "The C++ headers of newlib are missing: Debian's libstdc++-arm-none-eabi-newlib (scripts/install.sh firmware)")
endif()
list(GET headers -1 headers)

set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR riscv)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
set(CMAKE_C_COMPILER riscv64-unknown-elf-gcc)
set(CMAKE_CXX_COMPILER riscv64-unknown-elf-g++)
set(CMAKE_C_FLAGS_INIT "${cpu} -mstrict-align -msmall-data-limit=0 --specs=picolibc.specs -ffunction-sections -fdata-sections")
set(CMAKE_CXX_FLAGS_INIT "${cpu} -mstrict-align -msmall-data-limit=0 --specs=picolibc.specs -isystem ${headers} -isystem ${headers}/arm-none-eabi -ffunction-sections -fdata-sections -fno-use-cxa-atexit -fno-asynchronous-unwind-tables")
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG" CACHE STRING "")
# Behind all libraries of the project, because -nostdlib (there is no libstdc++) leaves them out.
set(CMAKE_CXX_STANDARD_LIBRARIES_INIT "-lc -lm -lgcc")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(RUNNEL_HOST OFF CACHE BOOL "")
set(RUNNEL_DEVICE_FLAGS ON CACHE BOOL "")
set(RUNNEL_FIRMWARE ON CACHE BOOL "")
