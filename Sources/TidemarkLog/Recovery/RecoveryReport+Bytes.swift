// Tidemark
// SPDX-License-Identifier: Apache-2.0

extension RecoveryReport {
    /// Returns the payload of a recovery frame: bytes discarded, and the offset they began at.
    func encoded() -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(integer: discardedByteCount)
        bytes.append(integer: discardedAt?.offset ?? 0)
        return bytes
    }
}
