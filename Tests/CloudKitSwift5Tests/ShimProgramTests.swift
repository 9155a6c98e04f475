// Tidemark
// SPDX-License-Identifier: Apache-2.0

// Programs that use Combine and os.log beside CloudKit, as they are written but for one import. This file is
// compiled in both language modes.
#if Shims
import CloudKit
import CloudKitShims
import Foundation
import Testing

#if canImport(Combine)
import Combine
#endif
#if canImport(os)
import os
#endif

@MainActor
private final class NoteListModel: ObservableObject {
    @Published private(set) var titles: [String] = []
    @Published var search = ""
    private(set) var shown: [String] = []

    private let logger = Logger(subsystem: "org.example.notes", category: "list")
    private let reload = PassthroughSubject<Void, Never>()
    private let accountStatus = CurrentValueSubject<CKAccountStatus?, Never>(nil)
    private var cancellables = Set<AnyCancellable>()
    var reloads = 0

    init() {
        NotificationCenter.default.publisher(for: .CKAccountChanged)
            .map { _ in () }
            .subscribe(reload)
            .store(in: &cancellables)
        reload
            .receive(on: DispatchQueue.main)
            .sink { [weak self] in MainActor.assumeIsolated { self?.reloads += 1 } }
            .store(in: &cancellables)
        $titles
            .combineLatest($search.removeDuplicates())
            .map { titles, search in
                search.isEmpty ? titles : titles.filter { $0.contains(search) }
            }
            .sink { [weak self] in self?.shown = $0 }
            .store(in: &cancellables)
    }

    func load(from database: CKDatabase) async throws {
        let query = CKQuery(recordType: "Note", predicate: NSPredicate(value: true))
        let (results, _) = try await database.records(matching: query)
        titles = results.compactMap { try? $0.1.get()["title"] as? String }.sorted()
        logger.info(
            "loaded \(self.titles.count) notes: \(self.titles.first ?? "-", privacy: .private)"
        )
    }

    func accountChanged() { reload.send() }
}

private let syncLog = OSLog(subsystem: "org.example.notes", category: "sync")

@Suite struct ShimProgramTests {
    @Test @MainActor func aModelPublishesWhatItFetches() async throws {
        let device = TidemarkDevice(.temporary(), user: "anna")
        let database = device.container().privateCloudDatabase
        for title in ["Milk", "Bread"] {
            let record = CKRecord(recordType: "Note")
            record["title"] = title
            _ = try await database.save(record)
        }
        let model = NoteListModel()
        var changes = 0
        let subscription = model.objectWillChange.sink { changes += 1 }
        try await model.load(from: database)
        #expect(model.shown == ["Bread", "Milk"])
        model.search = "Mi"
        #expect(model.shown == ["Milk"])
        #expect(changes == 2)
        subscription.cancel()
        model.accountChanged()
        for _ in 0..<500 where model.reloads == 0 {
            try await Task.sleep(nanoseconds: 10 * NSEC_PER_MSEC)
        }
        #expect(model.reloads > 0)
    }

    @Test func namesOfRecordsAreKeptInAList() throws {
        let ids = ["a", "b"].map { CKRecord.ID(recordName: $0) }
        let data = try NSKeyedArchiver.archivedData(
            withRootObject: ids,
            requiringSecureCoding: true
        )
        let read = try autoreleasepool {
            try NSKeyedUnarchiver.unarchivedArrayOfObjects(ofClass: CKRecord.ID.self, from: data)
        }
        #expect(read == ids)
        os_log("kept %d records", log: syncLog, type: .debug, ids.count)
    }

    @Test func settingsAndTextsAreFoundByTheirKeys() throws {
        let name = "org.example.\(UUID().uuidString)"
        let defaults = try #require(UserDefaults(suiteName: name))
        defaults.setValue(Data([1]), forKey: "token")
        #expect(defaults.data(forKey: "token") == Data([1]))
        defaults.setValue(nil, forKey: "token")
        #expect(defaults.data(forKey: "token") == nil)
        defaults.removePersistentDomain(forName: name)
        #expect(String(localized: "No account", comment: "An error") == "No account")
        #expect(String(localized: "\(2) notes") == "2 notes")
    }
}
#endif
