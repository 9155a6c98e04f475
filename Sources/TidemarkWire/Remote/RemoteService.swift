// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkModel

/// A `DatabaseService` whose answers come from another process.
///
/// Short losses of the connection are hidden from the caller. Calls are repeated where the service
/// allows it, writes under a request id that is created for each call. Streams and downloads are
/// resumed where they were interrupted. An upload is not repeated, because its pieces can be read
/// only once.
public struct RemoteService<Transport: ServiceTransport>: Sendable {
    let transport: Transport
    let patience: Patience
    private let makeRequestID: @Sendable () -> String

    /// Creates a service behind a transport.
    ///
    /// `makeRequestID` returns a different text for every call, which cannot be guessed.
    public init(
        over transport: Transport,
        patience: Patience = Patience(),
        makeRequestID: @escaping @Sendable () -> String = Self.randomRequestID
    ) {
        self.transport = transport
        self.patience = patience
        self.makeRequestID = makeRequestID
    }

    /// Sixteen characters for 96 random bits.
    public static func randomRequestID() -> String {
        var random = SystemRandomNumberGenerator()
        var text: [UInt8] = []
        let bytes = (0..<12).map { _ in UInt8.random(in: .min ... .max, using: &random) }
        bytes.withUnsafeBufferPointer { Base64.encode($0, .urlWithoutPadding, into: &text) }
        return String(decoding: text, as: UTF8.self)
    }

    /// Performs a method over the transport.
    func perform<Request, Answer>(
        _ method: DatabaseMethods.Method<Request, Answer>,
        _ request: Request,
        as caller: Caller
    ) async throws(SyncError) -> Answer {
        var caller = caller
        // Once, before the repetitions: the service recognizes a repeated write by its id.
        if method.writes, caller.requestID == nil { caller.requestID = makeRequestID() }
        // Read once: another call may change the transport's form in the meantime, and the `catch`
        // below compares with the form of this message.
        let form = method.has(transport.form) ? transport.form : .json
        let message = try method.message(for: request, in: form)
        do throws(SyncError) {
            let answer = try await patience.repeating { [caller] () throws(SyncError) in
                try await transport.send(message, to: method.name, as: caller)
            }
            // Outside of the repetitions: an answer that cannot be read would be the same again.
            return try method.answer(from: answer)
        } catch  where form != .json && transport.form == .json {
            // The other side does not support the form, and did nothing.
            // Or another call has changed the form while this one failed for another reason.
            // `caller` has its request id already, so a write that was done is not done again.
            return try await perform(method, request, as: caller)
        }
    }
}
