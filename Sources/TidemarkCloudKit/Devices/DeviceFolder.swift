// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The folder in which a device keeps state that outlives the process: long-lived operations, marks, places in
/// the notifications, the badge and permissions.
struct DeviceFolder: Sendable {
    let url: URL

    /// Determines the folder of a device.
    ///
    /// It is the given path, or a folder of the source, as `NAME.devices/DEVICE` next to a store,
    /// or a folder for temporary files.
    init(path: String?, of device: String, _ place: TidemarkCloud.Place) {
        if let path {
            url = URL(fileURLWithPath: path, isDirectory: true)
            return
        }
        // A device's name is any text. Encoded, it has no slash, and is neither `.` nor `..`.
        let allowed = CharacterSet.alphanumerics.union(CharacterSet(charactersIn: "-_"))
        let name = device.addingPercentEncoding(withAllowedCharacters: allowed) ?? "device"
        let beside: URL
        if case .source(let source) = place, let folder = source.deviceFolder {
            beside = folder
        } else {
            // A service that the program made has no place on disk to which a restarted program
            // returns.
            beside = URL(fileURLWithPath: NSTemporaryDirectory(), isDirectory: true)
                .appendingPathComponent("cloudkit-devices-\(UUID().uuidString)", isDirectory: true)
            TemporaryPaths.ofProcess.add(beside.path)
        }
        url = beside.appendingPathComponent(name, isDirectory: true)
    }
}
