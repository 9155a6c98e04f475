// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// The service's records in a conflict, with the files of their assets.
///
/// A program that merges them saves one of them again, or takes assets from it. Without the asset's
/// file, the program's own, older asset would replace it.
struct ConflictingRecords {
    let server: CKRecord
    let ancestor: CKRecord?
}
