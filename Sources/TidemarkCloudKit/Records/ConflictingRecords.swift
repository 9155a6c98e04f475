// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// The records of the service that a save met, with the files of their assets.
///
/// A program that merges them saves one of them again, or takes assets from it: without its file,
/// an asset that the program keeps would be replaced by the program's own, older one.
struct ConflictingRecords {
    let server: CKRecord
    let ancestor: CKRecord?
}
