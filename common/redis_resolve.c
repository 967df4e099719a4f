/* redis_resolve - looks up the host of Redis; see redis_resolve.h. */
#include "redis_resolve.h"

#include <netdb.h>
#include <string.h>
#include <sys/socket.h>

#include "fatal.h"

/* IPv4 goes first, as in hiredis: "localhost" is often ::1 before it is
 * 127.0.0.1, where Redis listens. */
static const struct addrinfo *preferred(const struct addrinfo *found)
{
    for (const struct addrinfo *a = found; a != NULL; a = a->ai_next)
        if (a->ai_family == AF_INET)
            return a;
    return found;
}

void redis_resolve(struct redis_address *address)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *found;
    char numeric[NI_MAXHOST];
    if (address->none || address->path != NULL)
        return;
    int error = getaddrinfo(address->host, NULL, &hints, &found);
    if (error == 0) {
        const struct addrinfo *a = preferred(found);
        error = getnameinfo(a->ai_addr, a->ai_addrlen, numeric, sizeof numeric,
                            NULL, 0, NI_NUMERICHOST);
        freeaddrinfo(found);
    }
    if (error != 0)
        die("the Redis host '%s' is unknown (%s); give --redis another name "
            "or an address", address->host, gai_strerror(error));
    if ((address->host = strdup(numeric)) == NULL)
        die("out of memory");
}
