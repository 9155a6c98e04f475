// Tidemark
// SPDX-License-Identifier: Apache-2.0

#include "CDefaultCloud.h"

#include <stddef.h>

#ifdef __ELF__
// The module CloudKit defines it. Swift cannot ask whether a symbol was linked, and runs no code of a module
// because it was imported.
extern void *tidemark_cloudkit_embedded_stores(void) __attribute__((weak));
#endif

void *tidemark_make_embedded_stores(void) {
#ifdef __ELF__
    return tidemark_cloudkit_embedded_stores ? tidemark_cloudkit_embedded_stores() : NULL;
#else
    return NULL;
#endif
}
