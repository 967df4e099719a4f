/* parse_main - reads messages, prints verdicts; see parse.h. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "parse.h"

enum { MESSAGE_MAX = 1 << 20 };

static void print_hex(const char *name, struct slice s)
{
    printf(", \"%s\": \"", name);
    for (size_t i = 0; i < s.n; i++)
        printf("%02x", (unsigned char)s.p[i]);
    putchar('"');
}

static void print_verdict(const struct verdict *v)
{
    static const char *const outcomes[] = {"whole", "half", "wrong"};
    printf("{\"outcome\": \"%s\"", outcomes[v->outcome]);
    if (v->outcome == PARSE_WRONG)
        printf(", \"reason\": \"%s\"", v->reason);
    if (v->outcome == PARSE_WHOLE) {
        print_hex("method", v->method);
        print_hex("target", v->target);
        print_hex("body", (struct slice){v->body.data, v->body.len});
        printf(", \"minor_version\": %d, \"keep_alive\": %s, \"used\": %zu",
               v->minor_version, v->keep_alive ? "true" : "false", v->used);
    }
    puts("}");
}

int main(void)
{
    unsigned char length[4];
    while (fread(length, sizeof length, 1, stdin) == 1) {
        size_t n = length[0] | (size_t)length[1] << 8 |
                   (size_t)length[2] << 16 | (size_t)length[3] << 24;
        /* A block of its own size: a sanitizer sees each byte too many. */
        char *message = n <= MESSAGE_MAX ? malloc(n > 0 ? n : 1) : NULL;
        if (message == NULL || fread(message, 1, n, stdin) != n) {
            fputs("a message that is too long, or cut\n", stderr);
            return EXIT_FAILURE;
        }
        struct verdict verdict = {0};
        parse((struct slice){message, n}, &verdict);
        print_verdict(&verdict);
        buffer_free(&verdict.body);
        free(message);
    }
    return EXIT_SUCCESS;
}
