// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import Foundation

/// The reason why a request, or one item of it, failed.
///
/// As an `NSError` it has the domain `CKErrorDomain`, the code's number and the same `userInfo`.
///
/// Unchecked: immutable, and this module puts only sendable values into `userInfo`.
public struct CKError: CustomNSError, @unchecked Sendable {
    /// The kind of failure.
    public let code: Code
    /// The details of the error, under the keys of CloudKit and Foundation.
    public let userInfo: [String: Any]

    /// Creates an error.
    public init(_ code: Code, userInfo: [String: Any] = [:]) {
        self.code = code
        var userInfo = userInfo
        // As on Apple's systems, programs read and write it as any type of number.
        if let seconds = userInfo[CKErrorRetryAfterKey] as? NSNumber {
            userInfo[CKErrorRetryAfterKey] = NSNumber(value: seconds.doubleValue)
        }
        self.userInfo = userInfo
    }

    // Apple's name, which programs use.
    // swift-format-ignore: NoLeadingUnderscores
    /// Converts an error of the domain `CKErrorDomain`; others become `internalError`.
    public init(_nsError error: NSError) {
        let code = error.domain == CKErrorDomain ? Code(rawValue: error.code) : nil
        self.init(code ?? .internalError, userInfo: error.userInfo)
    }

    /// `CKErrorDomain`.
    public static var errorDomain: String { CKErrorDomain }

    /// The number of the code.
    public var errorCode: Int { code.rawValue }

    /// The same as ``userInfo``.
    public var errorUserInfo: [String: Any] { userInfo }

    // A requirement of `Error` on Apple's systems, which older programs use.
    // swift-format-ignore: NoLeadingUnderscores
    /// The same as ``userInfo``.
    public var _userInfo: AnyObject? { NSDictionary(dictionary: userInfo) }

    /// The cause of the error.
    public var localizedDescription: String {
        userInfo[NSLocalizedDescriptionKey] as? String
            ?? "The operation could not be completed. (\(CKErrorDomain) error \(errorCode).)"
    }

    // MARK: Details

    /// The seconds after which the request may be repeated unchanged.
    public var retryAfterSeconds: Double? {
        userInfo[CKErrorRetryAfterKey] as? Double
    }

    /// The errors of single items, by their identity: a record's, zone's or subscription's ID, or a
    /// URL.
    public var partialErrorsByItemID: [AnyHashable: any Error]? {
        userInfo[CKPartialErrorsByItemIDKey] as? [AnyHashable: any Error]
    }
}

extension CKError: Hashable {
    /// Returns true if two errors have the same code and the same `userInfo`.
    public static func == (lhs: CKError, rhs: CKError) -> Bool {
        lhs.code == rhs.code
            && NSDictionary(dictionary: lhs.userInfo).isEqual(to: rhs.userInfo)
    }

    /// Hashes the code.
    public func hash(into hasher: inout Hasher) {
        // Values of `userInfo` need not be hashable. Equal errors have equal codes, which is
        // enough.
        hasher.combine(code)
    }
}

extension CKError: CustomStringConvertible {
    /// The code's name and number, and the cause.
    public var description: String {
        "<CKError \(errorCode) (\(code)): \(localizedDescription)>"
    }
}

// A requirement for casts between the two types. Without it, an NSError would not cast to this
// type.
// swift-format-ignore: NoLeadingUnderscores
extension CKError: _ObjectiveCBridgeable {
    /// Returns the error as an object.
    public func _bridgeToObjectiveC() -> NSError {
        NSError(domain: CKErrorDomain, code: errorCode, userInfo: userInfo)
    }

    /// Converts an error of CloudKit's domain; others become `internalError`.
    public static func _forceBridgeFromObjectiveC(_ source: NSError, result: inout CKError?) {
        result = CKError(_nsError: source)
    }

    /// Converts an error of CloudKit's domain with a known code, and no other.
    public static func _conditionallyBridgeFromObjectiveC(
        _ source: NSError,
        result: inout CKError?
    ) -> Bool {
        guard source.domain == CKErrorDomain, Code(rawValue: source.code) != nil else {
            result = nil
            return false
        }
        result = CKError(_nsError: source)
        return true
    }

    /// Converts an error of CloudKit's domain; others become `internalError`.
    public static func _unconditionallyBridgeFromObjectiveC(_ source: NSError?) -> CKError {
        source.map { CKError(_nsError: $0) } ?? CKError(.internalError)
    }
}
