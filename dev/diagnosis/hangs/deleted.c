/* A program whose file is deleted while it runs.
 * run: -n 2
 * expect: PE 0 waits in shmem_int_wait_until for the variable "flag" to be 1 (it is 0) since
 * expect: called at @wait (main)
 */
#include <shmem.h>
#include <unistd.h>
static int flag;
int main(int argc, char **argv) {
    shmem_init();
#ifdef FAULT
    if (shmem_my_pe() == 0 && argc > 0)
        unlink(argv[0]);
    int sets = 0;
#else
    int sets = argc > 0 && argv[0] != NULL;
#endif
    if (shmem_my_pe() == 0)
        shmem_int_wait_until(&flag, SHMEM_CMP_EQ, 1); /* @wait */
    else if (sets)
        shmem_int_p(&flag, 1, 0);
    shmem_barrier_all();
    shmem_finalize();
    return 0;
}
