// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import Foundation
import TidemarkModel

/// The state of a client's fetches in a database or a zone.
///
/// Unchecked: immutable.
open class CKServerChangeToken: NSObject, NSCopying, NSSecureCoding, @unchecked Sendable {
    private let text: String

    /// Returns true if the other token has the same content.
    open override func isEqual(_ object: Any?) -> Bool {
        (object as? CKServerChangeToken)?.text == text
    }

    /// Follows from the token.
    open override var hash: Int { text.hashValue }

    /// The token as text.
    open override var description: String { "<CKServerChangeToken: \(text)>" }

    /// Returns the same object, which is immutable.
    open func copy(with zone: NSZone? = nil) -> Any { self }

    /// True.
    public static var supportsSecureCoding: Bool { true }

    private struct Archive: Codable {
        var text: String
    }

    /// Writes the token.
    open func encode(with coder: NSCoder) {
        coder.encode(archive: Archive(text: text))
    }

    /// Reads a token.
    ///
    /// A token of Apple's service is read as it is. A service here does not know it and answers
    /// `changeTokenExpired`: the program then fetches everything again.
    public required init?(coder: NSCoder) {
        if let archive = coder.archive(of: Archive.self) {
            text = archive.text
        } else if let foreign = KeyedObject(coder)?.data("ChangeTokenData") {
            // No token of a store has this form, so `model` throws `changeTokenExpired`.
            text = "CKServerChangeToken:\(foreign.base64EncodedString())"
        } else {
            return nil
        }
    }

    // MARK: The service

    init(_ model: ChangeToken) {
        text = model.description
    }

    /// The token as a service reads it.
    ///
    /// Throws `changeTokenExpired` if an archive contained something other than a token.
    var model: ChangeToken {
        get throws(CKError) {
            guard let model = ChangeToken(text) else {
                throw CKError(.changeTokenExpired, "The archived change token cannot be read.")
            }
            return model
        }
    }
}
