/* Ghost points of the solution: every PE writes its outer layers into its neighbours' fields. */
#ifndef EXCHANGE_H
#define EXCHANGE_H

/* Sends the outer layers of all my cells straight to where they are ghost points, at the end of
 * a step, and tells the neighbours. */
void faces_send(long step);

/* Waits for the ghost points of all my cells. */
void faces_await(long step);

#endif
