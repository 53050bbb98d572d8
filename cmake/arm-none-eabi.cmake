# Toolchain file for Arm Cortex-M without an operating system (Debian: gcc-arm-none-eabi, libstdc++-arm-none-eabi-newlib):
#
#   cmake -S . -B build-m4 -G Ninja -D CMAKE_TOOLCHAIN_FILE=cmake/arm-none-eabi.cmake -D RUNNEL_BOARD=mps2-an386
#
# RUNNEL_BOARD is one of Arm's boards in QEMU; it selects the processor and the linker script of firmware/.
set(RUNNEL_BOARD mps2-an386 CACHE STRING "mps2-an385 (Cortex-M3), mps2-an386 (M4F), mps2-an500 (M7F), mps2-an521 (two M33) or mps3-an547 (M55)")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES RUNNEL_BOARD)

if(RUNNEL_BOARD STREQUAL "mps2-an385")
  set(cpu "-mcpu=cortex-m3")
elseif(RUNNEL_BOARD STREQUAL "mps2-an386")
  set(cpu "-mcpu=cortex-m4 -mfloat-abi=hard -mfpu=fpv4-sp-d16")
elseif(RUNNEL_BOARD STREQUAL "mps2-an500")
  set(cpu "-mcpu=cortex-m7 -mfloat-abi=hard -mfpu=fpv5-d16")
elseif(RUNNEL_BOARD STREQUAL "mps2-an521")
  # The first of its two cores has neither a floating-point unit nor the DSP extension.
  set(cpu "-mcpu=cortex-m33+nodsp -mfloat-abi=soft")
elseif(RUNNEL_BOARD STREQUAL "mps3-an547")
  # Without the vector unit: unlike the scalar one it flushes numbers below 2^-126 to zero, and so would change bits where the
  # compiler vectorises float loops. (With it, GCC 12 also writes a conditional vcvt that its assembler does not read.)
  set(cpu "-mcpu=cortex-m55+nomve -mfloat-abi=hard")
else()
  message(FATAL_ERROR "RUNNEL_BOARD=${RUNNEL_BOARD}: expected mps2-an385, mps2-an386, mps2-an500, mps2-an521 or mps3-an547")
endif()

set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR arm)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
set(CMAKE_C_COMPILER arm-none-eabi-gcc)
set(CMAKE_CXX_COMPILER arm-none-eabi-g++)
set(CMAKE_C_FLAGS_INIT "${cpu} -mthumb -mno-unaligned-access -ffunction-sections -fdata-sections")
set(CMAKE_CXX_FLAGS_INIT "${cpu} -mthumb -mno-unaligned-access -ffunction-sections -fdata-sections -fno-use-cxa-atexit -fno-asynchronous-unwind-tables -Wno-psabi")
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG" CACHE STRING "")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(RUNNEL_HOST OFF CACHE BOOL "")
set(RUNNEL_DEVICE_FLAGS ON CACHE BOOL "")
set(RUNNEL_FIRMWARE ON CACHE BOOL "")
