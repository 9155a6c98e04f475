// Tidemark
// SPDX-License-Identifier: Apache-2.0

#ifndef TIDEMARK_HEAPS_H
#define TIDEMARK_HEAPS_H

#if defined(__GLIBC__) || __has_include(<gnu/libc-version.h>)
#include <malloc.h>
#endif

/// Has all threads share one heap, where the C library would otherwise reserve one for each.
static inline void tidemark_share_one_heap(void) {
#if defined(M_ARENA_MAX)
    mallopt(M_ARENA_MAX, 1);
#endif
}

#endif
