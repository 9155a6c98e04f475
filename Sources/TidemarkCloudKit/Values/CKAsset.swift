// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import Foundation
import TidemarkLock
import TidemarkModel

/// A file that belongs to a record.
///
/// Unchecked: the mutable state is behind a lock.
open class CKAsset: NSObject, NSSecureCoding, @unchecked Sendable {
    /// The place of the bytes.
    enum Place: Sendable {
        /// In a file of the app, not sent yet.
        case file(URL)
        /// Bytes of the service, under this reference, and in a file if they were uploaded or
        /// fetched.
        case service(AssetReference, file: URL?)
        /// Bytes of the service, and in a temporary file that is removed with the assets that refer
        /// to it.
        case fetched(AssetReference, TemporaryFile)
    }

    private let state: Lock<Place>

    /// Creates an asset from a file that is uploaded when a record with this asset is saved.
    ///
    /// The file is read then: keep it until the save is done.
    public init(fileURL: URL) {
        precondition(
            fileURL.isFileURL,
            "CKAsset(fileURL:) needs the URL of a file; found \(fileURL.absoluteString)"
        )
        state = Lock(.file(fileURL))
    }

    // Older code does not unwrap it, newer code does: both compile.
    // swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
    /// The file; `nil` if the bytes were not fetched.
    open var fileURL: URL! {
        switch place {
        case .file(let url): url
        case .service(_, let url): url
        case .fetched(_, let file): file.url
        }
    }

    /// The file.
    open override var description: String {
        "<CKAsset: \(fileURL?.path ?? "bytes not fetched")>"
    }

    // MARK: Coding

    /// True.
    public static var supportsSecureCoding: Bool { true }

    /// The file and the name of the bytes, as they are archived.
    struct Archive: Codable {
        var file: URL?
        var checksum: Data?
        var byteCount: UInt64?
        var referenceChecksum: Data?
        var wrappingKey: Data?
    }

    var archived: Archive {
        switch place {
        case .file(let url): Archive(file: url)
        case .service(let reference, let url):
            Archive(
                file: url,
                checksum: Data(reference.checksum),
                byteCount: reference.byteCount,
                referenceChecksum: reference.referenceChecksum.map { Data($0) },
                wrappingKey: reference.wrappingKey.map { Data($0) }
            )
        case .fetched(let reference, let file):
            // The file may be gone when the archive is read. The reference still names the bytes.
            CKAsset(.service(reference, file: file.url)).archived
        }
    }

    convenience init?(_ archive: Archive) {
        guard let place = Self.place(archive) else { return nil }
        self.init(place)
    }

    private static func place(_ archive: Archive) -> Place? {
        guard let checksum = archive.checksum, let byteCount = archive.byteCount else {
            return archive.file.map { .file($0) }
        }
        let reference = AssetReference(
            checksum: Array(checksum),
            byteCount: byteCount,
            referenceChecksum: archive.referenceChecksum.map { Array($0) },
            wrappingKey: archive.wrappingKey.map { Array($0) }
        )
        return .service(reference, file: archive.file)
    }

    /// Writes the place of the bytes, not the bytes.
    open func encode(with coder: NSCoder) {
        coder.encode(archive: archived)
    }

    /// Reads the place of the bytes.
    public required init?(coder: NSCoder) {
        guard let archive = coder.archive(of: Archive.self), let place = Self.place(archive) else {
            return nil
        }
        state = Lock(place)
    }

    // MARK: The service

    init(_ place: Place) {
        state = Lock(place)
    }

    /// Creates an asset that a record of the service names and whose bytes were not fetched.
    convenience init(_ model: AssetReference) {
        self.init(.service(model, file: nil))
    }

    var place: Place { state.withLock { $0 } }

    /// The service's reference to the bytes; `nil` before they are sent.
    var model: AssetReference? {
        switch place {
        case .file: nil
        case .service(let reference, _), .fetched(let reference, _): reference
        }
    }

    /// Records that the service has the bytes of the file.
    func wasSent(as reference: AssetReference) {
        state.withLock { place in
            switch place {
            case .file(let url): place = .service(reference, file: url)
            // Sent again: the bytes of another database, whose reference may be in the asset.
            case .service(_, let url): place = .service(reference, file: url)
            case .fetched(_, let file): place = .fetched(reference, file)
            }
        }
    }

    /// Records that the service does not have the bytes of the file.
    func wasNotSent() {
        state.withLock { place in
            // Without a file there is nothing that could be sent, so the reference stays.
            if case .service(_, let url?) = place { place = .file(url) }
        }
    }

    /// Records that the bytes are in a file.
    func wasFetched(to file: TemporaryFile) {
        state.withLock { place in
            if case .service(let reference, _) = place { place = .fetched(reference, file) }
        }
    }

    /// Takes the file of another asset with the same bytes.
    func takeFile(of other: CKAsset) {
        // Before this asset's lock is taken: the locks of two assets are never held together.
        let held = other.place
        state.withLock { $0 = held }
    }
}
