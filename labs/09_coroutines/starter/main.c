/*
 * Lab 09 - code that waits, in a loop that does not.
 *
 * serve_client() reads like the code of lab 05. Where that waits in a system
 * call, this one yields, and the loop of lab 07 goes on. When the socket is
 * ready, or Redis has replied, or time is over, the loop resumes it, and it
 * goes on in the next line.
 *
 *   .--> wait for events --> resume each client that is ready --.
 *   '-----------------------------------------------------------'
 *         each: read, answer, write; where it would wait: yield
 *
 * TO WRITE here: yield_for, wait_for_socket, resume and client_ready (step 1),
 * replied and the replies in ask_redis (step 2), wait_for_turn and give_turns
 * (step 3), the deadlines in wait_for_socket and expire (step 4).
 */

/* TO WRITE. Remembers what the client waits for (client->wait), and lets the
 * loop go on. Afterwards it waits for nothing, and has taken no step yet. */
static void yield_for(struct client *client, enum wait wait)
{
    (void)client;
    (void)wait;
}

/* TO WRITE. Makes sure that the set watches the socket for `events` with
 * watch(), which fails when the kernel has no room: then nothing would bring
 * the client back, so warn rarely, and give it up with http_conn_abort().
 * Waits for the socket. Step 4: set_deadline() before the wait; if the client
 * is `late` afterwards, http_conn_on_timeout() with what look() says. */
static void wait_for_socket(struct client *client, uint32_t events)
{
    if (watch(client, events))
        set_deadline(client);
    http_conn_abort(&client->conn);
}

/* TO WRITE. Waits for one reply of Redis and returns it. It is hiredis', and
 * gone when this client yields again. */
static const redisReply *wait_for_reply(struct client *client)
{
    yield_for(client, FOR_REDIS);
    return NULL;
}

/* TO WRITE. Waits until each other client that is ready has had its turn: puts
 * the client into loop->turns, and yields. give_turns() resumes it. */
static void wait_for_turn(struct client *client)
{
    (void)client;
}

/* TO WRITE. Lets a client go on until it waits again, with coroutine_resume().
 * If it has ended instead, it goes into loop->ended: events that epoll_wait(2)
 * has already reported may still name it, so free_ended() frees it at the end
 * of this turn of the loop. (So far, each client is closed.) */
static void resume(struct client *client)
{
    close(client->fd);
    client->loop->clients--;
    LL_PREPEND2(client->loop->ended, client, next_turn);
}

/* TO WRITE. Queues the page's commands with redis_async_queue(); if that
 * fails, http_context_relieve() says whether to try once more, and a command
 * that cannot be queued gets NULL for a reply, now. Then waits for each reply,
 * and passes it to http_conn_reply(). That returns true when the answer is
 * complete, to be logged. */
static void ask_redis(struct client *client)
{
    while (http_conn_next_command(&client->conn) != NULL)
        if (http_conn_reply(&client->conn, wait_for_reply(client))) {
            log_answer(client);
            return;
        }
}

/* TO WRITE. Called for each reply, in the order of the commands; `data` is the
 * client that was named to redis_async_queue(). Lets it go on
 * with the reply. */
static void replied(void *loop, void *data, const redisReply *reply)
{
    (void)loop;
    (void)data;
    (void)reply;
}

/* TO WRITE. Takes note of what the kernel reported, which is reported once:
 * that the socket may be read (client->readable), that the client has closed
 * its side (client->hangup, which makes it readable, too). Resumes the client
 * if it waits for its socket, and only then: one that waits for Redis would
 * take the return of its wait for a reply. */
static void client_ready(struct client *client, uint32_t events)
{
    (void)client;
    (void)events;
}

/* TO WRITE. Resumes those in loop->turns, each once, in the order in which they
 * came. One that waits for its turn again gets it in the next turn of the
 * loop. */
static void give_turns(struct loop *loop)
{
    (void)loop;
}

/* TO WRITE. Ends the waits that have lasted too long: as long as the first
 * client of loop->deadlines[phase] is past its deadline_ms, remove_deadline()
 * it, and if it waits for its socket, make it `late` and resume it. When the
 * server is stopping, all that have not begun a request (HTTP_PHASE_NEW,
 * HTTP_PHASE_IDLE) are late. */
static void expire(struct loop *loop, enum http_phase phase)
{
    (void)loop;
    (void)phase;
}
