// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// The parts of a person's name; unknown parts are `nil`.
public struct PersonName: Hashable, Codable, Sendable {
    /// The part before the name, such as a title.
    public var namePrefix: String?
    /// The name given at birth, or chosen.
    public var givenName: String?
    /// Names between the given and the family name.
    public var middleName: String?
    /// The family's name.
    public var familyName: String?
    /// The part after the name.
    public var nameSuffix: String?
    /// The name that friends use.
    public var nickname: String?

    /// Creates a name.
    public init(
        namePrefix: String? = nil,
        givenName: String? = nil,
        middleName: String? = nil,
        familyName: String? = nil,
        nameSuffix: String? = nil,
        nickname: String? = nil
    ) {
        self.namePrefix = namePrefix
        self.givenName = givenName
        self.middleName = middleName
        self.familyName = familyName
        self.nameSuffix = nameSuffix
        self.nickname = nickname
    }

    /// True if no part of the name is known.
    public var isEmpty: Bool { self == PersonName() }
}

extension PersonName: CustomStringConvertible {
    /// The parts in the order of Western names, without the nickname.
    public var description: String {
        [namePrefix, givenName, middleName, familyName, nameSuffix].compactMap { $0 }
            .joined(separator: " ")
    }
}
