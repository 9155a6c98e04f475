// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import Foundation
import TidemarkModel

/// The property by which a user is looked up.
///
/// Programs write `CKUserIdentity.LookupInfo`.
///
/// Unchecked: immutable.
open class CKUserIdentityLookupInfo: NSObject, NSCopying, NSSecureCoding, @unchecked Sendable {
    /// An e-mail address.
    public let emailAddress: String?
    /// A phone number.
    public let phoneNumber: String?
    /// The user's record.
    public let userRecordID: CKRecord.ID?

    private init(_ email: String?, _ phone: String?, _ user: CKRecordID?) {
        emailAddress = email
        phoneNumber = phone
        userRecordID = user
    }

    /// Creates a lookup by an e-mail address.
    public convenience init(emailAddress: String) {
        self.init(emailAddress, nil, nil)
    }

    /// Creates a lookup by a phone number.
    public convenience init(phoneNumber: String) {
        self.init(nil, phoneNumber, nil)
    }

    /// Creates a lookup by a user's record.
    public convenience init(userRecordID: CKRecord.ID) {
        self.init(nil, nil, userRecordID)
    }

    /// Returns lookups by e-mail addresses.
    public class func lookupInfos(withEmails emails: [String]) -> [CKUserIdentity.LookupInfo] {
        emails.map { CKUserIdentityLookupInfo(emailAddress: $0) }
    }

    /// Returns lookups by phone numbers.
    public class func lookupInfos(
        withPhoneNumbers phoneNumbers: [String]
    ) -> [CKUserIdentity.LookupInfo] {
        phoneNumbers.map { CKUserIdentityLookupInfo(phoneNumber: $0) }
    }

    /// Returns lookups by users' records.
    public class func lookupInfos(
        with recordIDs: [CKRecord.ID]
    ) -> [CKUserIdentity.LookupInfo] {
        recordIDs.map { CKUserIdentityLookupInfo(userRecordID: $0) }
    }

    // MARK: Equality

    /// Returns true if the other object is the same lookup.
    open override func isEqual(_ object: Any?) -> Bool {
        (object as? CKUserIdentityLookupInfo)?.model == model
    }

    /// The hash of the lookup.
    open override var hash: Int { model.hashValue }

    /// The property and its value.
    open override var description: String { "<CKUserIdentityLookupInfo: \(model.text)>" }

    // MARK: Copying and coding

    /// Returns the same object, which is immutable.
    open func copy(with zone: NSZone? = nil) -> Any { self }

    /// True.
    public static var supportsSecureCoding: Bool { true }

    /// The lookup, as it is archived.
    struct Archive: Codable, Hashable {
        var email: String?
        var phone: String?
        var user: CKRecordID.Archive?
    }

    var archived: Archive {
        Archive(email: emailAddress, phone: phoneNumber, user: userRecordID?.archived)
    }

    convenience init(_ archive: Archive) {
        self.init(archive.email, archive.phone, archive.user.map { CKRecordID($0) })
    }

    /// Writes the lookup.
    open func encode(with coder: NSCoder) {
        coder.encode(archive: archived)
    }

    /// Reads the lookup.
    public required convenience init?(coder: NSCoder) {
        guard let archive = coder.archive(of: Archive.self) else { return nil }
        self.init(archive)
    }

    // MARK: The service

    convenience init(_ model: UserLookup) {
        switch model {
        case .email(let address): self.init(emailAddress: address)
        case .phone(let number): self.init(phoneNumber: number)
        case .user(let user): self.init(userRecordID: CKRecordID(user))
        }
    }

    var model: UserLookup {
        if let emailAddress { return .email(emailAddress) }
        if let phoneNumber { return .phone(phoneNumber) }
        // An archive may lack all three. The empty name finds no user.
        return .user(UserID(userRecordID?.recordName ?? ""))
    }
}

/// The details of a user that are visible to others.
///
/// Unchecked: immutable.
open class CKUserIdentity: NSObject, NSCopying, NSSecureCoding, @unchecked Sendable {
    /// The property by which a user is looked up.
    public typealias LookupInfo = CKUserIdentityLookupInfo

