#include "api/files.h"

#include "engine/base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>

enum { NAME_TEXT = 512 };

static const struct {
    const char *suffix, *type;
} types[] = {
    { ".html", "text/html; charset=utf-8" },
    { ".js", "text/javascript; charset=utf-8" },
    { ".mjs", "text/javascript; charset=utf-8" },
    { ".css", "text/css; charset=utf-8" },
    { ".svg", "image/svg+xml" },
    { ".png", "image/png" },
    { ".ico", "image/x-icon" },
    { ".json", "application/json" },
    { ".txt", "text/plain; charset=utf-8" },
    { ".woff2", "font/woff2" },
};

/* Only these are sent: whatever else lies in the folder is not for browsers. */
static const char *type_of(const char *name)
{
    const char *suffix = strrchr(name, '.');
    for (size_t i = 0; suffix && i < COUNT_OF(types); i++)
        if (strcmp(types[i].suffix, suffix) == 0)
            return types[i].type;
    return NULL;
}

static int open_beneath(int folder, const char *name)
{
    const struct open_how how = { .flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW,
                                  .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS |
                                             RESOLVE_NO_MAGICLINKS };
    return (int)syscall(SYS_openat2, folder, name, &how, sizeof how);
}

int file_reply(int folder, const char *name, const char *type, struct reply *out,
               struct problem *why)
{
    scoped_fd int fd = open_beneath(folder, name);
    struct stat st;
    bool missing = errno == ENOENT || errno == ENOTDIR || errno == ELOOP || errno == EXDEV ||
                   errno == ENAMETOOLONG;
    if (fd < 0)
        return missing ? 0 : problem_errno(why, errno, "cannot open %s", name);
    if (fstat(fd, &st))
        return problem_errno(why, errno, "cannot look at %s", name);
    if (!S_ISREG(st.st_mode))
        return 0;
    if (text_fit(out->etag, sizeof out->etag, "\"%llx-%llx-%llx\"", (long long)st.st_ino,
                 (long long)st.st_size,
                 (long long)st.st_mtim.tv_sec * 1000000000LL + st.st_mtim.tv_nsec))
        return problem_set(why, PROBLEM_INTERNAL, "the etag does not fit");
    out->type = type;
    out->file_bytes = (uint64_t)st.st_size;
    out->file = steal_fd(&fd);
    return 1;
}

static int nothing_here(struct problem *why)
{
    return problem_set(why, PROBLEM_NOT_FOUND, "there is nothing at this address");
}

/* The pages that index.html draws by their address. */
static bool is_page(const struct request *in)
{
    static const char *const pages[] = { "new", "compare", "baselines", "alerts" };
    for (size_t i = 0; i < COUNT_OF(pages) && in->parts_n == 1; i++)
        if (strcmp(in->parts[0], pages[i]) == 0)
            return true;
    return in->parts_n == 0 || strcmp(in->parts[0], "jobs") == 0;
}

static int name_of(const struct request *in, char name[NAME_TEXT])
{
    size_t n = 0;
    for (size_t i = 0; i < in->parts_n; i++) {
        const char *part = in->parts[i];
        if (part[0] == '.' || part[0] == '\0' || strchr(part, '/') || strchr(part, '\\') ||
            n + strlen(part) + 2 > NAME_TEXT)
            return -1;
        n += (size_t)snprintf(name + n, NAME_TEXT - n, "%s%s", i ? "/" : "", part);
    }
    return 0;
}

int file_get(struct api *api, struct request *in, struct reply *out, struct problem *why)
{
    char name[NAME_TEXT] = "index.html";
    const char *type;
    if (api->web < 0 || (!is_page(in) && name_of(in, name)) || !(type = type_of(name)))
        return nothing_here(why);
    int result = file_reply(api->web, name, type, out, why);
    if (result <= 0)
        return result < 0 ? -1 : nothing_here(why);
    out->page = true;
    out->cache_control = "no-cache";
    return 0;
}
