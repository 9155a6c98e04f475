// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkEvents

/// The shared state of commits and asset collections at the serialization point
/// (Docs/formats/assets.md, "Collecting").
package struct AssetNaming: Sendable {
    /// The number of blobs that collections have removed since the store was opened.
    package private(set) var takenCount: UInt64 = 0
    /// The blobs that commits have named since the first of the running collections began.
    private var named: Set<HeldBlob> = []
    private var collectionCount = 0

    /// Records the blobs that a commit names.
    package mutating func note(_ blobs: [HeldBlob]) {
        if collectionCount > 0 { named.formUnion(blobs) }
    }

    /// Begins a collection.
    package mutating func beginCollection() {
        collectionCount += 1
    }

    /// Ends a collection.
    package mutating func endCollection() {
        collectionCount -= 1
        // Several collections can overlap. Names stay until the last of them has ended.
        if collectionCount == 0 { named = [] }
    }

    /// Returns true if a commit has named a blob since a running collection began.
    package func isNamed(_ blob: HeldBlob) -> Bool { named.contains(blob) }

    /// Records that a blob was removed.
    package mutating func noteTaken() {
        takenCount += 1
    }
}
