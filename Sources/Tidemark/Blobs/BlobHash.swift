// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Crypto
import TidemarkEvents

/// The SHA-256 of bytes in pieces.
///
/// Only this type knows the implementation of the hash.
struct BlobHash {
    private var hash = SHA256()

    /// Takes the next bytes in.
    mutating func update(_ bytes: RawSpan) {
        bytes.withUnsafeBytes { hash.update(bufferPointer: $0) }
    }

    /// The blob that all the bytes so far are.
    func finish() -> BlobID {
        BlobID(sha256: hash.finalize())
    }
}
