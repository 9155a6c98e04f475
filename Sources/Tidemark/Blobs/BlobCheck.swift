// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkEvents
package import TidemarkLog

/// Compares the blobs on disk with those that a log names.
///
/// About 200 bytes of memory for each blob that is named.
package struct BlobCheck {
    private let blobs: BlobStore
    private var named = NamedBlobs()
    private var uses: [HeldBlob: Use] = [:]

    /// The record that names a blob.
    private struct Use {
        var byteCount: UInt64
        var recordName: String
        var first: SequenceNumber
        var eventCount = 0

        var text: String {
            let others =
                switch eventCount {
                case 1: ""
                case 2: " and another version"
                default: " and \(eventCount - 1) other versions"
                }
            return "the record \(recordName) (event \(first))\(others)"
        }
    }

    /// Begins a check of the blobs of a store.
    package init(of store: StoreFolder, _ fileSystem: any FileSystem) {
        blobs = BlobStore(store, fileSystem)
    }

    /// The number of blobs that the log names.
    package var count: Int { uses.count }

    /// Takes in the next event of the log.
    package mutating func add(_ event: LogEvent) throws(EventFormatError) {
        for asset in try named.assets(of: event) {
            let first = Use(
                byteCount: asset.byteCount,
                recordName: asset.recordName,
                first: event.sequence
            )
            // The first event that names a blob gives its size. Later versions mostly repeat it.
            uses[asset.blob, default: first].eventCount += 1
        }
    }

    /// Reads all blobs that were named, and returns those that are not as they should be, in the order
    /// of their files.
    package func finish() throws(LogError) -> [LogError] {
        var damage: [LogError] = []
        // By path, so that findings come in one order, whatever that of a dictionary is.
        let order = uses.map { (path: blobs.path(of: $0.key), blob: $0.key, use: $0.value) }
            .sorted { $0.path < $1.path }
        for (index, (path, blob, use)) in order.enumerated() {
            try LongWork.step(index, of: order.count)
            if let problem = problem(with: blob, byteCount: use.byteCount) {
                damage.append(
                    LogError(
                        .corrupted,
                        "\(problem) It is named by \(use.text). Send the asset again (`tidemark asset "
                            + "put`), or put the file back from a backup.",
                        path: path
                    )
                )
            }
        }
        return damage
    }

    private func problem(with blob: HeldBlob, byteCount: UInt64) -> String? {
        do throws(BlobError) {
            let reader = try blobs.open(blob)
            guard reader.byteCount == byteCount else {
                return "This asset has \(reader.byteCount) bytes, and should have \(byteCount)."
            }
            try reader.readToEnd()
            return nil
        } catch {
            switch error {
            case .missing: return "The bytes of this asset are missing."
            case .damaged: return "The bytes of this asset are not those that were sent."
            default: return error.description
            }
        }
    }
}
