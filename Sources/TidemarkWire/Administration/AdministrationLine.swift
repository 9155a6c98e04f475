// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import TidemarkModel

/// One line of the answer to a call.
///
/// Its one member names its kind. The last line has an answer or an error.
struct AdministrationLine<Call: AdministrationCall>: Codable {
    /// The completed part and the total of the work.
    struct Progress: Codable {
        var done: UInt64
        var total: UInt64
    }

    var progress: Progress?
    var piece: Call.Piece?
    var answer: Call.Answer?
    var error: SyncError?
}

/// Calls of operators as bytes, for the side that answers them.
public enum AdministrationLines {
    /// Reads a call from the bytes of a JSON object; no bytes are a call without members.
    ///
    /// Throws `invalidArguments` for bytes that are not one.
    public static func call<Call: AdministrationCall>(
        _ type: Call.Type,
        from bytes: [UInt8]
    ) throws(SyncError) -> Call {
        do throws(DecodingError) {
            return try WireCoding.value(type, from: bytes.isEmpty ? Array("{}".utf8) : bytes)
        } catch {
            throw SyncError(
                .invalidArguments,
                "The call '\(Call.name)' cannot be read: \(error.summary)."
            )
        }
    }

    /// Answers a call in lines of JSON, without line feeds.
    ///
    /// `report` receives the completed part and the total, at any time before the answer and on any thread.
    /// `write` receives the lines, one after another. Throws the error of the service; the caller writes it with
    /// ``failure(_:)``.
    public static func answer<Call: AdministrationCall>(
        _ call: Call,
        by service: any AdministrationService,
        report: @escaping @Sendable (_ done: UInt64, _ total: UInt64) -> Void,
        write: ([UInt8]) async throws -> Void
    ) async throws {
        let answer = try await service.answer(call, report: report) { piece in
            try await write(try WireCoding.bytes(of: AdministrationLine<Call>(piece: piece)))
        }
        try await write(try WireCoding.bytes(of: AdministrationLine<Call>(answer: answer)))
    }

    /// Returns the line that reports the progress of work.
    public static func progress(_ done: UInt64, of total: UInt64) -> [UInt8] {
        Array("{\"progress\":{\"done\":\(done),\"total\":\(total)}}".utf8)
    }

    /// Returns the line that reports an error in place of an answer.
    public static func failure(_ error: SyncError) -> [UInt8] {
        // A line of an error is the same for all calls, so any call stands for the one that failed.
        let line = AdministrationLine<NoCall>(error: error)
        // The last line must arrive in any case, or the client takes the error for a lost
        // connection.
        return (try? WireCoding.bytes(of: line)) ?? Array("{\"error\":{\"code\":1}}".utf8)
    }

    /// Returns the error in a line; `nil` for any other line.
    public static func failure(in line: [UInt8]) -> SyncError? {
        (try? WireCoding.value(AdministrationLine<NoCall>.self, from: line))?.error
    }

    /// No call has neither pieces nor an answer.
    private struct NoCall: AdministrationCall {
        static let name = ""
    }
}