    /// The user's record; `nil` while only an address or a number is known.
    public let userRecordID: CKRecord.ID?
    /// The lookup that found the user; `nil` if there was no lookup.
    public let lookupInfo: CKUserIdentity.LookupInfo?
    /// The user's name; `nil` if it is not known.
    public let nameComponents: PersonNameComponents?
    /// True if the user has an account.
    public let hasiCloudAccount: Bool

    init(
        _ user: CKRecordID?,
        lookup: CKUserIdentityLookupInfo? = nil,
        name: PersonNameComponents? = nil,
        hasAccount: Bool = true
    ) {
        userRecordID = user
        lookupInfo = lookup
        nameComponents = name
        hasiCloudAccount = hasAccount
    }

    /// The user's contacts on this device: always empty, because there are no contacts.
    public var contactIdentifiers: [String] { [] }

    // MARK: Equality

    /// Returns true if the other object is the same user, found by the same lookup.
    open override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? CKUserIdentity else { return false }
        return other.userRecordID == userRecordID && other.lookupInfo == lookupInfo
    }

    /// Follows from the user's record.
    open override var hash: Int { userRecordID?.hash ?? lookupInfo?.hash ?? 0 }

    /// The user's record, or the lookup of the user.
    open override var description: String {
        let name = userRecordID?.recordName ?? lookupInfo?.model.text ?? "unknown"
        return "<CKUserIdentity: \(name)>"
    }

    // MARK: Copying and coding

    /// Returns the same object, which is immutable.
    open func copy(with zone: NSZone? = nil) -> Any { self }

    /// True.
    public static var supportsSecureCoding: Bool { true }

    /// A user, as it is archived.
    struct Archive: Codable, Hashable {
        var user: CKRecordID.Archive?
        var lookup: CKUserIdentityLookupInfo.Archive?
        var namePrefix: String?
        var givenName: String?
        var middleName: String?
        var familyName: String?
        var nameSuffix: String?
        var nickname: String?
        var hasAccount: Bool
    }

    var archived: Archive {
        Archive(
            user: userRecordID?.archived,
            lookup: lookupInfo?.archived,
            namePrefix: nameComponents?.namePrefix,
            givenName: nameComponents?.givenName,
            middleName: nameComponents?.middleName,
            familyName: nameComponents?.familyName,
            nameSuffix: nameComponents?.nameSuffix,
            nickname: nameComponents?.nickname,
            hasAccount: hasiCloudAccount
        )
    }

    convenience init(_ archive: Archive) {
        let name = PersonName(
            namePrefix: archive.namePrefix,
            givenName: archive.givenName,
            middleName: archive.middleName,
            familyName: archive.familyName,
            nameSuffix: archive.nameSuffix,
            nickname: archive.nickname
        )
        self.init(
            archive.user.map { CKRecordID($0) },
            lookup: archive.lookup.map { CKUserIdentityLookupInfo($0) },
            name: PersonNameComponents(name),
            hasAccount: archive.hasAccount
        )
    }

    /// Writes the user.
    open func encode(with coder: NSCoder) {
        coder.encode(archive: archived)
    }

    /// Reads a user.
    public required convenience init?(coder: NSCoder) {
        guard let archive = coder.archive(of: Archive.self) else { return nil }
        self.init(archive)
    }
}

// MARK: The service

extension CKUserIdentity {
    convenience init(_ model: UserIdentity, seenBy reader: UserID? = nil) {
        self.init(
            CKRecordID(model.user, seenBy: reader),
            lookup: model.lookup.map { CKUserIdentityLookupInfo($0) },
            name: PersonNameComponents(model.name),
            hasAccount: model.hasAccount
        )
    }
}

extension PersonNameComponents {
    /// Creates a name; `nil` if no part is known.
    init?(_ model: PersonName) {
        if model.isEmpty { return nil }
        self.init()
        namePrefix = model.namePrefix
        givenName = model.givenName
        middleName = model.middleName
        familyName = model.familyName
        nameSuffix = model.nameSuffix
        nickname = model.nickname
    }
}
