// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkEvents
package import TidemarkLog
import TidemarkModel

/// The reason why a blob could not be stored, found or read.
package enum BlobError: Error, Hashable, Sendable {
    /// A call to the file system failed; nothing new is stored under the blob's name.
    case file(FileError)
    /// The blob has more bytes than allowed.
    case tooLarge(limit: UInt64)
    /// The bytes are not those that were announced.
    case mismatch(announced: BlobID, found: BlobID)
    /// The store was closed before the blob was complete.
    case closed
    /// There is no such blob.
    case missing(BlobID)
    /// The blob's file does not hold its bytes any more.
    case damaged(BlobID, path: String)
}

extension BlobError: CustomStringConvertible {
    /// A description of the error: its cause, its place and its remedy.
    package var description: String {
        remedy.map { "\(message) \($0)" } ?? message
    }

    /// The cause and the place of the error.
    fileprivate var message: String {
        switch self {
        case .file(let error): error.description
        case .tooLarge(let limit):
            "The asset has more than \(limit) bytes, which is the limit."
        case .mismatch(let announced, let found):
            "The asset was announced as \(announced), but its bytes are \(found)."
        case .closed: "The store was closed before the asset was complete."
        case .missing(let blob): "The bytes of the asset \(blob) are missing."
        case .damaged(let blob, let path):
            "The file of the asset \(blob) no longer holds its bytes (\(path))."
        }
    }

    /// The remedy; `nil` for an error of a file, whose message may have one.
    fileprivate var remedy: String? {
        switch self {
        case .file: nil
        case .tooLarge: "Send a smaller one, or raise the limit."
        case .mismatch, .closed: "Send it again."
        case .missing: "Send them again."
        case .damaged: "Send the asset again, or put the file back from a backup."
        }
    }
}

extension SyncError {
    /// A blob that could not be stored or read, as a caller meets it.
    init(_ error: BlobError) {
        let code: Code =
            switch error {
            case .file(let cause): cause.isOutOfSpace ? .quotaExceeded : .serviceUnavailable
            case .tooLarge: .limitExceeded
            case .mismatch: .assetFileModified
            case .closed: .serviceUnavailable
            case .missing, .damaged: .assetNotAvailable
            }
        self.init(
            code,
            error.message,
            isDiskFull: code == .quotaExceeded,
            remedy: error.remedy
        )
    }
}
