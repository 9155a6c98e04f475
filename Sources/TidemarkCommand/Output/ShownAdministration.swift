// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkLock
import TidemarkModel

/// A service whose calls show their progress until the first part of an answer.
///
/// The parts are usually printed, and a bar would be in the same line of the terminal.
struct ShownAdministration: AdministrationService {
    private let service: any AdministrationService
    private let makeProgress: @Sendable () -> Progress

    init(
        _ service: any AdministrationService,
        _ makeProgress: @escaping @Sendable () -> Progress = { Progress() }
    ) {
        self.service = service
        self.makeProgress = makeProgress
    }

    func answer<Call: AdministrationCall>(
        _ call: Call,
        report: @escaping @Sendable (UInt64, UInt64) -> Void,
        receive: (Call.Piece) async throws -> Void
    ) async throws -> Call.Answer {
        let shown = Lock(makeProgress())
        defer { shown.withLock { $0.finish() } }
        return try await service.answer(call) { done, total in
            report(done, total)
            // Called on the threads that do the work.
            shown.withLock { $0.update(done, of: total, "\(done) of \(total)") }
        } receive: { piece in
            shown.withLock { $0.end() }
            try await receive(piece)
        }
    }
}
