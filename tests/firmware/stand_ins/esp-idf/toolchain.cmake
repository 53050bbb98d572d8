# As ESP-IDF's toolchain files: the compiler and its flags, and no name of the processor.
set(RUNNEL_BOARD virt-rv32imafc)
include(${CMAKE_CURRENT_LIST_DIR}/../../../../cmake/riscv-none-elf.cmake)
set(CMAKE_SYSTEM_PROCESSOR "")
set(CMAKE_C_COMPILER riscv64-unknown-elf-gcc)
set(CMAKE_C_FLAGS_INIT "${cpu} -mstrict-align -msmall-data-limit=0 --specs=picolibc.specs")
