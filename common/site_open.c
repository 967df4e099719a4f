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

static int open_below(const char *root, const char *name, int flags)
{
    char *path;
    if (asprintf(&path, "%s/%s", root, name) < 0)
        die("out of memory");
    int fd = open(path, flags | O_CLOEXEC);
    if (fd < 0)
        die("cannot open %s (%s); start in the folder that holds public/ and "
            "templates/, or name it with --root", path, strerror(errno));
    free(path);
    return fd;
}

/* Returns the text of a file of templates/, which lives as long as the
 * process. It is read before fork(2), so that all processes share it. */
static struct slice read_template(const char *root, const char *path)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = fdopen(open_below(root, path, O_RDONLY), "r");
    if (file == NULL)
        die("out of memory");
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

/* A place is "$NAME$", of capitals and '_'; any other '$' is text. */
static void check_places(const struct page *page, struct slice text,
                         const char *path)
{
    static const char capitals[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ_";
    for (const char *p = text.p; (p = strchr(p, '$')) != NULL; p++) {
        size_t n = strspn(p + 1, capitals);
        if (n > 0 && p[n + 1] == '$' &&
            !page_fills(page, (struct slice){p, n + 2}))
            die("%s has a place %.*s, which the page %s does not fill", path,
                (int)n + 2, p, page->path);
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
        template->text = read_template(root, path);
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

void site_open(struct site *site, const char *root)
{
    /* O_PATH: a place to start a path walk from, with nothing to read. */
    site->public_folder = open_below(root, "public", O_PATH | O_DIRECTORY);
    if (!file_table_can_open(site->public_folder) &&
        (errno == ENOSYS || errno == EPERM))
        die("openat2(2), which keeps requests inside public/, is missing "
            "(%s): it needs Linux 5.6 or newer, and a container that allows "
            "it", strerror(errno));
    find_pictures(site);
    for (const struct page *const *page = router_pages; *page != NULL; page++) {
        site->names_clients |= (*page)->names_client;
        if ((*page)->template != NULL)
            add_template(site, root, *page);
    }
}
