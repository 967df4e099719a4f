/* redis_sim - Redis, on the level of bytes; see sim.h. */
#include "sim.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum { COMMANDS_MAX = 128, ARGUMENTS_MAX = 4, LISTED = 100 };

struct command {
    char name;   /* the second letter: all differ in it */
    uint64_t at; /* its last argument in the stream, what RPUSH brings */
    size_t n;
};

static struct {   /* a connection's, by its place among the sockets */
    struct command queue[COMMANDS_MAX];
    int first, count;
    int64_t busy_us; /* it executes one command after the other */
    bool sends_rubbish;
} links[SOCKETS_MAX];

static struct buffer list;            /* the texts of the remarks */
static size_t ends[REMARKS_MAX];      /* where each ends */
static int remarks, visits;
static int failures;                  /* since the last page */

void *__real_realloc(void *p, size_t n);
void __real_free(void *p);

static void list_add(const char *text, size_t n)
{
    size_t begin = remarks > 0 ? ends[remarks - 1] : 0;
    if (remarks == REMARKS_MAX)
        fail("the guestbook of the world is full");
    if (begin + n > list.cap) {
        list.cap = 2 * (begin + n) + 4096;
        list.data = __real_realloc(list.data, list.cap);
    }
    memcpy(list.data + begin, text, n);
    ends[remarks++] = begin + n;
}

void redis_sim_reset(void)
{
    static char text[8192];
    memset(links, 0, sizeof links);
    remarks = visits = failures = 0;
    for (int i = 0; i < sim.plan.preloaded; i++) {
        int n = snprintf(text, sizeof text, "p%d ", i);
        memset(text + n, 'x', (size_t)sim.plan.remark_size);
        list_add(text, (size_t)(n + sim.plan.remark_size));
    }
}

static struct slice remark_text(int i)
{
    size_t begin = i > 0 ? ends[i - 1] : 0;
    return (struct slice){list.data + begin, ends[i] - begin};
}

bool redis_sim_is_remark(int i, const char *text, size_t n)
{
    return i >= 0 && i < remarks &&
           slice_equal(remark_text(i), (struct slice){text, n});
}

int redis_sim_remarks(void)
{
    return remarks;
}

int redis_sim_visits(void)
{
    return visits;
}

/* Each begins with a name that no other has. */
int redis_sim_times(int remark)
{
    char name[32];
    int times = 0;
    snprintf(name, sizeof name, "remark%d ", remark);
    for (int i = 0; i < remarks; i++)
        times += slice_has_prefix(remark_text(i), slice_of(name));
    return times;
}

/* While it lasts, and as long as the server backs off, pages may be 503. The
 * back-off doubles with each failure since the last page (redis.c). */
static void trouble_until(int64_t us)
{
    int64_t backoff_ms = 10 << (failures < 6 ? failures : 6);
    us += (backoff_ms < 500 ? backoff_ms : 500) * (int64_t)MS;
    failures++;
    if (us > sim.redis_trouble_us)
        sim.redis_trouble_us = us;
}

/* The server may notice only when its patience is over. */
void redis_sim_trouble(void)
{
    trouble_until(sim.now_us + SECOND);
}

/* It notices as soon as packets have arrived. */
static void quick_trouble(void)
{
    trouble_until(sim.now_us + 20 * MS);
}

void redis_sim_is_well(void)
{
    failures = 0;
}

/* --------------------------------------------------------------- connecting */

static void connected(struct socket *s, int64_t error)
{
    s->connecting = false;
    if (error != 0) {
        s->error = (int)error;
        s->reset = true;
    } else {
        s->connected = true;
    }
    ready_wake(s);
}

