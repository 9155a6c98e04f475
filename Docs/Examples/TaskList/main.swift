// Tidemark
// SPDX-License-Identifier: Apache-2.0

// A list of tasks on two devices of one user, who are offline for a while: both change the same task, and the merge
// keeps what each of them did. The list is then shared with somebody else, counted by a projection, and asked for its
// history.
//
// Usage: TaskListExample STORE
// STORE is created.

import Foundation
import Tidemark
import TidemarkReplay

struct TaskItem: RecordCodable {
    static let recordType = "Task"
    var id = RecordName.unique()
    var title: String
    var state = State.open
    var due: Date?
    var tags: [String] = []

    enum State: String, Codable { case open, done }
}

/// A device: what it knows while it is offline, and what it changed.
actor Device {
    private let name: String
    private let zone: ZoneHandle
    private var tasks: [RecordName: Stored<TaskItem>] = [:]
    private var changed: Set<RecordName> = []
    private var token: ChangeToken?

    init(_ name: String, of user: Database) {
        self.name = name
        zone = user.zone("tasks")
    }

    /// Changes a task here and now; the store hears of it by ``sync()``.
    func edit(_ task: RecordName, _ change: @Sendable (inout TaskItem) -> Void) {
        guard var edited = tasks[task] else { return }
        change(&edited.value)
        tasks[task] = edited
        changed.insert(task)
    }

    /// Sends what was changed here, then takes in what changed elsewhere.
    func sync() async throws {
        for task in changed.sorted() {
            guard let mine = tasks[task] else { continue }
            do {
                tasks[task] = try await zone.save(mine, policy: .merge)
            } catch let error as SyncError where error.code == .serverRecordChanged {
                // Both changed the same field: what the store has stands, and the user is told.
                let theirs = try await zone.fetch(TaskItem.self, task)
                print("\(name): \"\(mine.title)\" was changed elsewhere to \"\(theirs.title)\"")
                tasks[task] = theirs
            }
        }
        changed = []
        for try await change in zone.changes(since: token) {
            token = change.token
            switch change.event {
            case .changed(let record):
                guard record.recordType == TaskItem.recordType else { continue }
                let task = try Stored<TaskItem>(record)
                tasks[task.value.id] = task
            case .deleted(let record):
                tasks[RecordName(record.recordID.recordName)] = nil
            case .reset:
                tasks = [:]
            }
        }
    }

    func show() {
        for task in tasks.values.sorted(by: { $0.title < $1.title }) {
            let tags = task.tags.isEmpty ? "" : " #" + task.tags.joined(separator: " #")
            print("\(name): [\(task.state == .done ? "x" : " ")] \(task.title)\(tags)")
        }
    }
}

/// How many tasks are open, folded from every commit of one database.
actor OpenCount: Projection {
    nonisolated let databaseID: DatabaseID?
    private var states: [RecordID: TaskItem.State] = [:]
    private var lastMark: ProjectionMark?

    init(_ database: Database) { databaseID = database.id }

    var count: Int { states.values.count { $0 == .open } }

    func mark() -> ProjectionMark? { lastMark }

    func take(_ commits: [ProjectedCommit], through mark: ProjectionMark) {
        for change in commits.flatMap(\.line.changes) {
            switch change {
            case .save(let id, _, let fields, _):
                let state: String? = fields["state"]
                states[id] = state.flatMap { TaskItem.State(rawValue: $0) }
            case .delete(let id):
                states[id] = nil
            case .createZone:
                break
            case .deleteZone(let zone, _):
                states = states.filter { $0.key.zone != zone }
            }
        }
        lastMark = mark
    }

    func reset(_ reason: ProjectionReset) {
        states = [:]
        lastMark = nil
    }
}

guard CommandLine.arguments.count == 2 else {
    print("Usage: TaskListExample STORE")
    exit(64)
}
let store = try Store.open(at: CommandLine.arguments[1], access: .creating)
let anna = store.database(of: "anna", device: "phone")
let tasks = try await anna.createZone("tasks")

// Four tasks by one commit: all of them, or none.
try await tasks.modify { batch in
    batch.save(TaskItem(id: "milk", title: "Buy milk", tags: ["shop"]), parent: .set("list"))
    batch.save(TaskItem(id: "bike", title: "Repair the bike"), parent: .set("list"))
    batch.save(TaskItem(id: "taxes", title: "Taxes", due: Date(timeIntervalSinceNow: 86_400)))
    batch.save("list", type: "List", fields: ["title": "Household"])
}

// Both devices have them, and go offline.
let phone = Device("phone", of: anna)
let tablet = Device("tablet", of: store.database(of: "anna", device: "tablet"))
try await phone.sync()
try await tablet.sync()
let start = store.lastSequence
await phone.edit("milk") { $0.state = .done }
await phone.edit("bike") { $0.title = "Repair both bikes" }
await tablet.edit("milk") { $0.tags.append("organic") }
await tablet.edit("bike") { $0.title = "Sell the bike" }

// Back online: different fields of a task are merged, the same field is decided by who came first.
try await phone.sync()
try await tablet.sync()
try await phone.sync()
await phone.show()

// What is due within two days, by date.
let soon = Date(timeIntervalSinceNow: 2 * 86_400)
let open = TaskItem.State.open
let due = tasks.query(TaskItem.self, where: "state == \(open) AND due < \(soon)", sortedBy: "due")
for try await task in due { print("due: \(task.title)") }

// Somebody else takes part in the list: in the tasks below it, and in nothing else.
let share = try await tasks.share("list", with: [.invited("ben", permission: .readWrite)])
let ben = store.database(of: "ben", device: "ben's phone")
let shared = try await ben.accept(share.link)
try await shared.update(TaskItem.self, "bike") { $0.state = .done }
let hidden = try await shared.fetchIfPresent(TaskItem.self, "taxes")
print("ben: finished the bike, \(hidden == nil ? "does not see" : "sees") the taxes")

// A number that is kept up to date with every commit.
let openCount = OpenCount(anna)
try await store.advance(openCount)
print("open: \(await openCount.count)")

// Every change is kept, so it can be asked for.
for try await entry in tasks.history(of: "bike") {
    guard case .change(let change) = entry else { continue }
    let who = change.origin.user?.userRecordName ?? "somebody"
    let fields = change.fields.map(\.name).joined(separator: ", ")
    print(
        "history: \(change.happening.rawValue) (\(fields)) by \(who) on \(change.origin.device ?? "?")"
    )
}
for field in try await tasks.blame(of: "bike").fields where field.name == "title" {
    print("blame: the title is from \(field.origin?.device ?? "?")")
}
let before = try await tasks.fetch(TaskItem.self, "bike", asOf: .event(start))
print("then: \(before.title)")
try store.close()
