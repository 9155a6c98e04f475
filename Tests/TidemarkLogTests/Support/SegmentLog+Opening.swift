// Tidemark
// SPDX-License-Identifier: Apache-2.0

@testable import TidemarkLog

extension SegmentLog {
    /// Opens a log and seals what an earlier stop left without a footer, as a store does.
    static func openAndSeal(
        _ directory: String,
        creating: Bool,
        configuration: LogConfiguration,
        environment: LogEnvironment,
        onDurable: @escaping @Sendable (SequenceNumber) -> Void
    ) throws(LogError) -> (log: SegmentLog, report: RecoveryReport) {
        let (log, report) = try open(
            directory,
            creating: creating,
            configuration: configuration,
            environment: environment,
            onDurable: onDurable
        )
        log.sealLeftovers()
        return (log, report)
    }
}
