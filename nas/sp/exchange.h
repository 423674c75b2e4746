/* Ghost points of the solution: every PE writes its outer layers into its neighbours' fields. */
#ifndef EXCHANGE_H
#define EXCHANGE_H

/* Sends the outer layers of a cell straight to where they are ghost points. */
void faces_send(int cell);

/* Tells the neighbours that the faces of all my cells are there, at the end of a step. */
void faces_announce(long step);

/* Waits for the ghost points of all my cells. */
void faces_await(long step);

#endif
