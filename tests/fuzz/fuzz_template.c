/* A template: the first lines say what $A$, $BB$ and $A stand for, the rest is
 * the template. What comes out must be what a plain loop over the bytes, which
 * is slow and easy to believe, makes of it. */
#include <assert.h>

#include "text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { VALUES = 3 };

static void render_plainly(struct buffer *out, struct slice text,
                           const struct template_value *values)
{
    for (size_t at = 0; at < text.n;) {
        const struct template_value *found = NULL;
        for (int i = 0; i < VALUES && found == NULL; i++) {
            size_t n = values[i].name.n;
            if (text.n - at >= n &&
                memcmp(text.p + at, values[i].name.p, n) == 0)
                found = &values[i];
        }
        if (found != NULL) {
            buffer_append_slice(out, found->value);
            at += found->name.n;
        } else {
            buffer_append(out, text.p + at, 1);
            at++;
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice text = {(const char *)data, size};
    struct template_value values[VALUES] = {
        {SLICE("$A$"), {NULL, 0}, true},
        {SLICE("$BB$"), {NULL, 0}, true},
        {SLICE("$A"), {NULL, 0}, true}};
    for (int i = 0; i < VALUES; i++) {
        const char *end = text.n > 0 ? memchr(text.p, '\n', text.n) : NULL;
        if (end == NULL)
            return 0;
        values[i].value = (struct slice){text.p, (size_t)(end - text.p)};
        text.p += values[i].value.n + 1;
        text.n -= values[i].value.n + 1;
    }

    struct buffer out = {0}, plainly = {0};
    template_render(&out, text, values, VALUES);
    render_plainly(&plainly, text, values);
    assert(out.len == plainly.len);
    if (out.data != NULL && plainly.data != NULL)
        assert(memcmp(out.data, plainly.data, out.len) == 0);
    buffer_free(&out);
    buffer_free(&plainly);
    return 0;
}
