// Tidemark
// SPDX-License-Identifier: Apache-2.0

import CloudKitShims
import Foundation
import Testing

struct GapTests {
    @Test func `Arrays and dictionaries are unarchived`() throws {
        let list = try NSKeyedArchiver.archivedData(
            withRootObject: ["a", "b"] as NSArray,
            requiringSecureCoding: true
        )
        let read = try NSKeyedUnarchiver.unarchivedArrayOfObjects(
            ofClass: NSString.self,
            from: list
        )
        #expect(read == ["a", "b"])
        let any = try NSKeyedUnarchiver.unarchivedArrayOfObjects(
            ofClasses: [NSString.self, NSNumber.self],
            from: list
        )
        #expect(any?.count == 2)

        let words = try NSKeyedArchiver.archivedData(
            withRootObject: ["a": NSNumber(value: 1)] as NSDictionary,
            requiringSecureCoding: true
        )
        let dictionary = try NSKeyedUnarchiver.unarchivedDictionary(
            ofKeyClass: NSString.self,
            objectClass: NSNumber.self,
            from: words
        )
        #expect(dictionary == ["a": 1])
        #expect(throws: (any Error).self) {
            try NSKeyedUnarchiver.unarchivedArrayOfObjects(ofClass: NSString.self, from: Data([1]))
        }
    }

    @Test func `Folders of the user are below their home, and there is no iCloud Drive`() {
        let home = FileManager.default.homeDirectoryForCurrentUser.path
        for folder in [
            URL.documentsDirectory, URL.applicationSupportDirectory, URL.cachesDirectory,
        ] {
            #expect(folder.path.hasPrefix(home), "\(folder)")
        }
        #expect(FileManager.default.url(forUbiquityContainerIdentifier: nil) == nil)
    }

    @Test func `Time constants, autorelease pools and clocks work`() throws {
        #expect(NSEC_PER_SEC == NSEC_PER_MSEC * MSEC_PER_SEC)
        #expect(NSEC_PER_SEC == NSEC_PER_USEC * USEC_PER_SEC)
        #expect(autoreleasepool { 5 } == 5)
        #expect(throws: CocoaError.self) {
            try autoreleasepool { throw CocoaError(.fileNoSuchFile) }
        }
        let now = Date().timeIntervalSinceReferenceDate
        #expect(abs(CFAbsoluteTimeGetCurrent() - now) < 60)
    }

    @Test func `A lock guards its state`() async {
        let count = OSAllocatedUnfairLock(initialState: 0)
        await withTaskGroup { group in
            for _ in 0..<100 { group.addTask { count.withLock { $0 += 1 } } }
        }
        #expect(count.withLock { $0 } == 100)
        let lock = OSAllocatedUnfairLock()
        lock.lock()
        #expect(!lock.lockIfAvailable())
        #expect(lock.withLockIfAvailable { 3 } == nil)
        lock.unlock()
        #expect(lock.withLock { 3 } == 3)
        #expect(lock.withLockUnchecked { 3 } == 3)
        #expect(lock.withLockIfAvailable { 3 } == 3)
        #expect(count.withLockIfAvailable { $0 + 1 } == 101)
        #expect(count.withLockIfAvailableUnchecked { $0 + 1 } == 101)
    }
}
