/* Where a soft core begins: a stack, then main, then nothing more. */
    .section .text.start, "ax"
    .globl _start
_start:
    la sp, stack_top
    call main
    li t0, 0xa0000008
    sw zero, 0(t0)
1:  j 1b
