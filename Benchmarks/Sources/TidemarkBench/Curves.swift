// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Figures against the length of the log, as a plot: what should be flat is seen to be flat, or not.
///
/// Both axes are logarithmic. A panel for each measurement, a line for each engine.
struct Curves {
    /// One measurement at several lengths of the log.
    struct Panel {
        let title: String
        /// By engine: the events of the log, and the figure there.
        var lines: [(engine: String, points: [(eventCount: Int, value: Double)])]
    }

    let panels: [Panel]

    /// From all that a run has measured.
    init(_ results: [Measurement], eventCounts: [Int]) {
        let works: [(title: String, name: (Int) -> String)] = [
            ("delta of 100 changes, warm (ms)", { Name.delta($0, .warm) }),
            ("delta of 100 changes, cold (ms)", { Name.delta($0, .cold) }),
            ("open after kill -9 (ms)", Name.open),
            ("memory after that (MiB)", Name.openMemory),
        ]
        panels = works.map { work in
            let lines = Self.engines.map { engine, _ in
                let points = eventCounts.compactMap { count in
                    results.first { $0.name == work.name(count) }?.medians[engine]
                        .map { (eventCount: count, value: $0) }
                }
                return (engine: engine, points: points)
            }
            return Panel(title: work.title, lines: lines.filter { !$0.points.isEmpty })
        }
    }

    private static let engines = [
        ("tidemark", "#0b6fb8"), ("sqlite", "#b85c0b"), ("sqliteRowid", "#b8a00b"),
        ("rocksdb", "#6a6a6a"),
    ]

    // MARK: Drawing

    private static let width = 420.0
    private static let height = 260.0
    private static let margin = (left: 56.0, right: 16.0, top: 32.0, bottom: 36.0)

    /// The plot, two panels side by side.
    var svg: String {
        let rowCount = (panels.count + 1) / 2
        let height = Double(rowCount) * Self.height + 24
        var lines = [
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"\(Int(2 * Self.width))\" "
                + "height=\"\(Int(height))\" font-family=\"sans-serif\" font-size=\"11\">",
            "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>",
        ]
        for (index, panel) in panels.enumerated() {
            let x = Double(index % 2) * Self.width
            let y = Double(index / 2) * Self.height
            lines.append("<g transform=\"translate(\(x),\(y))\">")
            lines += Self.draw(panel)
            lines.append("</g>")
        }
        for (index, engine) in Self.engines.enumerated() {
            let x = Self.margin.left + Double(index) * 110
            lines.append(
                Self.text(engine.0, x: x, y: height - 8, fill: engine.1, anchor: "start")
            )
        }
        return (lines + ["</svg>", ""]).joined(separator: "\n")
    }

    private static func draw(_ panel: Panel) -> [String] {
        let points = panel.lines.flatMap(\.points)
        guard !points.isEmpty else { return [] }
        let across = Scale(
            values: points.map { Double($0.eventCount) },
            from: margin.left,
            to: width - margin.right
        )
        let up = Scale(values: points.map(\.value), from: height - margin.bottom, to: margin.top)
        var lines = [text(panel.title, x: width / 2, y: 18, fill: "black", anchor: "middle")]
        for decade in across.decades {
            let x = across.place(of: decade)
            lines.append(line(x, margin.top, x, height - margin.bottom))
            let label = "\(Int(decade).formatted(.number.locale(.init(identifier: "en"))))"
            lines.append(text(label, x: x, y: height - 18, fill: "#444", anchor: "middle"))
        }
        for decade in up.decades {
            let y = up.place(of: decade)
            lines.append(line(margin.left, y, width - margin.right, y))
            let label = decade >= 1 ? "\(Int(decade))" : "\(decade)"
            lines.append(text(label, x: margin.left - 6, y: y + 4, fill: "#444", anchor: "end"))
        }
        for (engine, points) in panel.lines {
            let color = engines.first { $0.0 == engine }?.1 ?? "black"
            let places = points.map {
                (across.place(of: Double($0.eventCount)), up.place(of: $0.value))
            }
            let path = places.map { "\($0.0.tenths),\($0.1.tenths)" }.joined(separator: " ")
            lines.append(
                "<polyline points=\"\(path)\" fill=\"none\" stroke=\"\(color)\" stroke-width=\"2\"/>"
            )
            lines += places.map {
                "<circle cx=\"\($0.0.tenths)\" cy=\"\($0.1.tenths)\" r=\"3\" fill=\"\(color)\"/>"
            }
        }
        return lines
    }

    private static func line(_ x: Double, _ y: Double, _ x2: Double, _ y2: Double) -> String {
        "<line x1=\"\(x.tenths)\" y1=\"\(y.tenths)\" x2=\"\(x2.tenths)\" y2=\"\(y2.tenths)\" "
            + "stroke=\"#ddd\"/>"
    }

    private static func text(
        _ text: String,
        x: Double,
        y: Double,
        fill: String,
        anchor: String
    ) -> String {
        "<text x=\"\(x.tenths)\" y=\"\(y.tenths)\" fill=\"\(fill)\" text-anchor=\"\(anchor)\">"
            + "\(text)</text>"
    }

    /// A logarithmic axis over whole decades.
    private struct Scale {
        private let low: Double
        private let high: Double
        private let start: Double
        private let end: Double

        init(values: [Double], from start: Double, to end: Double) {
            low = log10(values.min() ?? 1).rounded(.down)
            high = max(log10(values.max() ?? 1).rounded(.up), low + 1)
            self.start = start
            self.end = end
        }

        var decades: [Double] { stride(from: low, through: high, by: 1).map { pow(10, $0) } }

        func place(of value: Double) -> Double {
            start + (log10(value) - low) / (high - low) * (end - start)
        }
    }
}

extension Double {
    fileprivate var tenths: String { String((self * 10).rounded() / 10) }
}
