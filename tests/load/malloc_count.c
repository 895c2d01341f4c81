/* Preloaded into a server, counts its heap allocations, so that a test can show that a request
 * costs none:
 *
 *     LD_PRELOAD=libmalloc_count.so MALLOC_COUNT_FILE=/path rosterd …
 *
 * The file holds the number as 8 bytes in the machine's order, mapped, so it is always current. */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* glibc's own names, so that nothing has to be looked up before the first allocation. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

static _Atomic uint64_t before_the_file;
static _Atomic uint64_t *counter = &before_the_file;

__attribute__((constructor)) static void map_counter(void)
{
    const char *path = getenv("MALLOC_COUNT_FILE");
    int fd = path == NULL ? -1 : open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0) {
        return;
    }
    if (ftruncate(fd, sizeof *counter) == 0) {
        void *at = mmap(NULL, sizeof *counter, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (at != MAP_FAILED) {
            counter = at;
        }
    }
    close(fd);
}

static void count(void)
{
    atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

void *malloc(size_t size)
{
    count();
    return __libc_malloc(size);
}

void *calloc(size_t number, size_t size)
{
    count();
    return __libc_calloc(number, size);
}

void *realloc(void *old, size_t size)
{
    count();
    return __libc_realloc(old, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    count();
    return __libc_memalign(alignment, size);
}

int posix_memalign(void **out, size_t alignment, size_t size)
{
    count();
    *out = __libc_memalign(alignment, size);
    return *out == NULL ? ENOMEM : 0;
}
