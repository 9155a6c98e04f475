// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// The limits on names, records, requests and everything else.
///
/// The defaults are CloudKit's. Every limit can be set.
///
/// CloudKit documents "1 MB" and "2 MB" without a definition. Here a megabyte is 1,000,000 bytes,
/// so that CloudKit accepts whatever Tidemark accepts under either definition.
public struct Limits: Hashable, Sendable {
    /// Saves and deletions in one request.
    public var itemsPerRequest = 400
    /// The maximum bytes of the names and values of all fields in one request, without those of
    /// assets.
    public var bytesPerRequest = 2_000_000
    /// The maximum bytes of the names and values of a record's fields, without those of assets.
    ///
    /// Also applies to records from an import. Values above 1 GiB are reduced to 1 GiB.
    public var bytesPerRecord = 1_000_000 {
        didSet { bytesPerRecord = min(bytesPerRecord, 1 << 30) }
    }
    /// Bytes of one asset.
    ///
    /// CloudKit's web services name 15 MB on one page and 50 MB on another; its native clients name
    /// none and send more. This is the larger figure.
    public var bytesPerAsset = 50_000_000
    /// The maximum number of fields of one record, including removed ones.
    ///
    /// CloudKit documents no limit. Values above 32,640 are reduced to 32,640, so that the combined
    /// fields of two versions can be counted in 16 bits, with the removals that a version keeps.
    public var fieldsPerRecord = 1_000 {
        didSet {
            fieldsPerRecord = min(
                fieldsPerRecord,
                (Int(UInt16.max) - Fields.keptRemovalCount) / 2
            )
        }
    }
    /// The maximum number of elements of one list.
    ///
    /// CloudKit documents no limit except the record's size.
    public var elementsPerList = 100_000
    /// References with the action delete-self to one record.
    public var deleteSelfReferencesPerTarget = 750
    /// Records above one record, from its parent to the root of its tree.
    ///
    /// CloudKit names no figure.
    public var ancestorsPerRecord = 1_000
    /// Participants of one share, its owner among them.
    public var participantsPerShare = 100
    /// The maximum UTF-8 bytes of the name of a record, a zone, a user, a device or a build.
    ///
    /// Never more than 65,535. For a zone, a user and a container never more than 1,000, because
    /// they are part of an entry of the views, which has a few thousand bytes.
    public var nameByteCount = 255
    /// The maximum UTF-8 bytes of a record type or a field's name.
    ///
    /// Never more than 255, whatever is set.
    public var identifierByteCount = 255
    /// Record types of a schema.
    ///
    /// CloudKit names no figure for this and the next two.
    public var recordTypesPerSchema = 1_000
    /// The maximum number of fields of a record type, without system fields.
    public var fieldsPerRecordType = 1_000
    /// Custom roles of a schema.
    public var rolesPerSchema = 100
    /// UTF-8 bytes of a request id.
    public var requestIDByteCount = 255
    /// The maximum number of records in one page of a delta, if a request does not ask for fewer.
    ///
    /// Never more than 1,000,000, whatever is set.
    public var recordsPerPage = 200 {
        didSet { recordsPerPage = min(recordsPerPage, 1_000_000) }
    }
    /// The maximum UTF-8 bytes of a subscription's id.
    ///
    /// Never more than 32,767, whatever is set, so that the name of a record can contain the id and
    /// its holder.
    public var subscriptionIDByteCount = 255 {
        didSet { subscriptionIDByteCount = min(subscriptionIDByteCount, Int(Int16.max)) }
    }
    /// The maximum number of a record's fields in a subscription's notifications.
    public var desiredKeysPerSubscription = 3
    /// UTF-8 bytes of all texts and names of fields in a subscription.
    ///
    /// CloudKit names no figure.
    public var notificationContentByteCount = 16_000
    /// The maximum number of characters of a text in a notification; the rest is cut off.
    public var charactersPerNotificationField = 100
    /// The maximum bytes of a pushed notification; parts that do not fit are left out.
    ///
    /// Apple's push service takes 4,096.
    public var bytesPerPush = 4_096
    /// The maximum number of unread notifications of one user in a container's environment.
    ///
    /// Above it, the oldest notifications of query subscriptions are dropped, a sixteenth of the
    /// limit at a time. CloudKit's collection of notifications no longer exists, and its pages
    /// documented no limit.
    public var notificationsPerUser = 10_000
    /// The number of records in one page of a query, if the request sets none.
    ///
    /// A request can set up to ``recordsPerPage``.
    public var recordsPerQueryPage = 100
    /// The maximum bytes of all records and assets in one private database; `nil` leaves it to the
    /// disk.
    ///
    /// They count against the user of the database.
    public var bytesPerPrivateDatabase: Int?
    /// The maximum bytes of all records and assets in the public database; `nil` leaves it to the
    /// disk.
    ///
    /// They count against the container.
    public var bytesPerPublicDatabase: Int?
    /// True if the names of records and zones must be ASCII, as in CloudKit.
    public var requiresASCIINames = false

    /// CloudKit's values.
    public init() {}
}

extension Limits {
    /// Refuses a request with too many items.
    package func check(itemCount: Int) throws(SyncError) {
        guard itemCount <= itemsPerRequest else {
            throw .tooManyItems(itemCount, limit: itemsPerRequest)
        }
    }

