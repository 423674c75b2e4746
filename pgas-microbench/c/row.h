/* The output: comments, a header and rows of comma-separated values, by PE 0, line by line. */
#ifndef ROW_H
#define ROW_H

#include "measure.h"

void print_comment(const char *format, ...) __attribute__((format(printf, 1, 2)));
void print_header(void);
void print_row(const struct operation *operation, const struct transfer *t, struct measurement m);

#endif
