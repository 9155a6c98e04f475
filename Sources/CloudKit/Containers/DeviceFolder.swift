// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Tidemark

/// Where a device keeps what has to outlive the process: long-lived operations.
struct DeviceFolder: Sendable {
    let url: URL

    /// The folder that was named; or one beside the store, `NAME.devices/DEVICE`; or, for what is no
    /// store of our own, one for temporary files.
    init(path: String?, of device: String, _ place: TidemarkCloud.Place) {
        if let path {
            url = URL(fileURLWithPath: path, isDirectory: true)
            return
        }
        let allowed = CharacterSet.alphanumerics.union(CharacterSet(charactersIn: "-_"))
        let name = device.addingPercentEncoding(withAllowedCharacters: allowed) ?? "device"
        let beside: URL
        switch place {
        case .store(let path, _, false):
            beside = URL(fileURLWithPath: path, isDirectory: true).deletingPathExtension()
                .appendingPathExtension("devices")
        case .store(let path, _, true):
            // Inside, so that it goes with the store.
            beside = URL(fileURLWithPath: path, isDirectory: true)
                .appendingPathComponent("devices", isDirectory: true)
        case .service, .nowhere:
            beside = URL(fileURLWithPath: NSTemporaryDirectory(), isDirectory: true)
                .appendingPathComponent("cloudkit-devices-\(UUID().uuidString)", isDirectory: true)
            TemporaryPaths.ofProcess.add(beside.path)
        }
        url = beside.appendingPathComponent(name, isDirectory: true)
    }
}
