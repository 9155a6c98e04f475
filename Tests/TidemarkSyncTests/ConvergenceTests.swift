// Tidemark
// SPDX-License-Identifier: Apache-2.0

import GeneratedQueries
import TestSupport
import Testing
import TidemarkModel

@testable import TidemarkSync

/// Whatever fails and whoever is killed on the way, in the end all devices hold what the server holds.
@Suite struct ConvergenceTests {
    private static let zones = ["a", "b"].map { ZoneID(zoneName: $0) }
    private static let ids = zones.flatMap { zone in
        (0..<5).map { RecordID(recordName: "r\($0)", zone: zone) }
    }
    private static let failures: [SyncError.Code] = [
        .networkUnavailable, .serviceUnavailable, .requestRateLimited, .zoneBusy,
    ]

    @Test(arguments: 0..<(runsLongTests ? 300 : 8) as Range<UInt64>)
    func `Devices converge to the contents of the server`(_ seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var server = ModelServer()
        var devices = (0..<3).map { _ in ModelDevice() }
        var now: Int64 = 0
        for _ in 0..<1500 {
            now += Int64.random(in: 0...400, using: &random)
            let number = Int.random(in: 0..<3, using: &random)
            switch Int.random(in: 0..<100, using: &random) {
            case 0..<10:
                guard let id = Self.ids.randomElement(using: &random) else { continue }
                let isDeletion = Int.random(in: 0..<4, using: &random) == 0
                if isDeletion, devices[number].records[id] == nil { continue }
                let value = isDeletion ? nil : Int.random(in: 0..<100, using: &random)
                devices[number].edit(id, value, at: now)
            case 10: try devices[number].restart(at: now)
            case 11: devices[number].loop.noteServerChange(at: now)
            case 12:
                if let zone = Self.zones.randomElement(using: &random) {
                    server.expireTokens(of: zone)
                }
            case 13: devices[number].loop.cancel()
            default:
                let fails = Int.random(in: 0..<12, using: &random) == 0
                let code = Self.failures.randomElement(using: &random) ?? .zoneBusy
                let failure = fails ? SyncError(code, "It happens.") : nil
                _ = try devices[number].step(&server, at: now, failing: failure)
            }
        }
        // Now nothing fails any more.
        for _ in 0..<8 {
            now += 10 * 60 * 1000
            for number in devices.indices {
                devices[number].loop.noteServerChange(at: now)
                devices[number].loop.add(records: devices[number].loop.outgoingRecords, at: now)
                try SyncLoopTests.run(&devices[number], &server, at: now)
            }
        }
        for device in devices {
            #expect(device.loop.outgoingRecords.isEmpty)
            #expect(device.records.compactMapValues(\.value) == server.values)
            #expect(!device.records.values.contains { $0.isDirty })
        }
    }
}
