// Loaded before a target: hash tables get the same keys in every run, so that the edges
// that are reached are those of the inputs and of nothing else.
#include <string.h>
#include <sys/types.h>

ssize_t getrandom(void *buffer, size_t length, unsigned flags) {
    (void)flags;
    memset(buffer, 42, length);
    return (ssize_t)length;
}
