/* site_open - opens the folders and reads the templates; see
 * site_open.h. */
#include "fatal.h"
#define uthash_fatal(message) die("out of memory")
#include "site_open.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include "file_table.h"
#include "router.h"

/* If the file cannot be opened, `what` ends the message. */
static int open_below(const char *root, const char *name, int flags,
                      const char *what)
{
    char *path;
    if (asprintf(&path, "%s/%s", root, name) < 0)
        die("out of memory");
    int fd = open(path, flags | O_CLOEXEC);
    if (fd < 0)
        die("cannot open %s (%s)%s", path, strerror(errno), what);
    free(path);
    return fd;
}

/* Returns the text of a file of templates/, which lives as long as the
 * process. It is read before fork(2), so that all processes share it. */
static struct slice read_template(const char *root, const char *path,
                                  const struct page *page)
{
    char *text = NULL, *what;
    size_t size = 0;
    if (asprintf(&what, ", the template of the page %s", page->path) < 0)
        die("out of memory");
    FILE *file = fdopen(open_below(root, path, O_RDONLY, what), "r");
    if (file == NULL)
        die("out of memory");
    free(what);
    errno = 0;
    ssize_t n = getdelim(&text, &size, '\0', file);
    if (n < 0 && errno != 0)
        die("cannot read %s: %s", path, strerror(errno));
    if (n < 0 || memchr(text, '\0', (size_t)n) != NULL)
        die("%s is not a template: it is empty or has a NUL byte", path);
    fclose(file);
    return (struct slice){text, (size_t)n};
}

static bool page_fills(const struct page *page, struct slice place)
{
    if (page->places == NULL)
        return false;
    for (const char *const *name = page->places; *name != NULL; name++)
        if (slice_equal(slice_of(*name), place))
            return true;
    return false;
}

static void check_places(const struct page *page, struct slice text,
                         const char *path)
{
    for (; text.n > 0; slice_skip(&text, 1)) {
        struct slice place = {text.p, template_place(text)};
        if (place.n > 0 && !page_fills(page, place))
            die("%s has a place %.*s, which the page %s does not fill", path,
                (int)place.n, place.p, page->path);
    }
}

static void add_template(struct site *site, const char *root,
                         const struct page *page)
{
    struct site_template *template;
    char *path;
    if (asprintf(&path, "templates/%s/index.html", page->template) < 0)
        die("out of memory");
    HASH_FIND_STR(site->templates, page->template, template);
    if (template == NULL) {
        template = malloc(sizeof *template);
        if (template == NULL)
            die("out of memory");
        template->name = page->template;
        template->text = read_template(root, path, page);
        HASH_ADD_KEYPTR(hh, site->templates, template->name,
                        strlen(template->name), template);
    }
    check_places(page, template->text, path);
    free(path);
}

static int is_picture(const struct dirent *entry)
{
    return entry->d_name[0] != '.' && entry->d_type != DT_DIR;
}

/* Lists the pictures for /redirect once: a new one needs a restart. */
static void find_pictures(struct site *site)
{
    int n = scandirat(site->public_folder, "pictures", &site->pictures,
                      is_picture, NULL);
    if (n > 0)
        site->picture_count = (unsigned)n;
}

/* Ends the process for a mistake that would otherwise show only when a
 * client asks, and gets the wrong page or none. */
static void check_definition(const struct page *page)
{
    if (page->path == NULL || page->path[0] != '/')
        die("a page has the path \"%s\"; a path begins with /",
            page->path != NULL ? page->path : "");
    if ((page->methods & HTTP_GET) == 0)
        die("the page %s does not take GET: see .methods", page->path);
    if (page->on_request == NULL)
        die("the page %s has no .on_request", page->path);
    if (router_page(page->path) != page)
        die("two pages have the path %s", page->path);
}

void site_open(struct site *site, const char *root)
{
    /* O_PATH: a place to start a path walk from, with nothing to read. */
    site->public_folder = open_below(
        root, "public", O_PATH | O_DIRECTORY,
        "; start in the folder that holds public/ and templates/, or name it "
        "with --root");
    if (!file_table_can_open(site->public_folder) &&
        (errno == ENOSYS || errno == EPERM))
        die("openat2(2), which keeps requests inside public/, is missing "
            "(%s): it needs Linux 5.6 or newer, and a container that allows "
            "it", strerror(errno));
    find_pictures(site);
    for (const struct page *const *page = router_pages; *page != NULL; page++) {
        check_definition(*page);
        site->names_clients |= (*page)->names_client;
        if ((*page)->template != NULL)
            add_template(site, root, *page);
    }
}
