// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Observing
import CoreMetrics
import Foundation
import InMemoryLogging
import InMemoryTracing
import Logging
import MetricsTestKit
import TestSupport
import Testing
import Tidemark
import TidemarkLock
import TidemarkModel
import TidemarkObserving
import Tracing

struct InstrumentsTests {
    private let folder: ScratchFolder
    private let metrics = TestMetrics()
    private let handler = InMemoryLogHandler()
    private let tracer = InMemoryTracer()

    init() throws { folder = try ScratchFolder() }

    private var instruments: StoreInstruments {
        var logger = Logger(label: "test") { _ in handler }
        logger.logLevel = .debug
        return StoreInstruments(logger: logger, metrics: metrics, tracer: tracer)
    }

    private func open(_ observer: (any StoreObserver)?) throws -> Store {
        try Store.open(at: folder.path(), access: .creating, observer: observer)
    }

    private func total(_ label: String, _ dimensions: [(String, String)] = []) throws -> Int64 {
        try metrics.expectCounter("tidemark.\(label)", dimensions).totalValue
    }

    @Test
    func `Commits, syncs, calls and rejections are counted and timed`() async throws {
        let store = try open(instruments)
        let zone = try await store.database(device: "laptop").createZone("notes")
        for name in ["a", "b", "c"] {
            _ = try await zone.save(name, type: "Note", fields: ["text": "Hi"])
        }
        await #expect(throws: SyncError.self) {
            _ = try await zone.save("a", type: "Note", fields: ["text": "again"])
        }
        _ = try await zone.fetch("a")
        let commits = try total("commits")
        let events = try total("events")
        let last = store.lastSequence.rawValue
        try store.close()

        #expect(commits == 4)
        // A zone and three records; with the first of them the schema's zone and its type.
        #expect(events == 6)
        #expect(UInt64(events) == last)
        #expect(try total("log.bytes") > 0)
        #expect(try metrics.expectTimer("tidemark.sync.duration").values.count == 4)
        #expect(try metrics.expectGauge("tidemark.queue.events").values.count == 4)
        let saves = try metrics.expectTimer("tidemark.call.duration", [("call", "modifyRecords")])
        #expect(saves.values.count == 4)
        #expect(saves.values.allSatisfy { $0 > 0 })
        #expect(
            try total("refusals", [("call", "modifyRecords"), ("code", "serverRecordChanged")]) == 1
        )
        let found = try total("cache.blocks", [("found", "true")])
        let missed = try total("cache.blocks", [("found", "false")])
        #expect(found + missed > 0)
        #expect(try metrics.expectTimer("tidemark.open.duration").values.count == 1)
        #expect(try metrics.expectTimer("tidemark.checkpoint.duration").values.count == 1)
        #expect(
            try metrics.expectGauge("tidemark.checkpoint.sequence").values.map { UInt64($0) } == [
                last
            ]
        )
        #expect(try total("failures") == 0)
    }

    @Test
    func `Openings, closings, compactions and rejections are logged`() async throws {
        let store = try open(instruments)
        let zone = try await store.database(device: "laptop").createZone("notes")
        _ = try await zone.save("a", type: "Note", fields: ["text": "Hi"])
        await #expect(throws: SyncError.self) {
            _ = try await zone.save("a", type: "Note", fields: ["text": "again"])
        }
        let report = try await store.compact()
        try store.close()
        let messages = handler.entries.map { "\($0.level) \($0.message)" }
        #expect(messages.first == "info opened")
        #expect(messages.last == "info closed")
        #expect(messages.contains("info compacted"))
        #expect(messages.contains("debug refused"))
        #expect(messages.contains("debug checkpoint"))
        #expect(try metrics.expectTimer("tidemark.compaction.duration").values.count == 1)
        let freed = Int64(report.oldByteCount) - Int64(report.newByteCount)
        #expect(try total("compaction.freed.bytes") == max(0, freed))
        let spans = Set(tracer.finishedSpans.map(\.operationName))
        #expect(spans.isSuperset(of: ["tidemark.open", "tidemark.checkpoint", "tidemark.compact"]))
    }

    @Test
    func `A failed opening is counted, logged and in its span`() throws {
        #expect(throws: LogError.self) {
            try Store.open(at: folder.path("none.tide"), access: .writing, observer: instruments)
        }
        #expect(try total("failures") == 1)
        #expect(handler.entries.map { "\($0.level) \($0.message)" } == ["error failed"])
        let span = try #require(tracer.finishedSpans.first)
        #expect(span.operationName == "tidemark.open")
        #expect(span.errors.count == 1)
        #expect(span.status?.code == .error)
    }

    @Test
    func `A recovery is logged`() async throws {
        let first = try open(nil)
        _ = try await first.database(device: "laptop").createZone("notes")
        try FileManager.default.copyItem(atPath: folder.path(), toPath: folder.path("copy.tide"))
        try first.close()
        let copy = try Store.open(at: folder.path("copy.tide"), observer: instruments)
        try copy.close()
        #expect(handler.entries.map { "\($0.message)" } == ["opened and recovered", "closed"])
    }

    @Test
    func `Queries are counted by execution with index or scan`() async throws {
        let store = try open(instruments)
        let zone = try await store.database(device: "laptop").createZone("notes")
        _ = try await zone.save("a", type: "Note", fields: ["text": "Hi"])
        let caller = Caller(device: "laptop")
        let request = QueryRequest(Query(recordType: "Note"), in: zone.id)
        _ = try await store.query(request, as: caller, asOf: store.lastSequence)
        #expect(try total("queries", [("by", "scan")]) == 1)
        // Records are read until the index is there.
        var count: Int64 = 1
        while try total("queries", [("by", "index")]) == 0, count < 1_000 {
            _ = try await store.query(request, as: caller)
            count += 1
            try await Task.sleep(for: .milliseconds(5))
        }
        try store.close()
        let indexed = try total("queries", [("by", "index")])
        #expect(indexed == 1)
        #expect(try total("queries", [("by", "scan")]) + indexed == count)
    }

    @Test
    func `A call's span is a child of the task's span`() async throws {
        let store = try open(instruments)
        let zone = try await store.database(device: "laptop").createZone("notes")
        tracer.clearFinishedSpans()
        let outer: InMemorySpan = tracer.startSpan("request", context: .topLevel)
        try await ServiceContext.withValue(outer.context) {
            _ = try await zone.save("a", type: "Note", fields: ["text": "Hi"])
            await #expect(throws: SyncError.self) {
                _ = try await zone.save("a", type: "Note", fields: ["text": "again"])
            }
        }
        outer.end()
        let spans = tracer.finishedSpans
        #expect(
            spans.map(\.operationName)
                == ["tidemark.modifyRecords", "tidemark.modifyRecords", "request"]
        )
        for span in spans.dropLast() {
            #expect(span.traceID == outer.traceID)
            #expect(span.parentSpanID == outer.spanID)
            #expect(span.attributes["tidemark.database"]?.toSpanAttribute() == "private")
        }
        try store.close()
    }

    @Test
    func `A caller's trace is the parent if the task has no span`() async throws {
        let tracer = HeaderTracer()
        let observer = StoreInstruments(
            logger: Logger(label: "test") { _ in handler },
            metrics: metrics,
            tracer: tracer
        )
        let store = try open(observer)
        let text = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        let caller = Caller(trace: TraceContext(traceparent: text))
        _ = try await store.zones(as: caller)
        _ = try await store.zones(as: Caller())
        try store.close()
        #expect(tracer.extracted.withLock { $0 } == [text])
    }

    @Test
    func `An observer receives each begin and end once`() async throws {
        let observer = CountingObserver()
        let store = try open(observer)
        let zone = try await store.database(device: "laptop").createZone("notes")
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<50 {
                group.addTask {
                    _ = try await zone.save("n\(number)", type: "Note", fields: ["text": "Hi"])
                }
            }
            try await group.waitForAll()
        }
        try store.close()
        let counts = observer.counts.withLock { $0 }
        #expect(counts.begun == counts.ended)
        // The opening, 51 calls, a checkpoint, and the syncs that those shared.
        #expect(counts.begun > 53)
        #expect(counts.commits == 51)
    }
}

