/* Replays a corpus through a fuzz target without libFuzzer: replay FOLDER. Also what any prefix of
 * each file does, since files are cut off more often than they are evil. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { INPUT_MAX = 1 << 20, PREFIXES = 64 };

static int replay(const char *path, uint8_t *buf) {
    FILE *in = fopen(path, "rb");
    if (!in) return 0;
    size_t n = fread(buf, 1, INPUT_MAX, in);
    fclose(in);
    for (size_t i = 1; i <= PREFIXES; i++) {
        /* A copy of just the size, so that a sanitizer sees one byte too many. */
        size_t size = n * i / PREFIXES;
        uint8_t *exact = malloc(size ? size : 1);
        if (!exact) return 0;
        for (size_t k = 0; k < size; k++) exact[k] = buf[k];
        LLVMFuzzerTestOneInput(exact, size);
        free(exact);
    }
    return 1;
}

int main(int argc, char **argv) {
    DIR *dir = argc == 2 ? opendir(argv[1]) : NULL;
    uint8_t *buf = malloc(INPUT_MAX);
    int n = 0, failed = 0;
    if (!dir || !buf) return fprintf(stderr, "usage: %s FOLDER\n", *argv), 2;
    for (struct dirent *e; (e = readdir(dir));) {
        char path[4096];
        if (e->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "%s/%s", argv[1], e->d_name);
        if (replay(path, buf))
            n++;
        else
            failed++, fprintf(stderr, "cannot read %s\n", path);
    }
    closedir(dir);
    free(buf);
    printf("%d files and their prefixes\n", n);
    return failed || !n;
}
