// Tidemark
// SPDX-License-Identifier: Apache-2.0

// Shapes that programs have around records and errors. This file is compiled in both language modes.
import CloudKit
import Testing

private enum NoteKey: String, CaseIterable {
    case title, body, pinned, edited
}

extension CKRecord {
    fileprivate subscript(_ key: NoteKey) -> Any? {
        get { self[key.rawValue] }
        set { self[key.rawValue] = newValue as? CKRecordValue }
    }

    fileprivate func merge(changesOf other: CKRecord) {
        for key in other.changedKeys() { self[key] = other[key] }
    }
}

private func explanation(of error: Error) -> String {
    guard let error = error as? CKError else { return error.localizedDescription }
    switch error.code {
    case .networkUnavailable, .networkFailure: return "offline"
    case .quotaExceeded: return "full"
    case .partialFailure:
        let errors = error.partialErrorsByItemID as? [CKRecord.ID: Error] ?? [:]
        return errors.map { "\($0.key.recordName): \(explanation(of: $0.value))" }.sorted()
            .joined(separator: ", ")
    case .serverRecordChanged:
        guard let server = error.serverRecord, let client = error.clientRecord else { return "?" }
        server.merge(changesOf: client)
        return "merged"
    case .requestRateLimited, .serviceUnavailable, .zoneBusy:
        return "after \(error.retryAfterSeconds ?? 0)"
    default: return "other"
    }
}

private func retryDelay(of error: Error) -> TimeInterval? {
    let nsError = error as NSError
    guard nsError.domain == CKErrorDomain else { return nil }
    switch CKError.Code(rawValue: nsError.code) {
    case .some(.requestRateLimited), .some(.zoneBusy):
        return nsError.userInfo[CKErrorRetryAfterKey] as? TimeInterval
    default: return nil
    }
}

extension CKRecord {
    fileprivate convenience init?(archivedData: Data) {
        guard let unarchiver = try? NSKeyedUnarchiver(forReadingFrom: archivedData) else {
            return nil
        }
        self.init(coder: unarchiver)
    }

    fileprivate var archivedData: Data {
        let archiver = NSKeyedArchiver(requiringSecureCoding: true)
        encode(with: archiver)
        return archiver.encodedData
    }
}

extension CKDatabase {
    fileprivate func throttled<R: Sendable>(
        body: @Sendable @escaping (CKDatabase) async throws -> R
    ) async throws -> R {
        let configuration = CKOperation.Configuration()
        configuration.qualityOfService = .utility
        return try await configuredWith(configuration: configuration, body: body)
    }
}

extension CKContainer {
    fileprivate func throttled<R: Sendable>(
        body: @Sendable (CKContainer) async throws -> R
    ) async throws -> R {
        try await configuredWith(configuration: CKOperation.Configuration(), body: body)
    }
}

@MainActor private final class Model {
    private(set) var names: [String] = []

    func load(from database: CKDatabase) async throws {
        try await database.configuredWith { database in
            for zone in try await database.allRecordZones() { names.append(zone.zoneID.zoneName) }
        }
    }
}

private final class RecordCache: @unchecked Sendable {
    private let lock = NSLock()
    private var records: [CKRecord.ID: CKRecord] = [:]

    func put(_ record: CKRecord) {
        lock.lock()
        defer { lock.unlock() }
        records[record.recordID] = record
    }

    subscript(id: CKRecord.ID) -> CKRecord? {
        lock.lock()
        defer { lock.unlock() }
        return records[id]
    }
}

/// A record as tests make it up.
private class MadeUpRecord: CKRecord, @unchecked Sendable {
    private let time = Date(timeIntervalSince1970: 5)

    override var creationDate: Date? { time }
    override var recordChangeTag: String? { "made up" }
}

private final class TitledRecord: CKRecord, @unchecked Sendable {
    let title: String

    init(title: String) {
        self.title = title
        super.init(recordType: "Note", recordID: CKRecord.ID(recordName: title))
    }

    required init?(coder: NSCoder) {
        title = ""
        super.init(coder: coder)
    }
}

