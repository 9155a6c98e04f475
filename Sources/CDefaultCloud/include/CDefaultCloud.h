// Tidemark
// SPDX-License-Identifier: Apache-2.0

#ifndef C_DEFAULT_CLOUD_H
#define C_DEFAULT_CLOUD_H

/// Makes an object that opens stores in this process; the caller releases it.
///
/// Returns a null pointer where the program is linked without the module CloudKit, and so without the engine.
void *_Nullable tidemark_make_embedded_stores(void);

#endif
