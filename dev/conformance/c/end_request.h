#ifndef CONFORMANCE_END_REQUEST_H
#define CONFORMANCE_END_REQUEST_H

#include "check.h"

#include <shmemx.h>

/* Waits for a request in one of the ways that there are. */
static void complete_request(shmemx_req_h *request, int way)
{
    CHECK(*request != SHMEMX_REQ_INVALID);
    switch (way % 6) {
    case 0:
        CHECK(shmemx_req_wait(request) == 0);
        break;
    case 1:
        while (shmemx_req_test(request) != 0)
            ;
        break;
    case 2:
        CHECK(shmemx_req_waitany(1, request) == 0);
        break;
    case 3:
        while (shmemx_req_testany(1, request) != 0)
            ;
        break;
    case 4:
        while (shmemx_req_testall(1, request) != 0)
            ;
        break;
    default:
        CHECK(shmemx_req_waitall(1, request) == 0);
    }
}

/* The same of one that is started once, and ends so. */
static inline void end_request(shmemx_req_h *request, int way)
{
    complete_request(request, way);
    CHECK(*request == SHMEMX_REQ_INVALID);
    CHECK(shmemx_req_test(request) == 0);
}

#endif
