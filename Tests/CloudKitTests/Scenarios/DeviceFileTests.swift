// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import TidemarkLog
import TidemarkModel

@testable import CloudKit
@testable import TidemarkCloudKit

/// What devices and temporary stores leave on the disk.
@Suite struct `Files of devices` {
    @available(*, deprecated)
    @Test func `Permissions have their initial state until requested, and persist`() async throws {
        let folder = try ScratchFolder()
        func container(_ user: String) -> CKContainer {
            let cloud = TidemarkCloud(storeAt: folder.path("a.tide"))
            return TidemarkDevice(cloud, user: user, name: "phone", folder: folder.path("phone"))
                .container()
        }
        let anna = container("anna")
        let before = try await anna.applicationPermissionStatus(for: .userDiscoverability)
        #expect(before == .initialState)
        #expect(try await anna.requestApplicationPermission(.userDiscoverability) == .granted)
        #expect(
            try await anna.applicationPermissionStatus(for: .userDiscoverability) == .granted
        )
        await anna.device.cloud.close()
        let later = container("anna")
        #expect(
            try await later.applicationPermissionStatus(for: .userDiscoverability) == .granted
        )
        await later.device.cloud.close()
        let ben = container("ben")
        #expect(
            try await ben.applicationPermissionStatus(for: .userDiscoverability) == .initialState
        )
        await ben.device.cloud.close()
    }

    @Test func `An extended file is treated as missing`() throws {
        let folder = try ScratchFolder()
        let device = DeviceFolder(
            path: folder.path("phone"),
            of: "phone",
            .nowhere(SyncError(.notAuthenticated, ""))
        )
        let values = KeptValues("marks", in: device)
        values.change { $0["a"] = Data([1]) }
        #expect(KeptValues("marks", in: device)["a"] == Data([1]))
        let file = folder.path("phone/marks.plist")
        let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: file))
        try handle.truncate(atOffset: 1 << 40)
        try handle.close()
        #expect(KeptValues("marks", in: device)["a"] == nil)
    }

    @Test func `Files and folders are private`() throws {
        let folder = try ScratchFolder()
        let device = DeviceFolder(
            path: folder.path("phone"),
            of: "phone",
            .nowhere(SyncError(.notAuthenticated, ""))
        )
        KeptValues("marks", in: device).change { $0["a"] = Data([1]) }
        for (path, mode) in [("phone", 0o700), ("phone/marks.plist", 0o600)] {
            let found = try FileManager.default.attributesOfItem(atPath: folder.path(path))
            #expect(found[.posixPermissions] as? Int == mode, "\(path)")
        }
    }

    @Test func `Only stores abandoned by ended processes are removed`() throws {
        let folder = try ScratchFolder()
        func make(_ name: String) throws -> String {
            let path = folder.path(name)
            try FileManager.default.createDirectory(
                atPath: path,
                withIntermediateDirectories: true
            )
            try Data().write(to: URL(fileURLWithPath: path + "/LOCK"))
            return path
        }
        let parent = folder.path("") + "/"
        let left = try make((AbandonedStores.newPath(in: parent) as NSString).lastPathComponent)
        let held = try make((AbandonedStores.newPath(in: parent) as NSString).lastPathComponent)
        let named = try make("cloudkit-notes.tide")
        let other = try make("other")
        let lock = try PosixFileSystem().open(held + "/LOCK", .readWrite)
        #expect(try lock.lock(.exclusive))
        func remaining() -> Set<String> {
            Set([left, held, named, other].filter { FileManager.default.fileExists(atPath: $0) })
        }
        AbandonedStores.sweep(parent)
        #expect(remaining() == [left, held, named, other], "they are young")
        let later = Date(timeIntervalSinceNow: AbandonedStores.graceSeconds + 60)
        AbandonedStores.sweep(parent, now: later)
        #expect(remaining() == [held, named, other])
        lock.close()
        AbandonedStores.sweep(parent, now: later)
        #expect(remaining() == [named, other])
    }

    @Test func `Distances are measured as the program chooses`() async {
        await #expect(processExitsWith: .success) {
            func radius() -> String {
                let place = CLLocation(latitude: 1, longitude: 2)
                let format = "NOT (a == 1 AND distanceToLocation:fromLocation:(place, %@) < 3)"
                return CKQuery(
                    recordType: "N",
                    predicate: NSPredicate(format: format, place)
                ).description
            }
            precondition(radius().contains("< 3.0"), radius())
            TidemarkCloud.distanceUnit = .kilometers
            precondition(radius().contains("< 3000.0"), radius())
        }
        #expect(TidemarkCloud.DistanceUnit(environment: nil) == .meters)
        #expect(TidemarkCloud.DistanceUnit(environment: "kilometers") == .kilometers)
        await #expect(processExitsWith: .failure) {
            _ = TidemarkCloud.DistanceUnit(environment: "miles")
        }
    }
}
