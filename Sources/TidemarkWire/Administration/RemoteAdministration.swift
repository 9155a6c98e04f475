// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import TidemarkModel

/// The transport to an `AdministrationService` in another process or on another machine.
///
/// It carries bytes without reading them.
public protocol AdministrationTransport: Sendable {
    /// Sends a call once, and passes the lines of the answer to `receive`, without line feeds.
    ///
    /// Throws `networkUnavailable`, `networkFailure` or `serverResponseLost` if a connection failed
    /// or was lost. Throws the error of the other side if there is one before the first line.
    /// Cancelling the task ends the call there too.
    func send(
        _ call: [UInt8],
        to name: String,
        receive: ([UInt8]) async throws -> Void
    ) async throws
}

/// An `AdministrationService` whose answers come from another process.
///
/// A call that only reads is repeated if the connection was lost before the first part of an
/// answer.
public struct RemoteAdministration<Transport: AdministrationTransport>: AdministrationService {
    private let transport: Transport
    private let patience: Patience

    /// Creates a service behind a transport.
    public init(over transport: Transport, patience: Patience = Patience(repetitions: 2)) {
        self.transport = transport
        self.patience = patience
    }

    /// See `AdministrationService`.
    public func answer<Call: AdministrationCall>(
        _ call: Call,
        report: @escaping @Sendable (UInt64, UInt64) -> Void,
        receive: (Call.Piece) async throws -> Void
    ) async throws -> Call.Answer {
        let bytes = try WireCoding.bytes(of: call)
        var repetition = 0
        while true {
            // Only pieces count. Progress may be reported again, and an answer or an error is the
            // last line.
            var hasBegun = false
            var answer: Call.Answer?
            do {
                try await transport.send(bytes, to: Call.name) { bytes in
                    let line = try Self.line(bytes, of: Call.self)
                    if let progress = line.progress { report(progress.done, progress.total) }
                    if let error = line.error { throw error }
                    if let piece = line.piece {
                        hasBegun = true
                        try await receive(piece)
                    }
                    if let found = line.answer { answer = found }
                }
                if let answer { return answer }
                // A cancelled call also ends without an answer, but no connection was lost.
                try Task.checkCancellation()
                throw SyncError(
                    .serverResponseLost,
                    "The connection was lost before the answer to '\(Call.name)' was complete."
                )
            } catch let error as SyncError where error.isLostConnection {
                // After the first piece, a repetition would pass the same pieces to `receive`
                // again.
                // Calls have no request id, so a call that writes is never repeated: it may have
                // been done.
                guard !call.writes, !hasBegun, repetition < patience.repetitions,
                    await patience.pause(before: repetition)
                else { throw error }
                repetition += 1
            }
        }
    }

    private static func line<Call: AdministrationCall>(
        _ bytes: [UInt8],
        of call: Call.Type
    ) throws(SyncError) -> AdministrationLine<Call> {
        do throws(DecodingError) {
            return try WireCoding.value(AdministrationLine<Call>.self, from: bytes)
        } catch {
            throw .unreadable("The answer to '\(Call.name)' cannot be read: \(error.summary).")
        }
    }
}
