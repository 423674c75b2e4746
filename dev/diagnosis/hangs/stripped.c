/* A stripped program: addresses in its file.
 * run: -n 2
 * flags: -s
 * expect: called at @program+0x
 * expect: PE 0 waits in shmem_int_wait_until for the variable @program+0x
 */
#include "no_debug_information.c"
