// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TidemarkModel

@testable import TidemarkSync

/// What a sync loop does, step by step.
@Suite struct SyncLoopTests {
    private static let zone = ZoneID(zoneName: "notes")
    private static func id(_ name: String) -> RecordID { RecordID(recordName: name, zone: zone) }

    /// Runs a device until it has nothing to do before a time.
    @discardableResult
    static func run(
        _ device: inout ModelDevice,
        _ server: inout ModelServer,
        at now: Int64,
        failing: (SyncStep) -> SyncError? = { _ in nil }
    ) throws -> [SyncStep] {
        var steps: [SyncStep] = []
        for _ in 0..<10_000 {
            let failure = failing(device.loop.peek(at: now))
            let step = try device.step(&server, at: now, failing: failure)
            if case .wait = step { return steps }
            steps.append(step)
        }
        Issue.record("The loop does not come to rest: \(steps.suffix(12)).")
        return steps
    }

    /// A server with a zone of some records.
    private static func server(_ count: Int) throws -> ModelServer {
        var server = ModelServer()
        _ = server.apply([ModelServer.OutgoingZoneRequest(zone: zone)])
        for number in 0..<count { _ = try server.save(id("r\(number)"), number, tag: nil) }
        return server
    }

    /// A server with a zone of some records, and a device that has fetched them.
    private static func synchronized(_ count: Int) throws -> (ModelServer, ModelDevice) {
        var server = try server(count)
        var device = ModelDevice()
        try run(&device, &server, at: 0)
        return (server, device)
    }

