/* Compiled without -g: functions, no lines.
 * run: -n 2
 * flags: -g0
 * expect: called at receive_all+0x
 * expect: (@program)
 * expect: for the variable "flag" to be 1 (it is 0) since
 */
#include <shmem.h>
int flag;
void __attribute__((noinline)) receive_all(void) {
    shmem_int_wait_until(&flag, SHMEM_CMP_EQ, 1);
    flag = 0;
}
int main(void) {
    shmem_init();
    if (shmem_my_pe() == 0)
        receive_all();
#ifndef FAULT
    else
        shmem_int_p(&flag, 1, 0);
#endif
    shmem_barrier_all();
    shmem_finalize();
    return 0;
}
