// Tidemark
// SPDX-License-Identifier: Apache-2.0

extension SegmentLog {
    /// Opens the log in a store's folder, creates it if requested, and recovers after an unclean
    /// stop.
    ///
    /// `onDurable` is called after every sync with the new watermark, on the writer's thread,
    /// before waiting callers continue. `onFinished` is called in the background when a segment has
    /// its footer.
    ///
    /// Throws `notAStore`, `locked`, `corrupted` (the store can still be read, see ``LogReader``),
    /// `newerVersion`, `foreignFile`, `unreadable` or `full`. O(segments) to check that they exist,
    /// plus reading those without a footer: the active one and rarely the previous one. Call
    /// ``sealLeftovers()`` at an idle time.
    package static func open(
        _ directory: String,
        creating: Bool,
        configuration: LogConfiguration,
        environment: LogEnvironment,
        onDurable: @escaping @Sendable (SequenceNumber) -> Void,
        onFinished: @escaping @Sendable () -> Void = {}
    ) throws(LogError) -> (log: SegmentLog, report: RecoveryReport) {
        let opening = try LogOpening(
            folder: StoreFolder(directory),
            configuration: configuration,
            environment: environment
        )
        .holdingFolder(creating: creating)
        let opened = try opening.openUsingReserve(creating: creating)
        let report = opened.report
        let log = SegmentLog(
            opened: opened,
            configuration: configuration,
            environment: opening.environment,
            onDurable: onDurable,
            onFinished: onFinished
        )
        return (log, report)
    }
}
