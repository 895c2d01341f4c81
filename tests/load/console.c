#include "tests/load/console.h"

#include <string.h>

enum { LINE_BYTES = 256 };

static uv_pipe_t input;
static char line[LINE_BYTES];
static size_t line_len;
static char chunk[LINE_BYTES];
static void (*on_command)(void *ctx, const char *line);
static void *on_command_ctx;

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
    (void)handle;
    (void)suggested;
    *buf = uv_buf_init(chunk, sizeof chunk);
}

static void on_read(uv_stream_t *stream, ssize_t count, const uv_buf_t *buf)
{
    if (count < 0) {
        uv_close((uv_handle_t *)stream, NULL);
        on_command(on_command_ctx, NULL);
        return;
    }
    for (ssize_t i = 0; i < count; i++) {
        char c = buf->base[i];
        if (c != '\n' && line_len < sizeof line - 1) {
            line[line_len++] = c;
        } else if (c == '\n') {
            line[line_len] = '\0';
            line_len = 0;
            on_command(on_command_ctx, line);
        }
    }
}

void console_open(uv_loop_t *loop, void (*command)(void *ctx, const char *line), void *ctx)
{
    on_command = command;
    on_command_ctx = ctx;
    if (uv_guess_handle(0) != UV_NAMED_PIPE) {
        command(ctx, NULL);
        return;
    }
    uv_pipe_init(loop, &input, 0);
    uv_pipe_open(&input, 0);
    uv_read_start((uv_stream_t *)&input, on_alloc, on_read);
}
