/* plan - what a seed decides for a whole world; see sim.h.
 *
 * Most worlds have two or three kinds of trouble, not all: a rule that one kind
 * excuses holds in the worlds without it ("swarm testing"). */
#include "sim.h"

#include <stdio.h>

const char *const trouble_names[TROUBLES] = {
    [SPLITS] = "splits",
    [LATENCY] = "latency",
    [SMALL_BUFFERS] = "small-buffers",
    [SLOW_READERS] = "slow-readers",
    [STOPPED_READERS] = "stopped-readers",
    [LEAVERS] = "leavers",
    [SILENT] = "silent",
    [FURTHER] = "further",
    [STRAY_LINES] = "stray-lines",
    [MALFORMED] = "malformed",
    [REDIS_AWAY] = "redis-away",
    [REDIS_SLOW] = "redis-slow",
    [REDIS_BUSY] = "redis-busy",
    [REDIS_DRIBBLES] = "redis-dribbles",
    [REDIS_CLOSES] = "redis-closes",
    [REDIS_ERRORS] = "redis-errors",
    [REDIS_GARBAGE] = "redis-garbage",
    [REDIS_UNASKED] = "redis-unasked",
    [REDIS_ANNOUNCES] = "redis-announces",
    [ACCEPT_ERRORS] = "accept-errors",
    [FEW_DESCRIPTORS] = "few-descriptors",
    [NO_MEMORY] = "no-memory",
    [ADD_FAILS] = "add-fails",
    [OPEN_ERRORS] = "open-errors",
    [SLOW_STEPS] = "slow-steps",
    [EARLY_STOP] = "early-stop",
    [SIGNALS] = "signals",
};

/* ------------------------------------------------------------------- chance */

static uint64_t state;

void chance_seed(uint64_t seed)
{
    state = seed;
}

uint64_t chance_next(void) /* splitmix64 */
{
    uint64_t z = (state += 0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

/* --------------------------------------------------------------------- plan */

static void plan_options_of(struct plan *plan)
{
    static const int keep_alive[] = {0, 200, 1000, 5000, 5000};
    static const int request[] = {300, 1000, 1000, 10000};
    static const int drain[] = {0, 100, 1000, 10000, 10000};
    plan->keep_alive_ms = CHANCE_OF(keep_alive);
    plan->request_timeout_ms = CHANCE_OF(request);
    plan->drain_timeout_ms = CHANCE_OF(drain);
    plan->max_connections = chance_percent(80) ? CLIENTS_MAX + 4
                                               : 1 + chance_below(4);
    plan->backlog = chance_percent(90) ? CLIENTS_MAX : 1 + chance_below(3);
    plan->pipeline = chance_percent(30);
    plan->unix_redis = chance_percent(20);
    plan->no_redis = chance_percent(3);
    plan->per_connection = !plan->server->event_loop && chance_percent(30);
    plan->at_capacity = chance_percent(50);
}

void plan_make(struct plan *plan, const struct sim_server *server,
               uint64_t seed, uint32_t left_out)
{
    *plan = (struct plan){.seed = seed, .server = server};
    chance_seed(seed);
    int percent = chance_percent(30) ? 4 : chance_percent(80) ? 12 : 40;
    for (int i = 0; i < TROUBLES; i++)
        plan->troubles |= (uint32_t)chance_percent(
            i == FURTHER || i == LATENCY ? 2 * percent : percent) << i;
    plan->troubles &= ~left_out;
    plan_options_of(plan);
    plan->clients = chance_percent(40) ? 1 + chance_below(3)
                                       : 1 + chance_below(CLIENTS_MAX);
    plan->preloaded = chance_percent(30) ? chance_below(120) : 0;
    plan->remark_size = 10;
    if (chance_percent(1)) {
        plan->preloaded = 100;
        plan->remark_size = 6000;
    }
    plan->call_cost_us = chance_percent(50) ? 0 : 20;
    if (plan_has(plan, SLOW_STEPS))
        plan->call_cost_us = 1 + chance_below(2 * MS);
    if (plan_has(plan, EARLY_STOP))
        plan->stop_at_call = 1 + chance_below(chance_percent(50) ? 100 : 600);
}

void plan_print(const struct plan *plan)
{
    printf("server %s, %d clients, --keep-alive %d ms, "
           "--request-timeout %d ms, --drain-timeout %d ms, "
           "--max-connections %d, %d remarks\n",
           plan->server->name, plan->clients, plan->keep_alive_ms,
           plan->request_timeout_ms, plan->drain_timeout_ms,
           plan->max_connections, plan->preloaded);
    printf("trouble:");
    for (int i = 0; i < TROUBLES; i++)
        if (plan_has(plan, (enum trouble)i))
            printf(" %s", trouble_names[i]);
    printf("\n");
}

void plan_options(const struct plan *plan, struct options *options)
{
    *options = (struct options){
        .host = "127.0.0.1", .port = 8000, .root = ".",
        .backlog = plan->backlog, .pipeline = plan->pipeline,
        .max_connections = plan->max_connections,
        .redis = {.none = plan->no_redis, .host = "127.0.0.1", .port = 6379,
                  .path = plan->unix_redis ? "/run/redis" : NULL},
        .keep_alive_ms = plan->keep_alive_ms,
        .request_timeout_ms = plan->request_timeout_ms,
        .drain_timeout_ms = plan->drain_timeout_ms,
        .access_log = "log", .quiet = true};
}
