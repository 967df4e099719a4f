/* site - opens the folders and reads the templates; see site.h. */
#include "site.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include "fatal.h"

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

/* Before fork(2), so that all processes share the text. */
static void read_template(struct site *site, const char *root)
{
    char *text = NULL;
    size_t size = 0;
    int fd = open_below(root, "templates/guestbook/index.html", O_RDONLY);
    FILE *file = fdopen(fd, "r");
    ssize_t n = file != NULL ? getdelim(&text, &size, '\0', file) : -1;
    if (n < 0)
        die("cannot read the guestbook's template: %s", strerror(errno));
    fclose(file);
    site->guestbook_template = (struct slice){text, (size_t)n};
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
    site->picture_count = n > 0 ? (unsigned)n : 0;
}

void site_open(struct site *site, const char *root)
{
    /* O_PATH: a place to start a path walk from, with nothing to read. */
    site->public_folder = open_below(root, "public", O_PATH | O_DIRECTORY);
    read_template(site, root);
    find_pictures(site);
}
