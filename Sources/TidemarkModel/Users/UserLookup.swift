// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// The property by which a user is looked up.
public enum UserLookup: Hashable, Codable, Sendable {
    /// An e-mail address; its case is ignored.
    case email(String)
    /// A phone number; only its digits and a leading plus sign are used.
    case phone(String)
    /// The name of the user's record.
    case user(UserID)

    /// Creates a lookup from a person's input.
    ///
    /// An address has an `@`. A number begins with a plus sign or a digit. Any other text is the
    /// name of a record.
    public init(_ text: String) {
        if text.utf8.contains(UInt8(ascii: "@")) {
            self = .email(text)
        } else if let first = text.utf8.first,
            first == UInt8(ascii: "+") || (48...57).contains(first)
        {
            self = .phone(text)
        } else {
            self = .user(UserID(text))
        }
    }

    /// The address, number or name as it was entered.
    public var text: String {
        switch self {
        case .email(let text), .phone(let text): text
        case .user(let user): user.userRecordName
        }
    }
}

extension UserLookup {
    /// The lookup in the form in which lookups are compared.
    package var normalized: UserLookup {
        switch self {
        case .email(let text):
            return .email(text.filter { !$0.isWhitespace }.lowercased())
        case .phone(let text):
            let digits = text.utf8.filter { (48...57).contains($0) }
            // Only a leading plus sign is part of the number; everything else between the digits is
            // layout.
            let sign = text.utf8.first { $0 != 32 } == UInt8(ascii: "+") ? "+" : ""
            return .phone(sign + String(decoding: digits, as: UTF8.self))
        case .user:
            return self
        }
    }

    /// Refuses an address or number that cannot be one.
    ///
    /// `self` is in the normal form.
    package func check(_ limits: Limits) throws(SyncError) {
        let problem: String?
        switch self {
        case .email(let text):
            let parts = text.split(separator: "@", omittingEmptySubsequences: false)
            let isWhole = parts.count == 2 && parts.allSatisfy { !$0.isEmpty }
            problem = isWhole ? nil : "is not an e-mail address; write name@host"
        case .phone(let text):
            let count = text.utf8.count { $0 != UInt8(ascii: "+") }
            problem =
                count >= 3
                ? nil
                : "is not a phone number; write its digits, such as "
                    + "+49301234"
        case .user(let user):
            try limits.check(Caller(database: .standard, user: user))
            return
        }
        if let problem { throw .invalidName("address", text, problem) }
        guard text.utf8.count <= limits.nameByteCount - Self.prefixByteCount else {
            throw .invalidName("address", text, "is too long")
        }
    }

    /// The number of bytes before an address in the name of its record.
    private static let prefixByteCount = 6
}
