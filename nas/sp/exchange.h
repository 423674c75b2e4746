/* Ghost points of the solution: every PE writes its outer layers into its neighbours' fields. */
#ifndef EXCHANGE_H
#define EXCHANGE_H

/* Sends the outer layers of all cells of this PE directly to the ghost points of the neighbours, at
 * the end of a step, and sets their flags. */
void faces_send(long step);

/* Waits for the ghost points of all cells of this PE. */
void faces_await(long step);

#endif