    /// Refuses an invalid name of a record: 1 to 255 bytes, no NUL, and optionally ASCII only.
    ///
    /// CloudKit allows ASCII that does not begin with an underscore. Any Unicode is accepted here,
    /// because names often come from elsewhere (paths, titles, keys of another system), and are
    /// compared as bytes. A leading underscore is accepted because user records have one:
    /// permissions determine who may write those.
    package func check(recordName name: Name) throws(SyncError) {
        try check(name, as: "record name")
    }

    /// Refuses a zone's name: as a record's, and no leading underscore but in `_defaultZone`.
    package func check(zone: ZoneID) throws(SyncError) {
        try check(zone.name, as: "zone name", limit: placeByteCount)
        try check(zone.owner, as: "owner name", limit: placeByteCount)
        guard zone.name.firstByte != UInt8(ascii: "_") || zone.name == ZoneID.default.name
        else {
            throw .invalidName(
                "zone name",
                zone.zoneName,
                "begins with an underscore, which is reserved for the system; choose another name"
            )
        }
    }

    /// Refuses an invalid id of a subscription: 1 to 255 bytes, no NUL, and optionally ASCII only.
    package func check(subscriptionID name: Name) throws(SyncError) {
        try check(name, as: "subscription id", limit: subscriptionIDByteCount)
    }

    /// Refuses a record type: letters, digits, underscores; a letter first.
    ///
    /// A dot inside is allowed, as in `cloudkit.share`.
    package func check(recordType name: Name) throws(SyncError) {
        try checkIdentifier(name, as: "record type")
    }

    /// Refuses a field's name: letters, digits, underscores; a letter first.
    ///
    /// A dot inside is allowed, as in `cloudkit.title`.
    package func check(fieldName name: ArraySlice<UInt8>) throws(SyncError) {
        guard name.withUnsafeBytes(isIdentifier) else { throw fieldNameError(name) }
    }

    /// Refuses a field's name that is not among a record's bytes, by the same rule.
    func check(fieldName name: Name) throws(SyncError) {
        try checkIdentifier(name, as: "field name")
    }

    /// Returns the refusal of a field's name.
    func fieldNameError(_ name: ArraySlice<UInt8>) -> SyncError {
        identifierError(Name(String(decoding: name, as: UTF8.self)), "field name")
    }

    /// Refuses a caller whose user, device, build or request id is too long or empty.
    package func check(_ caller: Caller) throws(SyncError) {
        try check(caller.database.container.name, as: "container", limit: placeByteCount)
        try check(caller.database.owner.name, as: "database owner", limit: placeByteCount)
        // The owner of a private database is its user, and has been checked by the same rule.
        if let user = caller.user, user.name != caller.database.owner.name {
            try check(user.name, as: "user", limit: placeByteCount)
        }
        if let device = caller.device { try check(Name(device), as: "device") }
        if let build = caller.build { try check(Name(build), as: "build") }
        if let request = caller.requestID {
            try check(Name(request), as: "request id", limit: requestIDByteCount)
        }
    }

    /// The maximum bytes of each name that identifies a zone.
    private var placeByteCount: Int { min(nameByteCount, 1_000) }

    private func check(_ name: Name, as what: String, limit: Int? = nil) throws(SyncError) {
        let limit = min(limit ?? nameByteCount, Int(UInt16.max))
        let isAllowed = name.withBytes { [requiresASCIINames] bytes in
            bytes.count >= 1 && bytes.count <= max(limit, 1)
                && !ByteEquality.containsZero(UnsafeRawBufferPointer(bytes))
                && (!requiresASCIINames || bytes.allSatisfy { $0 < 0x80 })
        }
        if !isAllowed { throw nameError(name, as: what, limit: limit) }
    }

    // Not inlined, because a function that composes a text is slower for valid names too.
    @inline(never)
    private func nameError(_ name: Name, as what: String, limit: Int) -> SyncError {
        let rule =
            if name.byteCount < 1 || name.byteCount > max(limit, 1) {
                "has \(name.byteCount) bytes; 1 to \(limit) are allowed"
            } else if name.string.utf8.contains(0) {
                "holds a NUL character; leave it out"
            } else {
                "is not ASCII, which this store requires; spell it in ASCII"
            }
        return .invalidName(what, name.string, rule)
    }

    private func checkIdentifier(_ name: Name, as what: String) throws(SyncError) {
        guard name.withBytes({ isIdentifier(UnsafeRawBufferPointer($0)) }) else {
            throw identifierError(name, what)
        }
    }

    /// Returns true if a record type or a field may have a name.
    @inline(__always)
    func isIdentifier(_ bytes: UnsafeRawBufferPointer) -> Bool {
        // 255 is the bound of the format: a row of fields has one byte for the length of a name.
        guard let first = bytes.first, isLetter(first), bytes.count <= min(identifierByteCount, 255)
        else { return false }
        for byte in bytes where !isLetter(byte) {
            // Digits, underscores and dots; the difference wraps for bytes below `0`.
            guard byte &- 48 < 10 || byte == 95 || byte == 46 else { return false }
        }
        return true
    }

    @inline(__always)
    private func isLetter(_ byte: UInt8) -> Bool {
        // Letters differ from their lowercase form by this bit; the difference wraps for bytes below `a`.
        (byte | 0x20) &- 97 < 26
    }

    private func identifierError(_ name: Name, _ what: String) -> SyncError {
        .invalidName(
            what,
            name.string,
            "must be 1 to \(min(identifierByteCount, 255)) ASCII letters, digits, dots and "
                + "underscores, beginning with a letter"
        )
    }
}
