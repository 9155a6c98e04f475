// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog

/// The lengths that a log gives to the blobs it names.
///
/// About 100 bytes of memory for each blob that is named.
struct BlobLengths {
    private var named: [HeldBlob: Set<UInt64>] = [:]
    /// Tells whether every event was read.
    ///
    /// If not, a blob that no event was seen to name may have a name.
    private let isComplete: Bool

    /// A blob that no event names is not read if its file has holes and is longer than this.
    private static let unnamedByteCountLimit: UInt64 = 1 << 30

    /// Reads the log of a store, as far as it can be read.
    ///
    /// O(events).
    init(of store: StoreFolder, _ fileSystem: any FileSystem) {
        var named: [HeldBlob: Set<UInt64>] = [:]
        var assets = NamedBlobs()
        do {
            let reader = try LogReader(store.path, fileSystem: fileSystem)
            var isReadable = true
            try reader.scan(from: SequenceNumber(rawValue: 1), through: reader.durableSequence) {
                // An event that cannot be read may name any blob.
                guard let found = try? assets.assets(of: $0) else {
                    isReadable = false
                    return true
                }
                for asset in found { named[asset.blob, default: []].insert(asset.byteCount) }
                return true
            }
            isComplete = isReadable && reader.damage.isEmpty
        } catch {
            isComplete = false
        }
        self.named = named
    }

    /// Returns true if a file with holes can hold a blob, judged by the file's length alone.
    func allow(_ byteCount: UInt64, of blob: HeldBlob) -> Bool {
        guard let lengths = named[blob] else {
            return !isComplete || byteCount <= Self.unnamedByteCountLimit
        }
        return lengths.contains(byteCount)
    }
}
