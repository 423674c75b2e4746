/* Messages between PEs of two hosts, there and back, by turns with libfabric's own tagged messages over the same
 * provider. PE 0 prints for each turn the nanoseconds of half a round trip: of libfabric, of this library.
 *
 *     tagged TURNS BYTES ROUND_TRIPS */
#include <netinet/in.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>
#include <shmem.h>
#include <shmemx.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"

enum { NAME = 256, TAG = 7 };
enum { LONG = 1000000, LONG_ROUND_TRIPS = 200 };

static int me, peer;
static size_t bytes;
static char *outgoing, *incoming;

static struct fid_ep *endpoint;
static struct fid_cq *queue;
static fi_addr_t address;
static void *descriptor_out, *descriptor_in; /* of registered memory, where the provider asks for it */
static struct fi_context2 sending, receiving;
static int done; /* completions: 1 of the send, 2 of the receive */

static void check(long result, const char *what)
{
    if (result == 0)
        return;
    fprintf(stderr, "%s: %s\n", what, fi_strerror((int)-result));
    shmem_global_exit(1);
}

/* An address that the other host reaches. */
static int is_of_host(const struct fi_info *info)
{
    if (info->addr_format != FI_SOCKADDR_IN)
        return 0;
    const struct sockaddr_in *address = info->src_addr;
    return ntohl(address->sin_addr.s_addr) >> 24 != IN_LOOPBACKNET;
}

static void *registered(struct fid_domain *domain, const struct fi_info *info, char *memory, uint64_t key)
{
    struct fid_mr *region;
    if (!(info->domain_attr->mr_mode & FI_MR_LOCAL))
        return NULL;
    check(fi_mr_reg(domain, memory, bytes, FI_SEND | FI_RECV, 0, key, 0, &region, NULL), "fi_mr_reg");
    return fi_mr_desc(region);
}

/* The first of two providers that there is. */
static struct fi_info *find(const char *providers[2])
{
    struct fi_info *hints = fi_allocinfo(), *found;
    hints->caps = FI_TAGGED;
    hints->mode = FI_CONTEXT | FI_CONTEXT2;
    hints->ep_attr->type = FI_EP_RDM;
    hints->domain_attr->mr_mode = FI_MR_LOCAL;
    for (int i = 0; i < 2; i++) {
        hints->fabric_attr->prov_name = strdup(providers[i]);
        if (fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &found) != 0)
            continue;
        for (struct fi_info *info = found; info != NULL; info = info->next)
            if (is_of_host(info) && strchr(info->fabric_attr->prov_name, ';') == NULL)
                return info;
    }
    fprintf(stderr, "neither %s nor %s has an IPv4 address\n", providers[0], providers[1]);
    shmem_global_exit(1);
    return NULL;
}

static void open_endpoint(const char *providers[2])
{
    static char name[NAME], other[NAME];
    struct fi_info *info = find(providers);
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_av *addresses;
    struct fi_cq_attr queue_attributes = {.format = FI_CQ_FORMAT_CONTEXT};
    struct fi_av_attr address_attributes = {.type = FI_AV_TABLE};
    check(fi_fabric(info->fabric_attr, &fabric, NULL), "fi_fabric");
    check(fi_domain(fabric, info, &domain, NULL), "fi_domain");
    check(fi_endpoint(domain, info, &endpoint, NULL), "fi_endpoint");
    check(fi_cq_open(domain, &queue_attributes, &queue, NULL), "fi_cq_open");
    check(fi_av_open(domain, &address_attributes, &addresses, NULL), "fi_av_open");
    check(fi_ep_bind(endpoint, &queue->fid, FI_SEND | FI_RECV), "fi_ep_bind");
    check(fi_ep_bind(endpoint, &addresses->fid, 0), "fi_ep_bind");
    check(fi_enable(endpoint), "fi_enable");
    size_t length = sizeof name;
    check(fi_getname(&endpoint->fid, name, &length), "fi_getname");
    shmem_barrier_all();
    shmem_getmem(other, name, sizeof name, peer);
    shmem_barrier_all();
    if (fi_av_insert(addresses, other, 1, &address, 0, NULL) != 1)
        check(-FI_EADDRNOTAVAIL, "fi_av_insert");
    descriptor_out = registered(domain, info, outgoing, 1);
    descriptor_in = registered(domain, info, incoming, 2);
    if (me == 0)
        printf("# %s, libfabric %u.%u\n", info->fabric_attr->prov_name, FI_MAJOR(fi_version()),
               FI_MINOR(fi_version()));
}

