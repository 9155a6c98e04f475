// Tidemark
// SPDX-License-Identifier: Apache-2.0

#ifndef TIDEMARK_PREFETCH_H
#define TIDEMARK_PREFETCH_H

/// Has the processor load the cache line of an address, and does not wait for it; Swift has no word for
/// that. The address may be any: it is not an access.
static inline void tidemark_prefetch(const void *address) {
    __builtin_prefetch(address);
}

#endif
