// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TidemarkModel

/// The option that lets each record that a command saves or deletes stand alone.
struct AtomicOption: ParsableArguments {
    @Flag(
        inversion: .prefixedNo,
        help: """
            In each custom zone, do all or nothing, in one request. Otherwise every record stands \
            alone, and as many requests are made as are needed.
            """
    )
    var atomic = true
}

/// A command that saves or deletes records.
///
/// It declares its groups of options itself: in debug builds the argument parser checks each level of
/// groups several times.
protocol ModifyCommand {
    var options: AtomicOption { get }
    var database: DatabaseOptions { get }
    var caller: CallerOptions { get }
    var output: OutputOptions { get }
}

extension ModifyCommand {
    /// Reads requests from standard input.
    ///
    /// `add` adds the meaning of a line.
    func readRequests(
        _ add: (RecordLine, inout RecordRequests) throws(JSONError) -> Void
    ) throws -> [ModifyRecordsRequest] {
        // The default limits: requests are made before the store is opened, and commands open it
        // with these limits.
        var requests = RecordRequests(isAtomic: options.atomic, limits: Limits())
        let lines = try FileLines(path: "-")
        var reader = RecordLineReader()
        while let line = try lines.next() {
            do {
                try add(try reader.read(line), &requests)
            } catch {
                throw CommandError("\(lines.place): \(error)")
            }
        }
        return requests.requests
    }

    /// Sends requests one after another, and prints the outcome of each item.
    ///
    /// All requests are sent, even if items of earlier ones fail. Throws, for status 1, if an item
    /// failed, and the error of a request that was rejected as a whole, after which none is sent.
    func send(
        _ requests: [ModifyRecordsRequest],
        to service: any DatabaseService
    ) async throws {
        var output = ItemOutput(output)
        do {
            try await send(requests, to: service, &output)
        } catch {
            // What earlier requests saved is saved, and the user has to know it.
            if !output.isEmpty { try? output.finish() }
            throw forCommandLine(error, about: requests)
        }
        try output.finish()
    }

    /// Returns the error of a request that has too many items with an option as its remedy.
    private func forCommandLine(
        _ error: any Error,
        about requests: [ModifyRecordsRequest]
    ) -> any Error {
        let limit = Limits().itemsPerRequest
        guard let error = error as? SyncError, error.code == .limitExceeded,
            requests.contains(where: { $0.saves.count + $0.deletions.count > limit })
        else { return error }
        return SyncError(
            error.code,
            error.message,
            remedy: "Add --no-atomic to send as many requests as are needed, or divide the input."
        )
    }

    private func send(
        _ requests: [ModifyRecordsRequest],
        to service: any DatabaseService,
        _ output: inout ItemOutput
    ) async throws {
        for (index, request) in requests.enumerated() {
            var caller = caller.caller(of: database.id)
            // Each request needs an id of its own: the store rejects a second request of other
            // content under the same id. The first keeps the given one, so that a repetition of the
            // command finds its results.
            if index > 0 { caller.requestID = caller.requestID.map { "\($0)/\(index + 1)" } }
            let result = try await service.modifyRecords(request, as: caller)
            for (save, outcome) in zip(request.saves, result.saves) {
                output.add("saved", .record(save.recordID), outcome.map { $0 })
            }
            for (deletion, outcome) in zip(request.deletions, result.deletions) {
                output.add("deleted", .record(deletion.recordID), outcome.map { _ in nil })
            }
        }
    }
}
