/* worker - the pool of exchanges, and random numbers; see common/worker.h. */
#include "conversation.h"

TEST(an_exchange_comes_empty_and_goes_back_to_the_pool)
{
    struct worker *w = &world.worker;
    struct http_exchange *x = worker_take_exchange(w);
    assert_non_null(x);
    assert_ptr_equal(x->worker, w);
    assert_int_equal(x->in_end, 0);
    assert_int_equal(x->out.len, 0);
    assert_int_equal(x->status, 0);
    x->in_start = 3;
    x->in_end = x->scanned = 10;
    x->out_sent = 1;
    x->status = 200;
    buffer_append_literal(&x->out, "left over");
    worker_give_exchange(w, x);
    assert_int_equal(w->spares, 1);

    struct http_exchange *again = worker_take_exchange(w);
    assert_ptr_equal(again, x); /* still warm */
    assert_int_equal(again->in_start + again->in_end + again->scanned, 0);
    assert_int_equal(again->out.len + again->out_sent, 0);
    assert_int_equal(again->status, 0);
    worker_give_exchange(w, again);
    worker_give_exchange(w, NULL);
    assert_int_equal(w->spares, 1);
}

TEST(the_pool_keeps_so_many_and_no_more)
{
    struct worker *w = &world.worker;
    struct http_exchange *lent[WORKER_SPARE_EXCHANGES + 8];
    for (size_t i = 0; i < LENGTH(lent); i++) {
        lent[i] = worker_take_exchange(w);
        assert_non_null(lent[i]);
    }
    for (size_t i = 0; i < LENGTH(lent); i++)
        worker_give_exchange(w, lent[i]);
    assert_int_equal(w->spares, WORKER_SPARE_EXCHANGES);
}

TEST(giving_an_exchange_back_gives_its_file_back)
{
    struct worker *w = &world.worker;
    struct cached_file *file;
    assert_int_equal(file_cache_open(&w->files, "big.bin", w->clock.now_ms,
                                     &file), 0);
    struct http_exchange *x = worker_take_exchange(w);
    x->rest = (struct http_body){.file = file, .left = 1};
    assert_int_equal(file->references, 2);
    worker_give_exchange(w, x);
    assert_int_equal(file->references, 1);
}

TEST(random_numbers_stay_below_their_bound_and_reach_all_of_it)
{
    for (uint32_t below = 1; below <= 10; below++) {
        int seen[10] = {0};
        for (int i = 0; i < 1000; i++) {
            uint32_t r = worker_random(&world.worker, below);
            assert_true(r < below);
            seen[r]++;
        }
        for (uint32_t r = 0; r < below; r++)
            assert_true(seen[r] > 1000 / (int)below / 2);
    }
    assert_true(worker_random(&world.worker, UINT32_MAX) < UINT32_MAX);
}

TEST(a_forked_worker_draws_other_numbers)
{
    struct worker *w = &world.worker;
    uint64_t before = w->random;
    worker_in_child(w);
    assert_true(w->random != before);
    assert_true(w->random != 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TALK(an_exchange_comes_empty_and_goes_back_to_the_pool),
        TALK(the_pool_keeps_so_many_and_no_more),
        TALK(giving_an_exchange_back_gives_its_file_back),
        TALK(random_numbers_stay_below_their_bound_and_reach_all_of_it),
        TALK(a_forked_worker_draws_other_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
