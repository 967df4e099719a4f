/* A chunked body: the first two bytes say where it is cut, the rest is it.
 *
 * Decoded in place and in three pieces, it must come to what it comes to when
 * decoded in one go from here to there. */
#include <assert.h>
#include <stdlib.h>

#include "http_chunked.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct result {
    int status;
    bool done;
    size_t consumed, written;
};

/* Decodes raw[0..n), cut at the two places; the data is packed at the front of
 * `room`, as a connection does with its input. */
static struct result in_place(const char *raw, size_t n, char *room,
                              const size_t cuts[2])
{
    struct http_chunked decoder = {0};
    struct result r = {0};
    for (int i = 0; i < 3 && r.status == 0 && !r.done; i++) {
        size_t end = i < 2 ? cuts[i] : n, consumed, written;
        size_t piece = end - r.consumed;
        memcpy(room + r.written, raw + r.consumed, piece);
        r.status = http_chunked_decode(&decoder, room + r.written,
                                       room + r.written, piece, &consumed,
                                       &written);
        if (r.status != 0)
            break;
        r.done = decoder.state == CHUNK_DONE;
        assert(written <= consumed && consumed <= piece);
        assert(r.done || consumed == piece);
        r.consumed += consumed;
        r.written += written;
    }
    return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    const char *raw = (const char *)data + 2;
    size_t n = size - 2;
    size_t cuts[2] = {data[0] * n / 255, data[1] * n / 255};
    if (cuts[0] > cuts[1]) {
        size_t first = cuts[1];
        cuts[1] = cuts[0];
        cuts[0] = first;
    }

    char *room = malloc(n + 1), *whole = malloc(n + 1);
    assert(room != NULL && whole != NULL);
    struct http_chunked decoder = {0};
    struct result once = {0};
    once.status = http_chunked_decode(&decoder, whole, raw, n, &once.consumed,
                                      &once.written);
    once.done = decoder.state == CHUNK_DONE;
    struct result pieces = in_place(raw, n, room, cuts);

    assert(once.status == 0 || once.status == -400 || once.status == -413);
    assert(pieces.status == once.status);
    if (once.status == 0) {
        assert(pieces.done == once.done);
        assert(pieces.consumed == once.consumed);
        assert(pieces.written == once.written);
        assert(memcmp(room, whole, once.written) == 0);
        assert(decoder.overhead <= HTTP_CHUNK_OVERHEAD);
    }
    free(room);
    free(whole);
    return 0;
}