void redis_sim_connect(struct socket *s)
{
    int error = 0;
    s->latency_us = chance_below(2 * MS);
    memset(&links[s - sim.sockets], 0, sizeof links[0]);
    if (plan_has(&sim.plan, REDIS_AWAY) && chance_percent(60)) {
        quick_trouble();
        error = ECONNREFUSED;
    }
    if (sim.plan.unix_redis) {
        connected(s, error);
        return;
    }
    s->connecting = true;
    if (error != 0 && chance_percent(40)) {
        redis_sim_trouble();
        return; /* packets are lost: no answer at all */
    }
    time_at(sim.now_us + 2 * s->latency_us, connected, s, error);
}

/* ----------------------------------------------------------------- replying */

static void reply(struct socket *s, const char *bytes, size_t n)
{
    if (plan_has(&sim.plan, REDIS_DRIBBLES)) {
        redis_sim_trouble();
        tcp_peer_dribble(s, bytes, n, 100 * MS);
        return;
    }
    tcp_peer_send(s, bytes, n, plan_has(&sim.plan, SPLITS)
                                   ? chance_below(3 * MS) : 0);
}

static void reply_list(struct socket *s)
{
    char head[32];
    int first = remarks > LISTED ? remarks - LISTED : 0;
    int n = snprintf(head, sizeof head, "*%d\r\n", remarks - first);
    reply(s, head, (size_t)n);
    for (int i = first; i < remarks; i++) {
        struct slice text = remark_text(i);
        n = snprintf(head, sizeof head, "$%zu\r\n", text.n);
        reply(s, head, (size_t)n);
        reply(s, text.p, text.n);
        reply(s, "\r\n", 2);
    }
}

/* Executes a command that came by `from`, and replies unless `quiet`. */
static void execute(struct socket *from, const struct command *command,
                    bool quiet)
{
    struct socket *to = quiet ? NULL : from;
    char text[64], digits[24];
    int n = 0;
    switch (command->name) {
    case 'R': /* LRANGE */
        if (to != NULL)
            reply_list(to);
        return;
    case 'N': /* INCR */
        n = snprintf(text, sizeof text, ":%d\r\n", ++visits);
        break;
    case 'E': /* GET */
        n = snprintf(digits, sizeof digits, "%d", visits);
        n = snprintf(text, sizeof text, "$%d\r\n%s\r\n", n, digits);
        break;
    case 'P': /* RPUSH */
        list_add(from->out.bytes + command->at, command->n);
        n = snprintf(text, sizeof text, ":%d\r\n", remarks);
        break;
    case 'T': /* LTRIM: the list is shorter than that */
        n = snprintf(text, sizeof text, "+OK\r\n");
        break;
    default:
        fail("Redis gets a command that it does not know");
    }
    if (to != NULL)
        reply(to, text, (size_t)n);
}

static void unasked(struct socket *s, int64_t argument)
{
    (void)argument;
    if (s->closed || s->peer_closed)
        return;
    trace("Redis     says something unasked");
    sim.redis_lied = true;
    redis_sim_trouble();
    reply(s, "+OK\r\n", 5);
}

static void close_link(struct socket *s)
{
    trace("Redis     closes");
    if (chance_percent(30))
        tcp_peer_reset(s);
    else
        tcp_peer_close(s);
}

/* Replies that would take all memory, or an array in an array. */
static void announce(struct socket *s)
{
    static const char *const heads[] = {
        "*2147483647\r\n", "*1000\r\n$1\r\nx\r\n",
        "*1\r\n*1\r\n*1\r\n:1\r\n", "$1073741824\r\n",
        "$1200000\r\n", "*3\r\n$1000000\r\n"};
    static char much[1200002];
    const char *head = CHANCE_OF(heads);
    redis_sim_trouble();
    sim.redis_lied = true;
    trace("Redis     announces too much: %.11s", head);
    reply(s, head, strlen(head));
    if (head[0] == '$' || head[1] == '3') {
        memset(much, 'x', sizeof much);
        reply(s, much, sizeof much);
    }
}

