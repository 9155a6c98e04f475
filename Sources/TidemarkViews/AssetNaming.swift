// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkEvents

/// What commits and collections of assets know of each other, at the serialization point
/// (Docs/formats/assets.md, "Collecting").
package struct AssetNaming: Sendable {
    /// How many blobs collections have taken away since the store was opened.
    package private(set) var takenCount: UInt64 = 0
    /// What commits have named since the first of the collections that are under way began.
    private var named: Set<HeldBlob> = []
    private var collectionCount = 0

    /// Takes note of what a commit names.
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
        if collectionCount == 0 { named = [] }
    }

    /// Whether a commit has named a blob since a collection began that is under way.
    package func isNamed(_ blob: HeldBlob) -> Bool { named.contains(blob) }

    /// Takes note of a blob that was taken away.
    package mutating func noteTaken() {
        takenCount += 1
    }
}
