/* template - a text with placeholders; see template.h. */
#include "template.h"

static const struct template_value *value_at(struct slice text,
                                             const struct template_value *values,
                                             size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (slice_has_prefix(text, values[i].name))
            return &values[i];
    return NULL;
}

void template_render(struct buffer *out, struct slice text,
                     const struct template_value *values, size_t n)
{
    while (text.n > 0) {
        const char *dollar = memchr(text.p, '$', text.n);
        size_t literal = dollar ? (size_t)(dollar - text.p) : text.n;
        buffer_append(out, text.p, literal);
        text.p += literal;
        text.n -= literal;
        if (dollar == NULL)
            return;
        const struct template_value *found = value_at(text, values, n);
        if (found != NULL)
            buffer_append_slice(out, found->value);
        else
            buffer_append(out, text.p, 1);
        size_t used = found != NULL ? found->name.n : 1;
        text.p += used;
        text.n -= used;
    }
}
