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
    size_t end = count < 1024 ? count : 1024;
    for (size_t place = 0; place < end; place += 64) {
        tidemark_prefetch((const char *)start + place);
    }
}

#endif
