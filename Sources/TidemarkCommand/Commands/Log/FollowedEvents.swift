// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkAdministration
import TidemarkLog
import TidemarkModel

/// The events of a log as they happen, from a service whose connection may be lost.
struct FollowedEvents {
    let service: any AdministrationService
    /// The time between two attempts to reach a server.
    var pause = Duration.seconds(1)

    private static let losses: [SyncError.Code] = [
        .networkUnavailable, .networkFailure, .serverResponseLost,
        // A server ends the call while it erases something.
        .serviceUnavailable,
    ]

    /// Passes on the events of a call; after a lost connection it continues after the last one.
    ///
    /// Returns `nil` if the connection was lost after the last event of the call's limit.
    func pass(
        _ call: EventsCall,
        to receive: (LoggedEvent) throws -> Void
    ) async throws -> EventsCall.Answer? {
        var call = call
        // The files of this machine are not lost, and cannot answer where a store ends.
        if !(service is StoreAdministration) { call.first = try await first(of: call) }
        var wasLost = false
        while true {
            do {
                return try await service.answer(call) { event in
                    wasLost = false
                    try receive(event)
                    call.first = event.sequence.next
                    call.limit = call.limit.map { $0 - 1 }
                }
            } catch let error as SyncError where Self.losses.contains(error.code) {
                // Only the answer after the last event is missing.
                if call.limit == 0 { return nil }
                if !wasLost { note("\(error.message) Trying again.") }
                wasLost = true
                try await Task.sleep(for: pause)
            }
        }
    }

    /// Returns the position of the first event of a call.
    ///
    /// A number of newest events is counted here once. Counted again after a lost connection, they
    /// would be others. This is also the first question to the server: an error of it is thrown,
    /// because an address that never answered may be mistyped.
    private func first(of call: EventsCall) async throws -> SequenceNumber {
        let newest = try await service.answer(PositionCall()).newest
        if let first = call.first { return first }
        var found: SequenceNumber?
        if call.newest != 0 {
            var search = call
            search.limit = 1
            search.follows = nil
            _ = try await service.answer(search) { event in found = event.sequence }
        }
        return found ?? newest.next
    }
}
