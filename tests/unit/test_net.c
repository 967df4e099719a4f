/* net - what a failed accept(2) means; see common/net.h. */
#include "net.h"

#include <errno.h>

#include "unit.h"

/* Each row lists errors of accept(2) that mean the same. */
TEST(each_error_of_accept_has_its_consequence)
{
    static const struct {
        enum net_verdict verdict;
        int errors[12]; /* 0 ends the list */
    } rows[] = {
        {NET_NOBODY, {EAGAIN, EWOULDBLOCK, EINVAL}},
        {NET_NEXT, {EINTR, ECONNABORTED, EPROTO, ENETDOWN, ENOPROTOOPT,
                    EHOSTDOWN, ENONET, EHOSTUNREACH, EOPNOTSUPP, ENETUNREACH,
                    ETIMEDOUT}},
        {NET_NEEDS_ROOM, {EMFILE, ENFILE, ENOBUFS, ENOMEM}},
        /* These may stay, so trying again without a pause would spin. */
        {NET_LATER, {EPERM, EACCES, EBADF, ENOTSOCK, EFAULT, ENOSYS, ENOSR}},
    };
    for (size_t i = 0; i < LENGTH(rows); i++)
        for (const int *error = rows[i].errors; *error != 0; error++)
            if (net_accept_verdict(*error) != rows[i].verdict)
                fail_msg("%s: %d", strerror(*error),
                         net_accept_verdict(*error));
}

/* event_loop.c and net.c compare: what needs a pause comes last. */
TEST(the_verdicts_that_need_a_pause_come_last)
{
    assert_true(NET_NOBODY < NET_NEEDS_ROOM && NET_NEXT < NET_NEEDS_ROOM &&
                NET_NEEDS_ROOM < NET_LATER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_error_of_accept_has_its_consequence),
        cmocka_unit_test(the_verdicts_that_need_a_pause_come_last),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
