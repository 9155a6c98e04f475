// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import Foundation

// Names that CloudKit programs use and Foundation on Linux does not have.

// swift-format-ignore: AlwaysUseLowerCamelCase
/// Nanoseconds in a second.
public let NSEC_PER_SEC: UInt64 = 1_000_000_000
// swift-format-ignore: AlwaysUseLowerCamelCase
/// Nanoseconds in a millisecond.
public let NSEC_PER_MSEC: UInt64 = 1_000_000
// swift-format-ignore: AlwaysUseLowerCamelCase
/// Nanoseconds in a microsecond.
public let NSEC_PER_USEC: UInt64 = 1_000
// swift-format-ignore: AlwaysUseLowerCamelCase
/// Microseconds in a second.
public let USEC_PER_SEC: UInt64 = 1_000_000
// swift-format-ignore: AlwaysUseLowerCamelCase
/// Milliseconds in a second.
public let MSEC_PER_SEC: UInt64 = 1_000

/// Seconds since the beginning of 2001.
public typealias CFAbsoluteTime = Double

// swift-format-ignore: AlwaysUseLowerCamelCase
/// Returns the seconds since the beginning of 2001.
public func CFAbsoluteTimeGetCurrent() -> CFAbsoluteTime {
    Date().timeIntervalSinceReferenceDate
}

/// Runs a body.
///
/// On Linux every object is released at once, so there is no pool.
public func autoreleasepool<Result, Failure: Error>(
    invoking body: () throws(Failure) -> Result
) throws(Failure) -> Result {
    try body()
}

// Disfavoured, so that a Foundation that gets them is preferred.

extension UserDefaults {
    /// Sets a value, as `set(_:forKey:)` does.
    @_disfavoredOverload
    public func setValue(_ value: Any?, forKey key: String) {
        set(value, forKey: key)
    }
}

extension String {
    /// Returns the translation of a key, or the key itself.
    @_disfavoredOverload
    public init(
        localized key: String,
        table: String? = nil,
        bundle: Bundle? = nil,
        comment: StaticString? = nil
    ) {
        self = (bundle ?? .main).localizedString(forKey: key, value: nil, table: table)
    }
}

extension URL {
    /// The folder of the user's documents.
    @_disfavoredOverload
    public static var documentsDirectory: URL { folder(.documentDirectory) }

    /// The folder of files that support programs.
    @_disfavoredOverload
    public static var applicationSupportDirectory: URL { folder(.applicationSupportDirectory) }

    /// The folder of files that may be deleted.
    @_disfavoredOverload
    public static var cachesDirectory: URL { folder(.cachesDirectory) }

    /// A folder of the user, or their home if the system names none.
    private static func folder(_ place: FileManager.SearchPathDirectory) -> URL {
        FileManager.default.urls(for: place, in: .userDomainMask).first
            ?? FileManager.default.homeDirectoryForCurrentUser
    }
}

extension FileManager {
    /// The folder of an iCloud container: `nil`, which means that there is no iCloud Drive.
    @_disfavoredOverload
    public func url(forUbiquityContainerIdentifier identifier: String?) -> URL? { nil }
}

extension NSKeyedUnarchiver {
    /// Reads an archived array of objects of one class; `nil` if the archive holds something else.
    public static func unarchivedArrayOfObjects<Object: NSObject & NSCoding>(
        ofClass type: Object.Type,
        from data: Data
    ) throws -> [Object]? {
        try unarchivedArrayOfObjects(ofClasses: [type], from: data) as? [Object]
    }

    /// Reads an archived array of objects of some classes; `nil` if the archive holds something
    /// else.
    public static func unarchivedArrayOfObjects(
        ofClasses classes: [AnyClass],
        from data: Data
    ) throws -> [Any]? {
        try unarchivedObject(ofClasses: [NSArray.self] + classes, from: data) as? [Any]
    }

    /// Reads an archived dictionary; `nil` if the archive holds something else.
    public static func unarchivedDictionary<Key: NSObject & NSCoding, Object: NSObject & NSCoding>(
        ofKeyClass keyType: Key.Type,
        objectClass type: Object.Type,
        from data: Data
    ) throws -> [Key: Object]? {
        let classes: [AnyClass] = [NSDictionary.self, keyType, type]
        guard let read = try unarchivedObject(ofClasses: classes, from: data) as? NSDictionary
        else {
            return nil
        }
        var result: [Key: Object] = [:]
        // Reading from an `NSDictionary` yields Swift values, but the result has Foundation's
        // classes.
        for (key, value) in read {
            guard let key = object(key) as? Key, let value = object(value) as? Object else {
                return nil
            }
            result[key] = value
        }
        return result
    }

    /// Converts a value to the Foundation object that was archived.
    private static func object(_ value: Any) -> Any {
        switch value {
        case let text as String: text as NSString
        case let date as Date: date as NSDate
        case let data as Data: data as NSData
        case let id as UUID: id as NSUUID
        case let url as URL: url as NSURL
        default: value
        }
    }
}
