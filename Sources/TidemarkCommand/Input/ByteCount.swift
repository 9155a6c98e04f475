// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// Numbers of bytes as people write them.
enum ByteCount {
    /// Reads a whole number, with K, M, G or T for powers of 1024; `nil` for any other text.
    static func number(_ text: String) -> Int? {
        let units = "KMGT"
        // Compared as texts: in upper case, a character such as ß becomes two.
        guard let last = text.last?.uppercased(),
            let unit = units.firstIndex(where: { String($0) == last })
        else { return Int(text) }
        let power = units.distance(from: units.startIndex, to: unit) + 1
        guard let number = Int(text.dropLast()) else { return nil }
        // A number from the command line can be of any size, and a plain product would end the
        // process.
        let (product, overflows) = number.multipliedReportingOverflow(by: 1 << (10 * power))
        return overflows ? nil : product
    }
}
