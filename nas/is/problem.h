/* The problem classes of IS and the values that verify results. */
#ifndef PROBLEM_H
#define PROBLEM_H

enum { ITERATIONS = 10, TESTS = 5, MOST_PES = 1024 };

/* A key of known rank: the rank of keys[index] is rank + step * (iteration - since), because each
 * iteration adds a small key and removes a large one. */
typedef struct {
    int index, rank, step, since;
} Test;

typedef struct {
    char class;
    int log2_keys;    /* of the number of keys */
    int log2_max_key; /* keys are below 2^log2_max_key */
    int most_pes;
    Test tests[TESTS];
} Problem;

/* All classes, for example "SW". */
const char *problem_classes(void);

/* The problem of one of these classes. */
const Problem *problem_of(char class);

#endif
