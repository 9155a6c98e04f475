// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkLock
import TidemarkLog
public import TidemarkModel

/// A part of the schema that a build of an app has just used and that production's schema lacks.
public struct SchemaDriftReport: Hashable, Sendable {
    /// The app's container.
    public let container: ContainerID
    /// The environment of the build: in development the write succeeded, in production it was
    /// rejected.
    public let environment: Environment
    /// The build; `nil` for clients that do not state it.
    public let build: String?
    /// The schema gaps that were not reported for this build before.
    public let gaps: [SchemaDrift.Gap]
    /// The time of the report, in milliseconds since 1970.
    public let time: Int64
}

/// Notifies listeners of drift: of each gap once for each build while the store is open.
final class DriftReports: Sendable {
    private struct State {
        var known: [DatabaseID: SchemaDrift] = [:]
        var listeners: [Int: AsyncStream<SchemaDriftReport>.Continuation] = [:]
        var listenerCount = 0
        var isOver = false
    }

    private let state = Lock(State())
    /// The maximum number of reports that wait for a slow listener; older reports are dropped.
    private static let waitingCount = 1_000

    /// Reports from here on.
    func listen() -> AsyncStream<SchemaDriftReport> {
        let (reports, listener) = AsyncStream.makeStream(
            of: SchemaDriftReport.self,
            bufferingPolicy: .bufferingNewest(Self.waitingCount)
        )
        let number = state.withLock { state -> Int? in
            if state.isOver { return nil }
            state.listenerCount += 1
            state.listeners[state.listenerCount] = listener
            return state.listenerCount
        }
        guard let number else {
            listener.finish()
            return reports
        }
        listener.onTermination = { [weak self] _ in
            self?.state.withLock { _ = $0.listeners.removeValue(forKey: number) }
        }
        return reports
    }

    /// Reports the gaps that were not reported for a build before.
    func note(_ gaps: [SchemaDrift.Gap], by caller: Caller, at time: Int64) {
        if gaps.isEmpty { return }
        let home = caller.database.ofSystemZones
        let build = caller.build
        // One lock for both steps: of two requests with the same gap, only one may find it new.
        let (new, listeners) = state.withLock { state in
            let new = state.known[home, default: SchemaDrift()]
                .note(gaps, build: build.map { Name($0) }, at: time)
            return (new, Array(state.listeners.values))
        }
        if new.isEmpty { return }
        let report = SchemaDriftReport(
            container: home.container,
            environment: home.environment,
            build: build,
            gaps: new,
            time: time
        )
        for listener in listeners { listener.yield(report) }
    }

    /// Ends all listeners' streams.
    func finish() {
        let listeners = state.withLock { state in
            state.isOver = true
            defer { state.listeners = [:] }
            return Array(state.listeners.values)
        }
        // Outside the lock: finishing a stream calls `onTermination`, which takes the lock.
        for listener in listeners { listener.finish() }
    }
}
