/*
 * Lab 08 - one loop that asks for results, not for readiness.
 *
 * The loop writes what it wants done into the submission queue, and finds the
 * results in the completion queue. One system call, io_uring_enter(2), hands
 * over everything that was queued and waits for the first result.
 *
 *   .--> submit and wait --> each completion: take, serve, submit --.
 *   '---------------------------------------------------------------'
 *
 * TO WRITE: submit_accept, submit_receive, submit_send, submit_close,
 * return_buffer, received, writable, submit_and_wait, serve_completions.
 * Complete are: the ring and the pool, deadlines, Redis, and the steps of a
 * client (run_client), which call yours.
 */
#include "accept.h"

#pragma GCC diagnostic ignored "-Wunused-function" /* until yours call them */

/* TO WRITE. Queues one accept that yields a completion for each client
 * (io_uring_prep_multishot_accept(3)): of server->listeners[0], with the flags
 * of accept4(2) that make the client's socket close on exec and never wait
 * (net_send() needs that for files). No addresses. Tags it ACCEPTED, without a
 * client, and notes that the kernel has it: accepting is true, accept_stopping
 * is not. */
static void submit_accept(struct loop *loop)
{
    /* Until you write it, clients are turned away. */
    const struct server *server = loop->base.server;
    int fd = accept_nonblocking(server, server->listeners[0]);
    if (fd >= 0)
        close(fd);
}

/* TO WRITE. Queues one recv that yields a completion for each arrival of bytes
 * (io_uring_prep_recv_multishot(3)). It names no memory: the entry has the flag
 * IOSQE_BUFFER_SELECT and the buf_group POOL_ID, and the kernel picks a buffer
 * of that pool. Tags it RECEIVED; client->receiving is true from now on. */
static void submit_receive(struct loop *loop, struct client *client)
{
    (void)loop;
    (void)client;
}

/* TO WRITE. Queues a send of output->data (io_uring_prep_send(3)); MSG_MORE if
 * output->more. Tags it SENT; client->sending is true from now on, and the
 * memory belongs to the kernel until the completion comes. */
static void submit_send(struct loop *loop, struct client *client,
                        const struct http_output *output)
{
    (void)loop;
    (void)client;
    (void)output;
}

/* TO WRITE. Queues the close of a client's descriptor (io_uring_prep_close(3)).
 * close alone would not end the connection: a request that the kernel still has
 * keeps the socket open. So first take back, with submit_cancel(), what the
 * kernel has: RECEIVED if receiving; if sending, SENT and WRITABLE, because we
 * do not remember which. The success of a close is unheeded. */
static void submit_close(struct loop *loop, const struct client *client)
{
    (void)loop;
    close(client->fd);
}

/* TO WRITE. Gives buffer `id` of loop->buffers back to the pool:
 * io_uring_buf_ring_add(3), then io_uring_buf_ring_advance(3). pool_init()
 * calls it for all of them. */
static void return_buffer(struct loop *loop, int id)
{
    (void)loop;
    (void)id;
}

/* TO WRITE. A completion of a recv: n bytes arrived; 0: end of file; otherwise
 * a negative errno. `flags` are the completion's.
 *
 *   1. Without IORING_CQE_F_MORE it was the last one: client->receiving.
 *   2. With IORING_CQE_F_BUFFER, the bytes are in the buffer whose id is in
 *      flags (>> IORING_CQE_BUFFER_SHIFT). If the client is not closed: when
 *      its connection wants to READ and client->unread is empty, feed() takes
 *      them; what feed() leaves, or all of them, is appended to
 *      client->unread; without memory, read_request() ends the connection
 *      later. In any case the buffer goes back: return_buffer().
 *   3. At the end of file, or after an error other than ENOBUFS (no buffer was
 *      free) and ECANCELED (we took the request back), client->ended is true.
 *   4. end_client() if it is closed already, or after such an error while
 *      replies from Redis are due. Otherwise run_client(). The client may be
 *      gone afterwards. */
static void received(struct loop *loop, struct client *client, int n,
                     unsigned flags)
{
    (void)n;
    (void)flags;
    client->receiving = false;
    end_client(loop, client);
}

/* TO WRITE. A completion of a send (kind SENT, n bytes) or of a poll
 * (WRITABLE: there is room); a negative n is an errno. The kernel has the
 * request no longer: client->sending. A closed client: end_client(). Otherwise
 * tell sent(), unless it was a poll that succeeded, and run_client(). */
static void writable(struct loop *loop, struct client *client, int n,
                     enum kind kind)
{
    (void)n;
    (void)kind;
    client->sending = false;
    end_client(loop, client);
}

/* TO WRITE. The one system call of an iteration: submits what was queued, and
 * waits for one completion, for timeout_ms() milliseconds, or for a signal
 * (io_uring_submit_and_wait_timeout(3); a NULL for the time means no limit).
 * die_unless_temporary() judges the result. */
static void submit_and_wait(struct loop *loop)
{
    int64_t ms = timeout_ms(loop);
    poll(NULL, 0, ms < 0 || ms > 10 ? 10 : (int)ms);
}

/* TO WRITE. Takes at most COMPLETIONS_PER_WAIT completions out of the queue
 * with io_uring_peek_batch_cqe() (declared in liburing.h; io_uring_peek_cqe(3)
 * takes only one), passes each to complete(), and gives all their entries back
 * (io_uring_cq_advance(3)): only then may the kernel overwrite them. */
static void serve_completions(struct loop *loop)
{
    (void)loop;
}
