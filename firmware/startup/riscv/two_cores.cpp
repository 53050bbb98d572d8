// The first words of an image for two cores: the first one goes on to the start-up code, the second one
// sleeps until it has a stack. In front of startup.cpp (sections.ld), as the processors start at the first
// word of memory.
#if __riscv_xlen == 64
#define LOAD_WORD "ld"
#else
#define LOAD_WORD "lw"
#endif

__asm(
    ".section .vectors.first, \"ax\"\n"
    ".globl two_cores_handler\n"
    "two_cores_handler:\n"
    " csrr t0, mhartid\n"
    " bnez t0, 1f\n"
    " j reset_handler\n"
    "1:\n"
    " csrsi mie, 8\n"       // a software interrupt ends wfi
    " li t2, 0x02000004\n"  // that of the second core
    "2:\n"
    " wfi\n"
    " sw zero, 0(t2)\n"
    " fence rw, rw\n"
    " la t1, second_core_stack\n"
    " " LOAD_WORD
    " sp, 0(t1)\n"
    " beqz sp, 2b\n"
    " li t0, 0x2000\n"  // mstatus.FS: the floating-point unit, where there is one
    " csrs mstatus, t0\n"
    " j second_core_main\n"
    ".text\n");
