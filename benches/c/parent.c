/* parent N PROGRAM: starts N processes of a program and waits for them. */
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

extern char **environ;

int main(int argc, char **argv)
{
    const int n = argc == 3 ? atoi(argv[1]) : 0;
    if (n < 1) {
        fprintf(stderr, "usage: parent N PROGRAM\n");
        return 2;
    }
    for (int i = 0; i < n; i++) {
        pid_t pid;
        const int error = posix_spawn(&pid, argv[2], NULL, NULL, &argv[2], environ);
        if (error) {
            fprintf(stderr, "cannot start %s: %s\n", argv[2], strerror(error));
            return 1;
        }
    }
    int status, ended = 0;
    while (wait(&status) > 0)
        ended += status == 0;
    return ended == n ? 0 : 1;
}
