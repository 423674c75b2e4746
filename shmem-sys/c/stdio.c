#include <stdio.h>
#ifdef __linux__
#include <stdio_ext.h>
#endif

/* Output of many PEs into one pipe should mix by lines. Only an unused stream may be given
 * another buffering. */
void shmemi_line_buffer_stdout(void) {
#ifdef __linux__
    if (__fbufsize(stdout) == 0) setvbuf(stdout, NULL, _IOLBF, 0);
#endif
}
