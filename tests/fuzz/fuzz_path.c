/* A path, as it stands in a request: whatever its spelling, it leads to no file
 * outside public/ and to no hidden one. All of these have "secret" in them. */
#include <assert.h>
#include <stdlib.h>
#include <unistd.h>

#include "../unit/world.h"
#include "router.h"
#include "static_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct world world;

static void end_world(void)
{
    world_destroy(&world);
}

static void begin_world(void)
{
    static const char *const links[][2] = {
        {"../secret", "public/out"},       {"/", "public/root"},
        {"../../secret", "public/folder/out"}, {"..", "public/up"},
        {"folder", "public/inside"}};
    world_create(&world);
    atexit(end_world);
    folder_write(&world.folder, "secret", "secret", 6);
    for (size_t i = 0; i < sizeof links / sizeof links[0]; i++)
        assert(symlinkat(links[i][0], world.folder.fd, links[i][1]) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (world.folder.path[0] == '\0')
        begin_world();
    struct slice raw = {(const char *)data, size};
    char path[HTTP_PATH_MAX + 1];
    int status = router_decode_path(raw, path, sizeof path);
    assert(status == 0 || status == 400 || status == 404);
    if (status != 0)
        return 0;
    assert(strlen(path) <= size);
    if (!static_file_path_allowed(path))
        return 0;

    struct open_file *file;
    world_pass(&world, 1);
    status = file_table_open(&world.context.files, path + 1,
                             world.context.clock.now_ms, &file);
    assert(status == 0 || status == 301 || status == 404);
    if (status == 0) {
        static char text[2 * WORLD_BIG_SIZE];
        ssize_t n = pread(file->fd, text, sizeof text, 0);
        assert(n == file->status.st_size);
        assert(memmem(text, (size_t)n, "secret", 6) == NULL);
        file_release(file);
    }
    return 0;
}
