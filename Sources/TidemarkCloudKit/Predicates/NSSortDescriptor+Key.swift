// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import Foundation
import TidemarkModel

/// The root of a sort descriptor's key path, which carries the name of a field.
///
/// The key path of a field leads to the text of the name. Foundation on Linux has no sort
/// descriptors by keys, and those by key paths cannot carry anything else. So the key is in the
/// path, and is read by following the path.
struct SortKeyRoot {
    subscript(key: String) -> String { key }
}

/// A sort descriptor whose key can be read.
///
/// Foundation on Linux has an unavailable `key`. If an extension of the class had one too, optimized builds
/// of programs that name a subclass would crash the compiler, which finds two.
public protocol SortDescriptorWithKey: NSSortDescriptor {}

extension NSSortDescriptor: SortDescriptorWithKey {
    /// Orders by a field, or by one of the keys of `CKRecord.SystemFieldKey`.
    public convenience init(key: String?, ascending: Bool) {
        self.init(keyPath: \SortKeyRoot[key ?? ""], ascending: ascending)
    }
}

extension SortDescriptorWithKey {
    /// The key that was given; `nil` for a descriptor that has none.
    public var key: String? {
        guard let path = keyPath as? KeyPath<SortKeyRoot, String> else { return nil }
        return SortKeyRoot()[keyPath: path]
    }
}

/// Orders by the distance of a location field from a place, near ones first.
open class CKLocationSortDescriptor: NSSortDescriptor, NSSecureCoding {
    /// The place from which distances are measured.
    public let relativeLocation: CLLocation
    private let fieldKey: String

    /// Orders by the distance of a field from a place.
    public init(key: String, relativeLocation: CLLocation) {
        self.relativeLocation = relativeLocation
        fieldKey = key
        super.init(keyPath: \SortKeyRoot[key], ascending: true)
    }

    /// True.
    public static var supportsSecureCoding: Bool { true }

    private struct Archive: Codable {
        var key: String
        var place: CLLocation.Archive
    }

    /// Writes the key and the place.
    open func encode(with coder: NSCoder) {
        coder.encode(archive: Archive(key: fieldKey, place: relativeLocation.archived))
    }

    // Apple's does not fail; an archive may contain anything.
    // swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
    /// Reads the key and the place.
    public required init!(coder aDecoder: NSCoder) {
        guard let archive = aDecoder.archive(of: Archive.self) else { return nil }
        relativeLocation = CLLocation(archive.place)
        fieldKey = archive.key
        super.init(keyPath: \SortKeyRoot[archive.key], ascending: true)
    }
}

// MARK: The service

extension NSSortDescriptor {
    /// The order for the service.
    ///
    /// Throws `invalidArguments` for a descriptor without a key.
    var model: Query.SortDescriptor {
        get throws(CKError) {
            guard let key, !key.isEmpty else {
                throw CKError(
                    .invalidArguments,
                    "Queries are ordered by NSSortDescriptor(key:ascending:) or "
                        + "CKLocationSortDescriptor(key:relativeLocation:)."
                )
            }
            guard let near = self as? CKLocationSortDescriptor else {
                return Query.SortDescriptor(Query.Key(key), ascending: ascending)
            }
            return Query.SortDescriptor(
                Query.Key(key),
                distanceFrom: try near.relativeLocation.model,
                ascending: ascending
            )
        }
    }

    /// Returns a descriptor of an order that was archived.
    static func make(_ model: Query.SortDescriptor) -> NSSortDescriptor {
        if let origin = model.origin {
            CKLocationSortDescriptor(key: "\(model.key)", relativeLocation: CLLocation(origin))
        } else {
            NSSortDescriptor(key: "\(model.key)", ascending: model.isAscending)
        }
    }
}
