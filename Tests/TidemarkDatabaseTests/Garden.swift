// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Tidemark

/// A store with one zone, as the phone of one user sees it.
struct Garden {
    let folder: ScratchFolder
    let store: Store
    let anna: Database
    let zone: ZoneHandle

    init() async throws {
        folder = try ScratchFolder()
        store = try Store.open(at: folder.url.appending(path: "s.tide").path, access: .creating)
        anna = store.database(of: "anna", device: "phone")
        zone = try await anna.createZone("garden")
    }

    /// The same zone, as another device of the user sees it.
    func zone(on device: String) -> ZoneHandle {
        store.database(of: "anna", device: device).zone("garden")
    }
}

struct Chore: RecordCodable, Equatable {
    static let recordType = "Chore"
    var id = RecordName.unique()
    var title: String
    var state = State.open
    var due: Date?
    var tags: [String] = []

    enum State: String, Codable { case open, done }
}

/// A value with every type that a field can have.
struct Everything: RecordCodable, Equatable {
    static let recordType = "Everything"
    enum Level: Int, Codable {
        case low = 1
        case high = 9
    }
    enum Color: String, Codable { case red, green }

    var id = RecordName.unique()
    var text = "ü"
    var isOn = true
    var int = -7
    var int8: Int8 = -8
    var int16: Int16 = -16
    var int32: Int32 = -32
    var int64: Int64 = .min
    var uint: UInt = 7
    var uint8: UInt8 = 8
    var uint16: UInt16 = 16
    var uint32: UInt32 = 32
    var uint64: UInt64 = 64
    var double = 1.5
    var float: Float = 0.1
    var date = Date(timeIntervalSince1970: 1_700_000_000.125)
    var data = Data([0, 255])
    var bytes: [UInt8] = [1, 2]
    var uuid = UUID()
    var url = URL(string: "https://example.org/a?b=c")
    var level = Level.high
    var place = Location(latitude: 48.2, longitude: 16.4, altitude: 170)
    var link = Reference(recordName: "other")
    var texts = ["a", "b"]
    var flags = [true, false]
    var ints = [1, 2]
    var doubles = [0.5, -0.5]
    var dates = [Date(timeIntervalSince1970: 1), Date(timeIntervalSince1970: -2)]
    var datas = [Data([1]), Data()]
    var uuids = [UUID()]
    var urls = [URL(filePath: "/a")]
    var levels = [Level.low, .high]
    var colors = [Color.red, .green]
    var places = [Location(latitude: 0, longitude: -180)]
    var links = [Reference(recordName: "x"), Reference(recordName: "y")]
    var absent: String?
    var absentLevel: Level?
    @Encrypted var secret = "hidden"
    @Encrypted var absentSecret: Date?
    @Encrypted var secrets = [Level.low]
}