struct ProgramShapeTests {
    private func note(_ name: String) -> CKRecord {
        CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: name))
    }

    @Test func `A record is accessed with custom key types`() {
        let record = note("a")
        record[.title] = "Milk"
        record[.pinned] = true
        record[.edited] = Date(timeIntervalSince1970: 7)
        #expect(record[.title] as? String == "Milk")
        #expect((record[.pinned] as? NSNumber)?.boolValue == true)
        #expect(record[.edited] as? Date == Date(timeIntervalSince1970: 7))
        record[.title] = nil
        #expect(record[.title] == nil)
        let present = NoteKey.allCases.filter { record[$0] != nil }
        #expect(present == [.pinned, .edited])
    }

    @Test func `A record is converted to a dictionary and inspected by type`() {
        let record = note("a")
        record["text"] = "x"
        record["number"] = 5
        record["ratio"] = 0.5
        record["date"] = Date()
        record["list"] = ["a", "b"]
        record["link"] = CKRecord.Reference(recordID: record.recordID, action: .none)
        var dictionary: [String: Any] = [:]
        for key in record.allKeys() { dictionary[key] = record[key] }
        var kinds: [String: String] = [:]
        for (key, value) in dictionary {
            switch value {
            case is String: kinds[key] = "text"
            case is Date: kinds[key] = "date"
            case is CKRecord.Reference: kinds[key] = "link"
            case is [String]: kinds[key] = "list"
            case let number as NSNumber: kinds[key] = "number \(number)"
            default: kinds[key] = "other"
            }
        }
        #expect(
            kinds == [
                "text": "text", "number": "number 5", "ratio": "number 0.5", "date": "date",
                "list": "list", "link": "link",
            ]
        )
    }

    @Test func `Conflicts are merged by changed keys`() {
        let (client, server) = (note("a"), note("a"))
        client["title"] = "mine"
        client["gone"] = nil
        server["title"] = "theirs"
        server["gone"] = 1
        server["other"] = 2
        let error = CKError(
            .serverRecordChanged,
            userInfo: [
                CKRecordChangedErrorServerRecordKey: server,
                CKRecordChangedErrorClientRecordKey: client,
            ]
        )
        #expect(explanation(of: error) == "merged")
        #expect(server["title"] as? String == "mine")
        #expect(server["gone"] == nil)
        #expect(server["other"] as? Int == 2)
    }

    @Test func `A partial failure lists the error of each item`() {
        let errors: [AnyHashable: Error] = [
            CKRecord.ID(recordName: "a"): CKError(.quotaExceeded),
            CKRecord.ID(recordName: "b"): CKError(.zoneBusy, userInfo: [CKErrorRetryAfterKey: 2.0]),
        ]
        let error = CKError(.partialFailure, userInfo: [CKPartialErrorsByItemIDKey: errors])
        #expect(explanation(of: error) == "a: full, b: after 2.0")
        let object = error as NSError
        let dictionary = object.userInfo[CKPartialErrorsByItemIDKey] as? NSDictionary
        #expect(dictionary?.count == 2)
        let one = dictionary?.object(forKey: CKRecord.ID(recordName: "a")) as? CKError
        #expect(one?.code == .quotaExceeded)
        #expect(error.partialErrorsByItemID?[CKRecord.ID(recordName: "b")].flatMap(retryDelay) == 2)
        #expect(retryDelay(of: CocoaError(.fileNoSuchFile)) == nil)
    }

    @Test func `Records can be shared between tasks`() async {
        let cache = RecordCache()
        let record = note("a")
        record["count"] = 0
        await withTaskGroup(of: Void.self) { group in
            for index in 0..<20 {
                group.addTask {
                    record["count"] = index
                    cache.put(record)
                }
            }
        }
        #expect(cache[record.recordID] === record)
        #expect((0..<20).contains(record["count"] as? Int ?? -1))
    }

    @Test func `CKRecord can be subclassed`() {
        let record = MadeUpRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "a"))
        record["text"] = "x"
        let plain: CKRecord = record
        #expect(plain.creationDate == Date(timeIntervalSince1970: 5))
        #expect(plain.recordChangeTag == "made up")
        #expect(plain.changedKeys() == ["text"])
        #expect(MadeUpRecord(recordType: "Note").recordID.zoneID == .default)
        let titled = TitledRecord(title: "b")
        #expect(titled.recordID.recordName == "b")
    }

    @Test func `A share is restored from its system fields`() throws {
        func systemFields(_ record: CKRecord) -> Data {
            let archiver = NSKeyedArchiver(requiringSecureCoding: true)
            record.encodeSystemFields(with: archiver)
            return archiver.encodedData
        }
        func cached(_ data: Data) throws -> CKShare {
            let unarchiver = try NSKeyedUnarchiver(forReadingFrom: data)
            unarchiver.requiresSecureCoding = true
            let share = CKShare(coder: unarchiver)
            unarchiver.finishDecoding()
            return share
        }
        let zoneID = CKRecordZone.ID(zoneName: "Notes")
        let root = CKRecord(recordType: "Note", recordID: CKRecord.ID(zoneID: zoneID))
        let share = CKShare(rootRecord: root)
        share.publicPermission = .readWrite
        let copy = try cached(systemFields(share))
        #expect(copy.recordID == share.recordID)
        #expect(copy.recordType == CKRecord.SystemType.share)
        #expect(copy.publicPermission == .readWrite)
        #expect(copy.participants == share.participants)
        #expect(copy.changedKeys().isEmpty)
        // What is no share becomes one that shares nothing.
        let other = try cached(systemFields(root))
        #expect(other.recordID == root.recordID)
        #expect(other.publicPermission == .none)
        #expect(other.participants.map(\.role) == [.owner])
        #expect(other.url == nil)
    }

    @Test func `Notifications are awaited as an async sequence`() async {
        let center = NotificationCenter()
        let posting = Task {
            while !Task.isCancelled {
                center.post(name: .CKAccountChanged, object: nil)
                await Task.yield()
            }
        }
        var count = 0
        for await notification in center.notifications(named: .CKAccountChanged) {
            #expect(notification.name == .CKAccountChanged)
            count += 1
            if count == 3 { break }
        }
        posting.cancel()
        #expect(count == 3)
    }

    @Test func `IDs work as dictionary keys and set elements`() {
        let zoneID = CKRecordZone.ID(zoneName: "Notes", ownerName: CKCurrentUserDefaultName)
        var tokens: [CKRecordZone.ID: Int] = [zoneID: 1]
        tokens[CKRecordZone.ID(zoneName: "Notes", ownerName: CKCurrentUserDefaultName)] = 2
        #expect(tokens == [zoneID: 2])
        let ids = ["a", "b", "a"].map { CKRecord.ID(recordName: $0, zoneID: zoneID) }
        #expect(Set(ids).count == 2)
        let records = Dictionary(grouping: ids.map { CKRecord(recordType: "Note", recordID: $0) }) {
            $0.recordID
        }
        #expect(records[ids[0]]?.count == 2)
    }

    @Test func `An extension of CKRecord also applies to CKShare`() throws {
        let share = CKShare(rootRecord: CKRecord(recordType: "List"))
        share[CKShare.SystemFieldKey.title] = "Shopping"
        let read = CKShare(archivedData: share.archivedData)
        #expect(read?.recordID == share.recordID)
        #expect(read?[CKShare.SystemFieldKey.title] as? String == "Shopping")
        #expect(CKRecord(archivedData: Data()) == nil)
    }

    @Test func `A closure for a configured database can be passed as a value`() async throws {
        let container = TidemarkDevice(.temporary(), user: "anna").container()
        let database = container.privateCloudDatabase
        let zone = CKRecordZone(zoneName: "Notes")
        _ = try await database.throttled { try await $0.save(zone) }
        let user = try await container.throttled { try await $0.userRecordID() }
        #expect(user.recordName.hasPrefix("_"))
        let model = await Model()
        try await model.load(from: database)
        #expect(await model.names.contains("Notes"))
    }
}
