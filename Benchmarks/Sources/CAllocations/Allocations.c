// Tidemark
// SPDX-License-Identifier: Apache-2.0

// Counts allocations by standing in front of glibc's allocator: an executable that links this file
// defines malloc and its kin, so every library in the process calls these, and these call glibc's
// own functions under their other names. Nothing is preloaded and nothing is patched.

#include "CAllocations.h"

#if defined(__linux__) && defined(__GLIBC__)

#include <errno.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);

static _Atomic uint64_t allocationCount;
static _Atomic uint64_t requestedByteCount;
static _Atomic int64_t liveByteCount;

static void *counted(void *memory, size_t size) {
    if (memory != NULL) {
        atomic_fetch_add_explicit(&allocationCount, 1, memory_order_relaxed);
        atomic_fetch_add_explicit(&requestedByteCount, size, memory_order_relaxed);
        atomic_fetch_add_explicit(
            &liveByteCount, (int64_t)malloc_usable_size(memory), memory_order_relaxed);
    }
    return memory;
}

void *malloc(size_t size) { return counted(__libc_malloc(size), size); }

void *calloc(size_t count, size_t size) {
    return counted(__libc_calloc(count, size), count * size);
}

void *realloc(void *old, size_t size) {
    int64_t before = old == NULL ? 0 : (int64_t)malloc_usable_size(old);
    void *memory = __libc_realloc(old, size);
    if (memory != NULL || (old != NULL && size == 0)) {
        atomic_fetch_sub_explicit(&liveByteCount, before, memory_order_relaxed);
    }
    return counted(memory, size);
}

void free(void *memory) {
    if (memory == NULL) { return; }
    atomic_fetch_sub_explicit(
        &liveByteCount, (int64_t)malloc_usable_size(memory), memory_order_relaxed);
    __libc_free(memory);
}

void *memalign(size_t alignment, size_t size) {
    return counted(__libc_memalign(alignment, size), size);
}

void *aligned_alloc(size_t alignment, size_t size) {
    return counted(__libc_memalign(alignment, size), size);
}

int posix_memalign(void **result, size_t alignment, size_t size) {
    if (alignment < sizeof(void *) || (alignment & (alignment - 1)) != 0) { return EINVAL; }
    void *memory = counted(__libc_memalign(alignment, size), size);
    if (memory == NULL) { return ENOMEM; }
    *result = memory;
    return 0;
}

void *valloc(size_t size) {
    return counted(__libc_memalign((size_t)sysconf(_SC_PAGESIZE), size), size);
}

bool tidemark_allocations_are_counted(void) { return true; }

tidemark_allocations tidemark_allocations_now(void) {
    return (tidemark_allocations){
        atomic_load(&allocationCount),
        atomic_load(&requestedByteCount),
        atomic_load(&liveByteCount),
    };
}

#else

bool tidemark_allocations_are_counted(void) { return false; }

tidemark_allocations tidemark_allocations_now(void) { return (tidemark_allocations){0, 0, 0}; }

#endif
