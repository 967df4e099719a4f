/* The pages, a line each: pages/NAME.c defines `const struct page
 * page_NAME`. Every other path names a file below public/. */
PAGE(answer)
PAGE(hello)
PAGE(guestbook)
PAGE(redirect)
PAGE(echo)
PAGE(compute)
