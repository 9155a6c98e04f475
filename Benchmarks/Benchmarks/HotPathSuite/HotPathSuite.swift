// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Benchmark
import HotPaths

/// Times every hot path; `tools/bench --instructions` counts what they cost.
let benchmarks: @Sendable () -> Void = {
    // A thousand operations at a time; the figures are those of one.
    let operationCount = 1_000
    for path in HotPath.all {
        Benchmark(
            path.name,
            configuration: Benchmark.Configuration(
                metrics: [.wallClock, .throughput],
                scalingFactor: .kilo,
                maxDuration: .seconds(2)
            )
        ) { benchmark in
            let prepared = try path.prepare(operationCount)
            benchmark.startMeasurement()
            try prepared.run(operationCount)
            benchmark.stopMeasurement()
        }
    }
}