static void poll_queue(void)
{
    struct fi_cq_entry entry;
    ssize_t n = fi_cq_read(queue, &entry, 1);
    if (n == 1)
        done |= entry.op_context == &sending ? 1 : 2;
    else if (n != -FI_EAGAIN)
        check(n, "fi_cq_read");
}

static void post_receive(void)
{
    ssize_t result;
    while ((result = fi_trecv(endpoint, incoming, bytes, descriptor_in, address, TAG, 0, &receiving)) == -FI_EAGAIN)
        poll_queue();
    check(result, "fi_trecv");
}

static void send_tagged(void)
{
    ssize_t result;
    while ((result = fi_tsend(endpoint, outgoing, bytes, descriptor_out, address, TAG, &sending)) == -FI_EAGAIN)
        poll_queue();
    check(result, "fi_tsend");
}

static void await(int which)
{
    while (!(done & which))
        poll_queue();
    done &= ~which;
}

static void tagged(long round_trips)
{
    for (long i = 0; i < round_trips; i++) {
        post_receive();
        if (me == 0)
            send_tagged();
        await(2);
        if (me != 0)
            send_tagged();
        await(1);
    }
}

static void messages(long round_trips)
{
    for (long i = 0; i < round_trips; i++) {
        if (me == 0)
            shmemx_msg_send(SHMEM_TEAM_WORLD, outgoing, bytes, peer, TAG);
        shmemx_msg_recv(SHMEM_TEAM_WORLD, incoming, bytes, peer, TAG, NULL);
        if (me != 0)
            shmemx_msg_send(SHMEM_TEAM_WORLD, outgoing, bytes, peer, TAG);
    }
}

static double nanoseconds(void (*way)(long), long round_trips)
{
    shmem_barrier_all();
    const double start = now_ns();
    way(round_trips);
    const double ns = now_ns() - start;
    shmem_barrier_all();
    return ns / (2.0 * (double)round_trips);
}

int main(int argc, char **argv)
{
    shmem_init();
    me = shmem_my_pe();
    peer = 1 - me;
    long turns = argc == 4 ? atol(argv[1]) : 0, bytes_wanted = argc == 4 ? atol(argv[2]) : -1;
    long round_trips = argc == 4 ? atol(argv[3]) : 0;
    if (turns < 1 || bytes_wanted < 0 || round_trips < 1 || shmem_n_pes() != 2) {
        fprintf(stderr, "usage: %s TURNS BYTES ROUND_TRIPS, with 2 PEs\n", argv[0]);
        shmem_global_exit(2);
    }
    bytes = (size_t)bytes_wanted;
    size_t longest = bytes > LONG ? bytes : LONG, size = (longest + 4096) / 4096 * 4096;
    outgoing = aligned_alloc(4096, size);
    incoming = aligned_alloc(4096, size);
    if (outgoing == NULL || incoming == NULL) {
        fprintf(stderr, "no memory for messages of %zu bytes\n", bytes);
        shmem_global_exit(2);
    }
    memset(outgoing, 1 + me, size);
    memset(incoming, 0, size);
    bytes = longest;
    /* libfabric 1.17 calls by another name what later versions call tcp. */
    open_endpoint((const char *[]){"net", "tcp"});
    /* How soon a receiver has a message of several segments depends on how far TCP has opened the connection's window.
     * So both connections carry as many bytes first. */
    tagged(LONG_ROUND_TRIPS);
    shmem_barrier_all();
    messages(LONG_ROUND_TRIPS);
    bytes = (size_t)bytes_wanted;
    /* The first turn warms up. */
    for (long turn = -1; turn < turns; turn++) {
        double times[2];
        for (int i = 0; i < 2; i++) {
            int which = (int)((turn + 1 + i) % 2);
            memset(incoming, 0, size);
            times[which] = nanoseconds(which == 0 ? tagged : messages, round_trips);
            if (bytes > 0 && (incoming[0] != 1 + peer || incoming[bytes - 1] != 1 + peer)) {
                fprintf(stderr, "PE %d: wrong data\n", me);
                shmem_global_exit(1);
            }
        }
        if (turn >= 0 && me == 0)
            printf("%.1f %.1f\n", times[0], times[1]);
    }
    shmem_finalize();
    return 0;
}
