/* Passes every argument of every routine wrongly, in each way that its role knows, with
 * SHMEM_CHECK=1; and rightly, also with no elements and null pointers. Each call is made by a child,
 * which is a job of its own. A wrong one must end with status 1 and one line that names the PE, the
 * routine, the argument and a remedy; a right one must end well, in silence. */
#include <shmem.h>
#include <shmemx.h>

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Elements of each array; bytes of each block. */
enum { N = 4, BLOCK = 4096 };
/* Exit statuses of children: a wrong call came back; the trial is none for this type. */
enum { UNNOTICED = 42, NO_SUCH_WAY = 43, NOT_SET_UP = 44 };

/* What is passed in one way: the argument, NULL for a right call; the words of the line. */
struct trial {
    const char *argument, *what, *word;
};

struct routine {
    const char *name;
    void (*call)(int trial);
    const struct trial *trials;
    int n_trials;
};

static struct routine routines[4096];
static int n_routines;

static void add(const char *name, void (*call)(int), const struct trial *trials, int n_trials) {
    routines[n_routines++] = (struct routine){name, call, trials, n_trials};
}

/* Symmetric, side by side: two blocks with one between that is freed again. */
static unsigned char *block, *freed_block, *block2;
/* Symmetric: what else right calls need. */
static unsigned char *work_block;
static long work_array[SHMEM_SYNC_SIZE];
/* Not symmetric, which globals are. */
static unsigned char *private1, *private2;
static shmem_ctx_t live_ctx, freed_ctx;
static shmem_team_t live_team, freed_team;
static shmemx_space_t live_space, freed_space;
static shmemx_req_h live_request;
static int live_op;
static shmemx_graph_t live_graph;
static int all_pes[1];
static const shmemx_space_config_t space_config = {4096, 0, 0, 0, 0};
static int no_such_pe = INT_MAX, some_pes[N];

static void do_nothing(void *dest, const void *a, const void *b, size_t n) {
    (void)dest, (void)a, (void)b, (void)n;
}

static void need(int ok) {
    if (!ok) _exit(NOT_SET_UP);
}

static void set_up(void) {
    shmem_init();
    block = shmem_calloc(1, BLOCK);
    freed_block = shmem_malloc(BLOCK);
    block2 = shmem_calloc(1, BLOCK);
    work_block = shmem_calloc(1, BLOCK);
    private1 = calloc(2, BLOCK);
    private2 = calloc(2, BLOCK);
    need(block != NULL && freed_block == block + BLOCK && block2 == freed_block + BLOCK);
    need(work_block != NULL && private1 != NULL && private2 != NULL);
    shmem_free(freed_block);
    for (int i = 0; i < SHMEM_SYNC_SIZE; i++) work_array[i] = SHMEM_SYNC_VALUE;
    need(shmem_ctx_create(0, &freed_ctx) == 0 && shmem_ctx_create(0, &live_ctx) == 0);
    shmem_ctx_destroy(freed_ctx);
    need(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, 1, NULL, 0, &freed_team) == 0);
    shmem_team_destroy(freed_team);
    need(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, 1, NULL, 0, &live_team) == 0);
    long mask = SHMEMX_SPACE_SHEAP_SIZE;
    need(shmemx_sync_init(SHMEM_TEAM_WORLD, &live_request) == 0);
    need(shmemx_op_create(do_nothing, 1, &live_op) == 0);
    need(shmemx_space_create(SHMEM_TEAM_WORLD, &space_config, mask, &live_space) == 0);
    need(shmemx_space_create(SHMEM_TEAM_WORLD, &space_config, mask, &freed_space) == 0);
    shmemx_space_destroy(freed_space);
    need(shmemx_graph_create(SHMEM_TEAM_WORLD, 0, NULL, 0, NULL, &live_graph) == 0);
    all_pes[0] = shmem_n_pes();
}

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))
#define NO_CTX
#define CTX ctx,
/* A trial that needs a type of more than one byte, or with an alignment. */
#define ONLY_IF(condition) \
    if (!(condition)) _exit(NO_SUCH_WAY)

/* Reads all that a child prints on standard error. */
static void read_all(int from, char *text, size_t room) {
    size_t length = 0;
    ssize_t got;
    while (length + 1 < room && (got = read(from, text + length, room - length - 1)) > 0)
        length += (size_t)got;
    text[length] = '\0';
}

/* What is wrong with the end of a child that has made a call in one way; NULL if nothing is. */
static const char *judge(const struct routine *routine, const struct trial *trial, int status, const char *text) {
    static char start[128];
    if (!WIFEXITED(status)) return "ends by a signal";
    if (trial->argument == NULL) {
        if (WEXITSTATUS(status) != 0) return "a right call ends the job";
        return text[0] == '\0' ? NULL : "a right call prints something";
    }
    if (WEXITSTATUS(status) == UNNOTICED) return "is not noticed";
    if (WEXITSTATUS(status) != 1) return "has another exit status than 1";
    const char *end = strchr(text, '\n');
    if (end == NULL || end[1] != '\0') return "does not print one line";
    snprintf(start, sizeof start, "ferroshmem: PE 0: %s: ", routine->name);
    if (strncmp(text, start, strlen(start)) != 0) return "does not begin with PE and routine";
    const char *message = text + strlen(start);
    if (strstr(message, trial->word) == NULL) return "does not name the argument";
    /* "dest is a null pointer: give ..." */
    if (strstr(message, ": ") == NULL) return "names no remedy";
    return NULL;
}

/* Makes a call in one way in a child; whether it ends as it must. */
static int ends_rightly(const struct routine *routine, int number) {
    static char text[4096];
    const struct trial *trial = &routine->trials[number];
    int ends[2], status;
    if (pipe(ends) != 0) return 0;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        dup2(ends[1], STDERR_FILENO);
        close(ends[1]);
        /* A wait that misuse makes endless. */
        alarm(60);
        set_up();
        routine->call(number);
        if (trial->argument != NULL) _exit(UNNOTICED);
        shmem_finalize();
        _exit(0);
    }
    close(ends[1]);
    if (child < 0) return 0;
    read_all(ends[0], text, sizeof text);
    close(ends[0]);
    if (waitpid(child, &status, 0) != child) return 0;
    if (WIFEXITED(status) && WEXITSTATUS(status) == NO_SUCH_WAY) return 1;
    const char *wrong = judge(routine, trial, status, text);
    if (wrong != NULL)
        printf("%s, %s %s: %s (status %#x)\n%s", routine->name, trial->argument ? trial->argument : "all",
               trial->what, wrong, (unsigned)status, text);
    return wrong == NULL;
}

/* Part I of K of the routines. Each routine gets each argument wrongly in one way, which
 * differs from type to type; with "all", in all ways. */
int main(int argc, char **argv) {
    int part = argc > 2 ? atoi(argv[1]) : 0, parts = argc > 2 ? atoi(argv[2]) : 1;
    int all = argc > 3 && strcmp(argv[3], "all") == 0;
    long calls = 0, failures = 0;
    for (int r = part; r < n_routines; r += parts) {
        const struct routine *routine = &routines[r];
        for (int first = 0; first < routine->n_trials;) {
            const char *argument = routine->trials[first].argument;
            int n = 1;
            while (first + n < routine->n_trials && routine->trials[first + n].argument == argument) n++;
            for (int i = 0; i < n; i++) {
                if (!all && i != r / parts % n) continue;
                calls++;
                failures += !ends_rightly(routine, first + i);
            }
            first += n;
        }
    }
    printf("every misuse: %ld calls of %d routines: %ld failed\n", calls, n_routines, failures);
    return failures != 0;
}