/* Something goes wrong with this command. Returns whether it has. */
static bool misbehave(struct socket *s, const struct command *command)
{
    static const char *const garbage[] = {"rubbish\r\n", "$-7\r\n", "*x\r\n",
                                          "\r\n", "$3\r\nabcdef\r\n"};
    const struct plan *plan = &sim.plan;
    if (plan_has(plan, REDIS_CLOSES) && chance_percent(15)) {
        quick_trouble();
        int how = chance_below(3);
        if (how > 0)
            execute(s, command, how == 1);
        close_link(s);
        return true;
    }
    if (plan_has(plan, REDIS_ERRORS) && chance_percent(15)) {
        quick_trouble();
        trace("Redis     replies with an error");
        reply(s, "-LOADING the dataset\r\n", 22);
        return true;
    }
    if (plan_has(plan, REDIS_GARBAGE) && chance_percent(15)) {
        redis_sim_trouble();
        const char *bytes = CHANCE_OF(garbage);
        trace("Redis     replies with garbage");
        sim.redis_lied = true; /* some of it is a reply, but not to this */
        reply(s, bytes, strlen(bytes));
        return true;
    }
    if (plan_has(plan, REDIS_ANNOUNCES) && chance_percent(15)) {
        announce(s);
        return true;
    }
    if (plan_has(plan, REDIS_UNASKED) && chance_percent(15))
        time_at(sim.now_us + (chance_percent(50) ? 0 : chance_below(SECOND)),
                unasked, s, 0);
    return false;
}

static void next(struct socket *s, int64_t argument)
{
    typeof(&links[0]) link = &links[s - sim.sockets];
    struct command *command = &link->queue[link->first++ % COMMANDS_MAX];
    (void)argument;
    link->count--;
    if (s->peer_closed) /* it has closed the connection itself */
        return;
    trace("Redis     executes %c", command->name);
    if (!misbehave(s, command))
        execute(s, command, false);
}

/* ------------------------------------------------------------------ reading */

/* Reads the number of a line such as "*3\r\n" or "$17\r\n" at *at. Returns -1
 * while it is incomplete. */
static long take_number(const struct stream *st, uint64_t *at)
{
    const char *p = st->bytes + *at, *end = st->bytes + st->arrived;
    const char *cr = memchr(p, '\r', (size_t)(end - p));
    if (cr == NULL || cr + 2 > end)
        return -1;
    *at += (uint64_t)(cr - p) + 2;
    return atol(p + 1);
}

static bool take_command(struct stream *st, struct command *command)
{
    uint64_t at = st->read;
    long count = take_number(st, &at);
    if (count < 0)
        return false;
    for (long i = 0; i < count; i++) {
        long n = take_number(st, &at);
        if (n < 0 || at + (uint64_t)n + 2 > st->arrived)
            return false;
        command->at = at;
        command->n = (size_t)n;
        if (i == 0)
            command->name = st->bytes[at + 1];
        at += (uint64_t)n + 2;
    }
    st->read = at;
    return true;
}

static int64_t service_us(void)
{
    int64_t us = chance_below(MS);
    if (plan_has(&sim.plan, REDIS_SLOW))
        us = chance_percent(85) ? chance_below(20 * MS)
                                : chance_below(2 * SECOND);
    if (plan_has(&sim.plan, REDIS_BUSY))
        us = 20 * MS + chance_below(120 * MS);
    return us;
}

void redis_sim_data(struct socket *s)
{
    typeof(&links[0]) link = &links[s - sim.sockets];
    while (s->connected && take_command(&s->out, &link->queue[
               (link->first + link->count) % COMMANDS_MAX])) {
        if (++link->count == COMMANDS_MAX)
            fail("Redis has %d commands to execute", link->count);
        if (link->busy_us < sim.now_us)
            link->busy_us = sim.now_us;
        int64_t us = service_us();
        link->busy_us += us;
        if (us > 50 * MS && plan_has(&sim.plan, REDIS_SLOW))
            trouble_until(link->busy_us);
        time_at(link->busy_us, next, s, 0);
    }
    if (s->out.fin_arrived)
        tcp_peer_close(s);
}
