// Tidemark
// SPDX-License-Identifier: Apache-2.0

#ifndef TIDEMARK_ALLOCATIONS_H
#define TIDEMARK_ALLOCATIONS_H

#include <stdbool.h>
#include <stdint.h>

/// What the process has asked of malloc since it started. Zero everywhere but on Linux with glibc.
typedef struct {
    /// Calls that returned new memory: malloc, calloc, realloc, memalign and their kin.
    uint64_t allocationCount;
    /// Bytes asked for.
    uint64_t requestedByteCount;
    /// Bytes in use now, as the allocator rounds them.
    int64_t liveByteCount;
} tidemark_allocations;

/// Whether this build counts.
bool tidemark_allocations_are_counted(void);

/// The counters at this moment, summed over all threads.
tidemark_allocations tidemark_allocations_now(void);

#endif