/// A tracer that notes which headers it was given.
private struct HeaderTracer: Tracer {
    let extracted = ExtractedHeaders()
    private let spans = InMemoryTracer()

    func startSpan<Instant: TracerInstant>(
        _ operationName: String,
        context: @autoclosure () -> ServiceContext,
        ofKind kind: SpanKind,
        at instant: @autoclosure () -> Instant,
        function: String,
        file fileID: String,
        line: UInt
    ) -> InMemorySpan {
        spans.startSpan(
            operationName,
            context: context(),
            ofKind: kind,
            at: instant(),
            function: function,
            file: fileID,
            line: line
        )
    }

    func extract<Carrier, Extract: Extractor>(
        _ carrier: Carrier,
        into context: inout ServiceContext,
        using extractor: Extract
    ) where Extract.Carrier == Carrier {
        guard let text = extractor.extract(key: "traceparent", from: carrier) else { return }
        extracted.withLock { $0.append(text) }
    }

    func inject<Carrier, Inject: Injector>(
        _ context: ServiceContext,
        into carrier: inout Carrier,
        using injector: Inject
    ) where Inject.Carrier == Carrier {}

    func forceFlush() {}
}

/// Headers that a tracer was given.
private final class ExtractedHeaders: Sendable {
    private let texts = Lock<[String]>([])

    func withLock<Result: Sendable>(_ body: (inout [String]) -> Result) -> Result {
        texts.withLock { texts in body(&texts) }
    }
}

/// Counts what it hears.
private final class CountingObserver: StoreObserver {
    struct Counts {
        var begun = 0
        var ended = 0
        var commits = 0
    }

    let counts = Lock(Counts())

    func begins(_ work: StoreWork) -> (any StoreWorkObserver)? {
        counts.withLock { $0.begun += 1 }
        return End(observer: self)
    }

    func notes(_ fact: StoreFact) {
        guard case .synced(let frame) = fact else { return }
        counts.withLock { $0.commits += frame.commitCount }
    }

    private struct End: StoreWorkObserver {
        let observer: CountingObserver

        func ends(_ error: (any Error)?) { observer.counts.withLock { $0.ended += 1 } }
    }
}
#endif
