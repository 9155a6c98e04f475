// Tidemark
// SPDX-License-Identifier: Apache-2.0

#ifndef TIDEMARK_PREFETCH_H
#define TIDEMARK_PREFETCH_H

#include <stddef.h>

/// Has the processor load the cache line of an address, and does not wait for it; Swift has no word for
/// that. The address may be any: it is not an access.
static inline void tidemark_prefetch(const void *address) {
    __builtin_prefetch(address);
}

/// Does the same for the cache lines of some bytes, at most 1 KiB.
static inline void tidemark_prefetch_bytes(const void *start, size_t count) {
    const char *place = (const char *)start;
    const char *end = place + (count < 1024 ? count : 1024);
    // Four at a time: this runs once per record.
    for (; end - place > 192; place += 256) {
        tidemark_prefetch(place);
        tidemark_prefetch(place + 64);
        tidemark_prefetch(place + 128);
        tidemark_prefetch(place + 192);
    }
    for (; place < end; place += 64) {
        tidemark_prefetch(place);
    }
}

#endif
