/* What a guest typed: a line with a field's name, then a form. The field is
 * looked up, judged as name and as remark, and made safe to show. */
#include <assert.h>

#include "text.h"
#include "pages/guestbook.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Escaped text is UTF-8, and of markup it has only the five references. */
static void check_escaped(struct slice s)
{
    static const struct slice references[] = {
        {"&amp;", 5}, {"&lt;", 4}, {"&gt;", 4}, {"&quot;", 6}, {"&#39;", 5}};
    assert(text_utf8_length(s) >= 0);
    for (; s.n > 0; s.p++, s.n--) {
        unsigned char c = (unsigned char)s.p[0];
        bool known = c != '&';
        for (size_t i = 0; i < sizeof references / sizeof references[0]; i++)
            known |= slice_has_prefix(s, references[i]);
        assert(known);
        assert(c != '<' && c != '>' && c != '"' && c != '\'' && c != 0x7f);
        assert(c >= ' ' || c == '\t' || c == '\n' || c == '\r');
    }
}

/* Every byte as an escape, which must decode to the same. */
static void check_encoded_again(struct slice value)
{
    static const char hex[] = "0123456789abcdefABCDEF";
    struct buffer form = {0}, out = {0};
    buffer_append_literal(&form, "x=1&f=");
    for (size_t i = 0; i < value.n; i++) {
        unsigned char c = (unsigned char)value.p[i];
        char escape[3] = {'%', hex[c >> 4], hex[c & 15]};
        buffer_append(&form, escape, sizeof escape);
    }
    assert(form_get((struct slice){form.data, form.len}, SLICE("f"), &out) ==
           1);
    assert(slice_equal((struct slice){out.data, out.len}, value));
    buffer_free(&form);
    buffer_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice form = {(const char *)data, size}, name = {form.p, 0};
    const char *end = size > 0 ? memchr(form.p, '\n', size) : NULL;
    if (end == NULL)
        return 0;
    name.n = (size_t)(end - form.p);
    form.p += name.n + 1;
    form.n -= name.n + 1;

    struct buffer out = {0}, escaped = {0};
    int found = form_get(form, name, &out);
    struct slice value = {out.data, out.len};
    assert(found >= -1 && found <= 1);
    assert(value.n <= form.n && (found != 0 || value.n == 0));
    if (found == 1) {
        check_encoded_again(value);
        if (guestbook_check(value, SLICE("remark")) == NULL)
            assert(text_utf8_length(value) >= 1 &&
                   text_utf8_length(value) <= GUESTBOOK_NAME_MAX);
        if (guestbook_check(SLICE("name"), value) == NULL)
            assert(text_utf8_length(value) >= 1 &&
                   text_utf8_length(value) <= GUESTBOOK_TEXT_MAX);
        text_append_escaped(&escaped, value);
        check_escaped((struct slice){escaped.data, escaped.len});
    }
    buffer_free(&out);
    buffer_free(&escaped);
    return 0;
}
