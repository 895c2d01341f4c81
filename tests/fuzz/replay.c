/* Runs a fuzz target over the files it is given, or over all files of a folder: each corpus is a
 * test where there is no libFuzzer. An empty corpus is an error. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replayed;

static void replay_file(const char *path)
{
    FILE *in = fopen(path, "rb");
    if (in == NULL) {
        perror(path);
        exit(1);
    }
    struct stat status;
    if (fstat(fileno(in), &status) != 0) {
        perror(path);
        exit(1);
    }
    /* Exactly as large as the input, so that a read behind it is seen. */
    size_t size = (size_t)status.st_size;
    uint8_t *data = malloc(size == 0 ? 1 : size);
    if (data == NULL || fread(data, 1, size, in) != size) {
        perror(path);
        exit(1);
    }
    fclose(in);
    LLVMFuzzerTestOneInput(data, size);
    free(data);
    replayed++;
}

static void replay_folder(const char *path)
{
    DIR *folder = opendir(path);
    if (folder == NULL) {
        perror(path);
        exit(1);
    }
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        char file[4096];
        if (entry->d_name[0] != '.') {
            snprintf(file, sizeof file, "%s/%s", path, entry->d_name);
            replay_file(file);
        }
    }
    closedir(folder);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        struct stat status;
        if (stat(argv[i], &status) == 0 && S_ISDIR(status.st_mode)) {
            replay_folder(argv[i]);
        } else {
            replay_file(argv[i]);
        }
    }
    printf("%d inputs\n", replayed);
    return replayed > 0 ? 0 : 1;
}