    @Test func `A fetch reports each page before the next, and then its end`() throws {
        var server = try Self.server(4)
        var device = ModelDevice(isAutomatic: false)
        let call = device.loop.fetch()
        try Self.run(&device, &server, at: 1000)
        let heard = device.notices.filter { $0 != .stateChanged }
        #expect(
            heard == [
                .accountChanged(from: nil, to: UserID("_anna")),
                .willFetch(.manual, .all), .fetchedZoneList(missing: []),
                .willFetchZone(Self.zone),
                .fetchedZoneChanges(Self.zone), .fetchedZoneChanges(Self.zone),
                .didFetchZone(Self.zone, nil), .didFetch(.manual, .all),
            ]
        )
        #expect(device.records.count == 4)
        #expect(device.answers.map(\.calls) == [[call]])
        #expect(device.answers.allSatisfy { $0.error == nil })
        // Nothing new: no zone is fetched.
        _ = device.loop.fetch()
        let steps = try Self.run(&device, &server, at: 2000)
        #expect(!steps.contains { if case .fetchZoneChanges = $0 { true } else { false } })
    }

    @Test func `A manual loop does nothing without a call`() throws {
        var server = try Self.server(1)
        var device = ModelDevice(isAutomatic: false)
        device.edit(Self.id("x"), 1, at: 0)
        #expect(device.loop.nextStep(at: 1000) == .wait(until: 1100))
        let steps = try Self.run(&device, &server, at: 1100)
        #expect(steps == [.tell(.stateChanged)])
        #expect(device.loop.nextStep(at: 2000) == .wait(until: nil))
    }

    @Test func `A send operation creates zones, then requests batches until none is left`() throws {
        var server = ModelServer()
        var device = ModelDevice(isAutomatic: false)
        device.loop.add(zones: [.save(Self.zone)], at: 0)
        for number in 0..<4 { device.edit(Self.id("r\(number)"), number, at: 0) }
        let call = device.loop.send()
        try Self.run(&device, &server, at: 1000)
        let heard = device.notices.filter { $0 != .stateChanged }
        #expect(
            Array(heard.dropFirst()) == [
                .willSend(.manual, .all), .sentZones, .sentBatch, .sentBatch,
                .didSend(.manual, .all),
            ]
        )
        #expect(server.values.count == 4)
        #expect(device.loop.outgoingRecords.isEmpty && device.loop.outgoingZones.isEmpty)
        #expect(device.answers.map(\.calls) == [[call]])
    }

    @Test func `A failed record ends the send operation, and the call reports it`() throws {
        var server = ModelServer()
        var device = ModelDevice(isAutomatic: false)
        for number in 0..<4 { device.edit(Self.id("r\(number)"), number, at: 0) }
        _ = device.loop.send()
        try Self.run(&device, &server, at: 1000)
        let error = device.answers.last?.error
        #expect(error?.code == .partialFailure)
        #expect(
            error?.partialErrors.map(\.error.code) == [.zoneNotFound, .zoneNotFound, .zoneNotFound]
        )
        // What the app added again while it was told waits for the next call.
        #expect(device.loop.outgoingZones == [.save(Self.zone)])
        #expect(device.loop.outgoingRecords.count == 4)
        _ = device.loop.send()
        try Self.run(&device, &server, at: 2000)
        #expect(device.answers.last?.error == nil)
        #expect(server.values.count == 4)
    }

    @Test func `A record that changes during its send operation is sent again`() throws {
        var server = try Self.server(0)
        var device = ModelDevice(isAutomatic: false)
        device.edit(Self.id("r"), 1, at: 0)
        _ = device.loop.send()
        while device.loop.peek(at: 0) != .sendBatch { _ = try device.step(&server, at: 0) }
        device.edit(Self.id("r"), 2, at: 0)
        while try device.step(&server, at: 0) != .sendBatch {}
        #expect(device.loop.outgoingRecords == [.save(Self.id("r"))])
        try Self.run(&device, &server, at: 0)
        #expect(server.values == [Self.id("r"): 2])
        #expect(device.loop.outgoingRecords.isEmpty)
    }

    @Test func `A later change of a record replaces an earlier one`() {
        var loop = SyncLoop()
        loop.add(records: [.save(Self.id("a")), .save(Self.id("b"))], at: 0)
        loop.add(records: [.delete(Self.id("a"))], at: 0)
        #expect(loop.outgoingRecords == [.delete(Self.id("a")), .save(Self.id("b"))])
        loop.remove(records: [.save(Self.id("a"))])
        #expect(loop.outgoingRecords.count == 2)
        loop.remove(records: [.delete(Self.id("a"))])
        #expect(loop.outgoingRecords == [.save(Self.id("b"))])
    }

    @Test func `Removing what is not pending has no notice`() throws {
        var (server, device) = try Self.synchronized(1)
        device.edit(Self.id("x"), 1, at: 0)
        device.loop.remove(records: [.delete(Self.id("x")), .save(Self.id("y"))])
        #expect(device.loop.outgoingRecords == [.save(Self.id("x"))])
        try Self.run(&device, &server, at: 1000)
        device.loop.remove(zones: [.save(Self.zone)], records: [.save(Self.id("x"))])
        #expect(device.loop.nextStep(at: 2000) == .wait(until: nil))
    }

    @Test(arguments: [true, false])
    func `Changes whose answer was lost are sent again`(_ hasZone: Bool) throws {
        var (server, device) = try Self.synchronized(0)
        device.edit(Self.id("x"), 1, at: 0)
        if hasZone { device.loop.add(zones: [.save(ZoneID(zoneName: "new"))], at: 0) }
        let failure = SyncError(.serverResponseLost, "Nobody answered in time.")
        var failureCount = 0
        try Self.run(&device, &server, at: 1000) { step in
            switch step {
            case .sendBatch, .sendZones:
                failureCount += 1
                return failureCount < 3 ? failure : nil
            default: return nil
            }
        }
        try Self.run(&device, &server, at: 100_000)
        #expect(failureCount == 2)
        #expect(server.values == [Self.id("x"): 1])
        #expect(server.zones.count == (hasZone ? 2 : 1))
        #expect(device.loop.outgoingRecords.isEmpty && device.loop.outgoingZones.isEmpty)
    }

    @Test func `Zones that ended while the list's token expired are reported`() throws {
        var (server, device) = try Self.synchronized(2)
        let other = ZoneID(zoneName: "other")
        _ = server.apply([ModelServer.OutgoingZoneRequest(zone: other)])
        _ = try server.save(RecordID(recordName: "o", zone: other), 1, tag: nil)
        device.loop.noteServerChange(at: 1000)
        try Self.run(&device, &server, at: 1000)
        #expect(device.records.count == 3)
        _ = server.apply([ModelServer.OutgoingZoneRequest(zone: Self.zone, isDeletion: true)])
        server.expireListTokens()
        device.loop.noteServerChange(at: 2000)
        let steps = try Self.run(&device, &server, at: 2000)
        #expect(device.notices.contains(.fetchedZoneList(missing: [Self.zone])))
        #expect(device.records.map(\.key.zone) == [other])
        // What expired the token may have removed the subscription, and what came before the new one
        // caused no notification.
        let subscribed = try #require(steps.firstIndex(of: .subscribe))
        #expect(steps[subscribed...].contains(.tell(.willFetch(.scheduled, .all))))
        let count = device.notices.count
        device.loop.noteServerChange(at: 3000)
        try Self.run(&device, &server, at: 3000)
        #expect(!device.notices[count...].contains(.fetchedZoneList(missing: [Self.zone])))
    }

    @Test func `Zones that ended are reported by a list that is fetched in two runs`() throws {
        var server = ModelServer()
        let zones = (0..<7).map { ZoneID(zoneName: "z\($0)") }
        _ = server.apply(zones.map { ModelServer.OutgoingZoneRequest(zone: $0) })
        for zone in zones {
            _ = try server.save(RecordID(recordName: "r", zone: zone), 1, tag: nil)
        }
        var device = ModelDevice()
        try Self.run(&device, &server, at: 0)
        #expect(device.records.count == 7)
        _ = server.apply([ModelServer.OutgoingZoneRequest(zone: zones[0], isDeletion: true)])
        server.expireListTokens()
        device.loop.noteServerChange(at: 1000)
        let failure = SyncError(.networkUnavailable, "Cut off.")
        var pageCount = 0
        try Self.run(&device, &server, at: 1000) { step in
            guard case .fetchZoneList(let token) = step else { return nil }
            if token == nil { pageCount += 1 }
            return token != nil && pageCount > 0 ? failure : nil
        }
        try device.restart(at: 2000)
        try Self.run(&device, &server, at: 2000)
        #expect(device.records.count == 6)
        #expect(!device.records.keys.contains { $0.zone == zones[0] })
        #expect(device.loop.state.relistedZones == nil)
    }

    @Test func `A list whose token always expires has a pause between two tries`() throws {
        var (server, device) = try Self.synchronized(1)
        device.loop.noteServerChange(at: 1000)
        let failure = SyncError(.changeTokenExpired, "Too old.")
        let steps = try Self.run(&device, &server, at: 1000) { step in
            if case .fetchZoneList(.some) = step { failure } else { nil }
        }
        #expect(steps.count { $0 == .subscribe } <= 1)
    }

    @Test func `A cancelled loop rests, also if it was subscribing`() throws {
        var server = try Self.server(1)
        var device = ModelDevice()
        while device.loop.peek(at: 0) != .subscribe { _ = try device.step(&server, at: 0) }
        device.loop.cancel()
        let steps = try Self.run(&device, &server, at: 0)
        #expect(!steps.contains { if case .fetchZoneList = $0 { true } else { false } })
        device.loop.noteServerChange(at: 1000)
        try Self.run(&device, &server, at: 1000)
        #expect(device.records.count == 1)
    }

    @Test func `Every run makes sure of the subscription`() throws {
        var (server, device) = try Self.synchronized(1)
        try device.restart(at: 1000)
        let steps = try Self.run(&device, &server, at: 1000)
        #expect(steps.count { $0 == .subscribe } == 1)
        // It is no change of the state.
        #expect(!steps.prefix { $0 != .subscribe }.contains(.tell(.stateChanged)))
    }

    @Test func `Changes are sent although each fetch fails`() throws {
        var (server, device) = try Self.synchronized(1)
        _ = try server.save(Self.id("r1"), 1, tag: nil)
        device.edit(Self.id("x"), 1, at: 0)
        device.loop.noteServerChange(at: 1000)
        let failure = SyncError(.networkFailure, "Cut off.")
        try Self.run(&device, &server, at: 1000) { step in
            if case .fetchZoneChanges = step { failure } else { nil }
        }
        #expect(server.values[Self.id("x")] == 1)
        // The limit of a server holds for both.
        device.edit(Self.id("y"), 2, at: 400_000)
        device.loop.noteServerChange(at: 400_000)
        let limit = SyncError(.requestRateLimited, "Slower.", retryAfter: .seconds(30))
        try Self.run(&device, &server, at: 400_000) { step in
            if case .fetchZoneList = step { limit } else { nil }
        }
        try Self.run(&device, &server, at: 429_999)
        #expect(server.values[Self.id("y")] == nil)
        try Self.run(&device, &server, at: 430_000)
        #expect(server.values[Self.id("y")] == 2)
    }

    @Test func `A zone that cannot be fetched keeps no other zone from it`() throws {
        var server = try Self.server(2)
        let other = ZoneID(zoneName: "other")
        _ = server.apply([ModelServer.OutgoingZoneRequest(zone: other)])
        _ = try server.save(RecordID(recordName: "o", zone: other), 1, tag: nil)
        var device = ModelDevice()
        let failure = SyncError(.networkFailure, "Cut off.")
        for time in [Int64(0), 10_000] {
            try Self.run(&device, &server, at: time) { step in
                guard case .fetchZoneChanges(Self.zone, _) = step else { return nil }
                return failure
            }
        }
        #expect(device.records.map(\.key.zone) == [other])
        #expect(device.loop.unfetchedZones == [Self.zone])
    }

    @Test func `An account is checked again after any error`() throws {
        var server = try Self.server(1)
        var device = ModelDevice()
        let failure = SyncError(.incompatibleVersion, "A proxy has answered.")
        try Self.run(&device, &server, at: 0) { $0 == .checkAccount ? failure : nil }
        #expect(device.records.isEmpty)
        try Self.run(&device, &server, at: 300_000)
        #expect(device.records.count == 1)
    }

    @Test func `Temporary failures are retried with increasing delays`() throws {
        var (server, device) = try Self.synchronized(1)
        device.edit(Self.id("x"), 1, at: 0)
        var now: Int64 = 1000
        var waits: [Int64] = []
        let failure = SyncError(.networkUnavailable, "Nobody answers.")
        for _ in 0..<14 {
            try Self.run(&device, &server, at: now) { step in
                switch step {
                case .sendBatch, .fetchZoneList: failure
                default: nil
                }
            }
            guard case .wait(let time?) = device.loop.nextStep(at: now) else { break }
            waits.append(time - now)
            now = time
        }
        #expect(waits == waits.sorted())
        #expect(waits.last == Int64(300_000))
        #expect(device.loop.outgoingRecords == [.save(Self.id("x"))])
        try Self.run(&device, &server, at: now)
        #expect(server.values[Self.id("x")] == 1)
    }

    @Test func `Failing send operations back off while fetches succeed`() throws {
        var (server, device) = try Self.synchronized(1)
        device.edit(Self.id("x"), 1, at: 0)
        var now: Int64 = 1000
        var waits: [Int64] = []
        let failure = SyncError(.serviceUnavailable, "The disk is full.")
        for _ in 0..<14 {
            try Self.run(&device, &server, at: now) { $0 == .sendBatch ? failure : nil }
            guard case .wait(let time?) = device.loop.nextStep(at: now) else { break }
            waits.append(time - now)
            now = time
        }
        #expect(waits.count == 14)
        #expect(waits == waits.sorted())
        #expect(waits.last == Int64(300_000))
        // Where something goes out, what was refused beside it is tried again at once.
        device.edit(Self.id("y"), 2, at: now)
        try Self.run(&device, &server, at: now)
        #expect(server.values.count == 3)
    }

    @Test func `A manual fetch does not shorten a delay that the server requested`() throws {
        var (server, device) = try Self.synchronized(0)
        device.edit(Self.id("x"), 1, at: 0)
        let failure = SyncError(.requestRateLimited, "Slower.", retryAfter: .seconds(30))
        try Self.run(&device, &server, at: 1000) { $0 == .sendBatch ? failure : nil }
        _ = device.loop.fetch()
        try Self.run(&device, &server, at: 2000)
        device.edit(Self.id("y"), 2, at: 3000)
        try Self.run(&device, &server, at: 30_999)
        #expect(server.values.isEmpty)
        try Self.run(&device, &server, at: 31_000)
        #expect(server.values.count == 2)
    }

    @Test func `A failed zone is fetched again, whatever errors other zones have`() throws {
        var server = try Self.server(2)
        let other = ZoneID(zoneName: "other")
        _ = server.apply([ModelServer.OutgoingZoneRequest(zone: other)])
        _ = try server.save(RecordID(recordName: "o", zone: other), 1, tag: nil)
        var device = ModelDevice()
        var failureCount = 0
        try Self.run(&device, &server, at: 0) { step in
            guard case .fetchZoneChanges(let zone, _) = step, failureCount < 2 else { return nil }
            failureCount += 1
            return zone == Self.zone
                ? SyncError(.permissionFailure, "No.") : SyncError(.networkFailure, "Cut off.")
        }
        #expect(failureCount == 2)
        #expect(device.records.count == 3)
    }

    @Test func `A retry waits for the delay that the server requested`() throws {
        var (server, device) = try Self.synchronized(0)
        device.edit(Self.id("x"), 1, at: 0)
        let failure = SyncError(.requestRateLimited, "Slower.", retryAfter: .seconds(30))
        try Self.run(&device, &server, at: 1000) { $0 == .sendBatch ? failure : nil }
        #expect(device.loop.nextStep(at: 1000) == .wait(until: 31_000))
        // Whatever comes meanwhile.
        device.edit(Self.id("y"), 2, at: 2000)
        device.loop.noteServerChange(at: 3000)
        try Self.run(&device, &server, at: 30_999)
        #expect(server.values.isEmpty)
        #expect(device.loop.nextStep(at: 30_999) == .wait(until: 31_000))
        try Self.run(&device, &server, at: 31_000)
        #expect(server.values.count == 2)
        // And no longer than that.
        device.edit(Self.id("z"), 3, at: 31_500)
        try Self.run(&device, &server, at: 31_500)
        #expect(server.values.count == 3)
    }

    @Test(arguments: [Double.infinity, .nan, -1, 1e300])
    func `Any delay from a server is accepted`(_ seconds: Double) throws {
        var (server, device) = try Self.synchronized(0)
        device.edit(Self.id("x"), 1, at: 0)
        let failure = SyncError(
            .requestRateLimited,
            "Slower.",
            retryAfter: Duration(clampingSeconds: seconds)
        )
        var failureCount = 0
        try Self.run(&device, &server, at: 1000) { step in
            guard step == .sendBatch, failureCount == 0 else { return nil }
            failureCount += 1
            return failure
        }
        #expect(failureCount == 1)
        // What is no time to wait for is none.
        let isLong = seconds > 1
        #expect(server.values.isEmpty == isLong)
    }

    @Test func `Tokens are stored after the app has handled the changes before them`() throws {
        var server = try Self.server(5)
        var device = ModelDevice(isAutomatic: false)
        _ = device.loop.fetch()
        while device.loop.peek(at: 0) != .tell(.fetchedZoneChanges(Self.zone)) {
            _ = try device.step(&server, at: 0)
        }
        // The app is killed while it is being told.
        try device.restart(at: 0)
        #expect(device.records.isEmpty)
        #expect(device.loop.unfetchedZones == [Self.zone])
        _ = device.loop.fetch()
        try Self.run(&device, &server, at: 0)
        #expect(device.records.count == 5)
        #expect(device.loop.unfetchedZones.isEmpty)
    }

    @Test func `An expired token starts its zone again`() throws {
        var server = try Self.server(5)
        var device = ModelDevice(isAutomatic: false)
        _ = device.loop.fetch()
        try Self.run(&device, &server, at: 0)
        _ = try server.save(Self.id("new"), 9, tag: nil)
        server.expireTokens(of: Self.zone)
        _ = device.loop.fetch()
        let steps = try Self.run(&device, &server, at: 0)
        #expect(steps.contains(.fetchZoneChanges(Self.zone, since: nil)))
        #expect(device.records.count == 6)
        #expect(device.answers.last?.error == nil)
    }

    @Test func `Prioritized zones are fetched first, then the others in scope`() throws {
        var server = ModelServer()
        let zones = ["a", "b", "c", "d"].map { ZoneID(zoneName: $0) }
        _ = server.apply(zones.map { ModelServer.OutgoingZoneRequest(zone: $0) })
        var loop = SyncLoop(isAutomatic: false)
        _ = loop.fetch(.allExcluding([zones[1]]))
        var fetched: [ZoneID] = []
        steps: while true {
            switch loop.nextStep(at: 0) {
            case .checkAccount: loop.take(.account(UserID("_anna")), at: 0)
            case .askFetchOptions(_, let scope):
                loop.take(.fetchOptions(scope, first: [zones[3], zones[1]]), at: 0)
            case .fetchZoneList(let token): loop.take(server.zoneList(since: token), at: 0)
            case .fetchZoneChanges(let zone, let token):
                fetched.append(zone)
                loop.take(try server.changes(of: zone, since: token).outcome, at: 0)
            case .wait: break steps
            default: loop.take(.done, at: 0)
            }
        }
        #expect(fetched == [zones[3], zones[0], zones[2]])
        #expect(loop.unfetchedZones == [zones[1]])
    }

    @Test func `Options are requested before each request of a fetch`() throws {
        let server = try Self.server(5)
        var loop = SyncLoop(isAutomatic: false)
        _ = loop.fetch()
        var asked: [FetchScope] = []
        var requests: [SyncStep] = []
        steps: while true {
            let step = loop.nextStep(at: 0)
            switch step {
            case .checkAccount: loop.take(.account(UserID("_anna")), at: 0)
            case .askFetchOptions(_, let scope):
                asked.append(scope)
                // From the second page of the zone on, the app wants no zone any more.
                loop.take(.fetchOptions(asked.count > 2 ? .zones([]) : scope, first: []), at: 0)
            case .fetchZoneList(let token):
                requests.append(step)
                loop.take(server.zoneList(since: token), at: 0)
            case .fetchZoneChanges(let zone, let token):
                requests.append(step)
                loop.take(try server.changes(of: zone, since: token).outcome, at: 0)
            case .wait: break steps
            default: loop.take(.done, at: 0)
            }
        }
        #expect(requests.count > 2)
        #expect(asked == requests.map { _ in .all })
        #expect(loop.unfetchedZones.isEmpty)
    }

    @Test func `Cancelling does not shorten a delay`() throws {
        var server = try Self.server(0)
        var device = ModelDevice()
        let failure = SyncError(.requestRateLimited, "Slower.", retryAfter: .seconds(30))
        try Self.run(&device, &server, at: 1000) { $0 == .subscribe ? failure : nil }
        #expect(device.loop.nextStep(at: 1000) == .wait(until: 31_000))
        device.loop.cancel()
        try Self.run(&device, &server, at: 1000)
        #expect(device.loop.nextStep(at: 1000) == .wait(until: 31_000))
    }

    @Test func `A cancelled fetch does not begin anew`() throws {
        let expired = SyncError(.changeTokenExpired, "Too old.")
        for cancelsList in [true, false] {
            var (server, device) = try Self.synchronized(1)
            _ = try server.save(Self.id("x"), 1, tag: nil)
            _ = device.loop.fetch()
            func isCancelled(_ step: SyncStep) -> Bool {
                if case .fetchZoneList = step { return cancelsList }
                if case .fetchZoneChanges = step { return !cancelsList }
                return false
            }
            while !isCancelled(device.loop.peek(at: 0)) { _ = try device.step(&server, at: 0) }
            let step = device.loop.nextStep(at: 0)
            // While the request is under way.
            device.loop.cancel()
            device.loop.take(.failed(expired), at: 0)
            let steps = try Self.run(&device, &server, at: 0)
            #expect(!steps.contains(where: isCancelled), "\(step) is not repeated")
            #expect(device.answers.last?.error?.code == .operationCancelled)
        }
    }

    @Test func `Cancelling ends current operations and completes all calls`() throws {
        var server = try Self.server(9)
        var device = ModelDevice(isAutomatic: false)
        let calls = [device.loop.fetch(), device.loop.send()]
        while device.loop.peek(at: 0) != .tell(.fetchedZoneChanges(Self.zone)) {
            _ = try device.step(&server, at: 0)
        }
        device.loop.cancel()
        try Self.run(&device, &server, at: 0)
        #expect(Set(device.answers.flatMap(\.calls)) == Set(calls))
        #expect(device.answers.allSatisfy { $0.error?.code == .operationCancelled })
        #expect(device.notices.suffix(2).contains(.didFetch(.manual, .all)))
        #expect(device.records.count == 3)
        _ = device.loop.fetch()
        try Self.run(&device, &server, at: 0)
        #expect(device.records.count == 9)
    }

    @Test func `Another user starts with nothing, after the app is notified`() throws {
        var server = try Self.server(2)
        var device = ModelDevice()
        try Self.run(&device, &server, at: 1000)
        #expect(device.records.count == 2)
        device.edit(Self.id("x"), 1, at: 1000)
        server.user = UserID("_bert")
        device.loop.noteAccountChange()
        let before = device.notices.count
        try Self.run(&device, &server, at: 2000)
        let heard = device.notices[before...]
        #expect(heard.first == .accountChanged(from: UserID("_anna"), to: UserID("_bert")))
        #expect(device.loop.outgoingRecords.isEmpty)
        server.user = nil
        device.loop.noteAccountChange()
        _ = device.loop.fetch()
        try Self.run(&device, &server, at: 3000)
        #expect(device.notices.contains(.accountChanged(from: UserID("_bert"), to: nil)))
        #expect(device.answers.last?.error?.code == .notAuthenticated)
    }

    @Test func `A subscription that failed for good does not keep the next user from one`() throws {
        var server = try Self.server(1)
        var device = ModelDevice()
        let failure = SyncError(.quotaExceeded, "No more.")
        try Self.run(&device, &server, at: 0) { $0 == .subscribe ? failure : nil }
        #expect(!(try Self.run(&device, &server, at: 100_000)).contains(.subscribe))
        server.user = UserID("_bert")
        device.loop.noteAccountChange()
        #expect(try Self.run(&device, &server, at: 200_000).contains(.subscribe))
    }

    @Test func `The account is checked again if it changes during the check`() {
        var loop = SyncLoop()
        #expect(loop.nextStep(at: 0) == .checkAccount)
        loop.noteAccountChange()
        loop.take(.account(UserID("_anna")), at: 0)
        #expect(loop.nextStep(at: 0) == .checkAccount)
        loop.take(.account(UserID("_bert")), at: 0)
        #expect(loop.nextStep(at: 0) == .tell(.accountChanged(from: nil, to: UserID("_bert"))))
    }

    @Test func `No changes are sent once another user may be signed in`() throws {
        var (server, device) = try Self.synchronized(0)
        for number in 0..<8 { device.edit(Self.id("x\(number)"), number, at: 0) }
        let call = device.loop.send()
        while device.loop.peek(at: 0) != .tell(.sentBatch) { _ = try device.step(&server, at: 0) }
        server.user = UserID("_bert")
        device.loop.noteAccountChange()
        let before = device.notices.count
        let steps = try Self.run(&device, &server, at: 0)
        #expect(server.values.count == 3)
        #expect(!steps.contains(.sendBatch))
        let heard = device.notices[before...].filter { $0 != .stateChanged }
        #expect(heard.prefix(2).first == .sentBatch)
        #expect(heard.contains(.accountChanged(from: UserID("_anna"), to: UserID("_bert"))))
        #expect(device.answers.last?.calls == [call])
        #expect(device.loop.outgoingRecords.isEmpty)
    }

    @Test func `A send operation continues if the account did not change`() throws {
        var (server, device) = try Self.synchronized(0)
        for number in 0..<8 { device.edit(Self.id("x\(number)"), number, at: 0) }
        while device.loop.peek(at: 0) != .tell(.sentBatch) { _ = try device.step(&server, at: 0) }
        device.loop.noteAccountChange()
        try Self.run(&device, &server, at: 0)
        #expect(server.values.count == 8)
    }

    @Test func `Changes that the app does not name are sent again each time it says so`() throws {
        var (server, device) = try Self.synchronized(0)
        device.loop.setUntrackedChanges(true, at: 0)
        for time in [Int64(0), 100_000] {
            let steps = try Self.run(&device, &server, at: time + 60_000)
            #expect(steps.contains { if case .askBatch = $0 { true } else { false } })
            #expect(device.loop.hasUntrackedChanges)
            let idle = try Self.run(&device, &server, at: time + 80_000)
            #expect(!idle.contains { if case .askBatch = $0 { true } else { false } })
            device.loop.setUntrackedChanges(true, at: time + 90_000)
        }
    }

    @Test func `A state round-trips`() throws {
        var state = SyncState()
        state.user = UserID("_anna")
        state.databaseToken = ChangeToken(bytes: [1, 2])
        state.zoneTokens = [Self.zone: ChangeToken(bytes: [3])]
        state.unfetchedZones = [ZoneID(zoneName: "z", ownerName: "_bert"), Self.zone]
        state.outgoingZones.add(.delete(ZoneID(zoneName: "old")))
        state.outgoingRecords.add(.save(Self.id("b")))
        state.outgoingRecords.add(.delete(RecordID(recordName: "a")))
        state.hasUntrackedChanges = true
        state.relistedZones = [Self.zone]
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        let bytes = try encoder.encode(state)
        let read = try JSONDecoder().decode(SyncState.self, from: bytes)
        #expect(read.user == state.user)
        #expect(read.databaseToken == state.databaseToken)
        #expect(read.zoneTokens == state.zoneTokens)
        #expect(read.unfetchedZones == state.unfetchedZones)
        #expect(read.relistedZones == state.relistedZones)
        #expect(read.outgoingZones.changes == state.outgoingZones.changes)
        #expect(read.outgoingRecords.changes == state.outgoingRecords.changes)
        #expect(read.hasUntrackedChanges)
        #expect(try encoder.encode(read) == bytes)
        let later = String(decoding: bytes, as: UTF8.self)
            .replacing("\"version\":1", with: "\"version\":2")
        #expect(throws: DecodingError.self) {
            try JSONDecoder().decode(SyncState.self, from: Data(later.utf8))
        }
    }
}
