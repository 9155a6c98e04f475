// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// Appends UTF-8 as a JSON string.
func appendJSONString(_ utf8: ArraySlice<UInt8>, to line: inout [UInt8]) {
    line.append(UInt8(ascii: "\""))
    var rest = utf8
    while let special = rest.firstIndex(where: { $0 < 0x20 || $0 == 0x22 || $0 == 0x5C }) {
        line.append(contentsOf: rest[..<special])
        line.append(UInt8(ascii: "\\"))
        switch rest[special] {
        case 0x0A: line.append(UInt8(ascii: "n"))
        case 0x09: line.append(UInt8(ascii: "t"))
        case 0x0D: line.append(UInt8(ascii: "r"))
        case 0x22, 0x5C: line.append(rest[special])
        default:
            let digits = String(UInt16(rest[special]) | 0x100, radix: 16).dropFirst()
            line.append(contentsOf: "u00".utf8)
            line.append(contentsOf: digits.utf8)
        }
        rest = rest[(special + 1)...]
    }
    line.append(contentsOf: rest)
    line.append(UInt8(ascii: "\""))
}
