//! Messages (extension).

use crate::family::{Family, family};
use crate::types::Group::Single;

const SEND: &str = "shmem_team_t team, const void *buf, size_t nbytes, int pe, int tag";
const RECV: &str = "shmem_team_t team, void *buf, size_t nbytes, int pe, int tag";
const PROBE: &str = "shmem_team_t team, int pe, int tag, shmemx_msg_status_t *status";
const ONE: &str = "shmemx_msg_request_t *request, shmemx_msg_status_t *status";
const ANY: &str = "size_t count, shmemx_msg_request_t *requests, shmemx_msg_status_t *status";
const ALL: &str = "size_t count, shmemx_msg_request_t *requests, shmemx_msg_status_t *statuses";

/// All.
#[rustfmt::skip]
pub fn all() -> Vec<Family> {
    let (isend, irecv): (&str, &str) = (
        "shmem_team_t team, const void *buf, size_t nbytes, int pe, int tag, shmemx_msg_request_t *request",
        "shmem_team_t team, void *buf, size_t nbytes, int pe, int tag, shmemx_msg_request_t *request",
    );
    let recv = "shmem_team_t team, void *buf, size_t nbytes, int pe, int tag, shmemx_msg_status_t *status";
    debug_assert!(isend.starts_with(SEND) && irecv.starts_with(RECV) && recv.starts_with(RECV));
    let rows = [
        ("shmemx_msg_send", "int", SEND, "message::send({n}, team, buf, nbytes, pe, tag)"),
        ("shmemx_msg_recv", "int", recv, "message::recv({n}, team, buf, nbytes, pe, tag, status)"),
        ("shmemx_msg_isend", "int", isend, "message::isend({n}, team, buf, nbytes, pe, tag, request)"),
        ("shmemx_msg_irecv", "int", irecv, "message::irecv({n}, team, buf, nbytes, pe, tag, request)"),
        ("shmemx_msg_probe", "int", PROBE, "message::probe({n}, team, pe, tag, status)"),
        ("shmemx_msg_iprobe", "int", PROBE, "message::iprobe({n}, team, pe, tag, status)"),
        ("shmemx_msg_cancel", "int", "shmemx_msg_request_t *request", "message::cancel({n}, request)"),
        ("shmemx_msg_test", "int", ONE, "message::test({n}, request, status)"),
        ("shmemx_msg_wait", "int", ONE, "message::wait({n}, request, status)"),
        ("shmemx_msg_testany", "size_t", ANY, "message::testany({n}, count, requests, status)"),
        ("shmemx_msg_testall", "int", ALL, "message::testall({n}, count, requests, statuses)"),
        ("shmemx_msg_waitany", "size_t", ANY, "message::waitany({n}, count, requests, status)"),
        ("shmemx_msg_waitall", "int", ALL, "message::waitall({n}, count, requests, statuses)"),
    ];
    rows.map(|(name, ret, params, body)| family("", name, Single, ret, params, body).extension()).into()
}
