// Tidemark
// SPDX-License-Identifier: Apache-2.0

// Notes that sync: all of it is code as it is written for Apple's CloudKit, but for the one call that
// says where containers point. With a server in the environment (TIDEMARK_URL), that call is left out.
//
// Usage: CloudKitNotesExample STORE DEVICE [list | add NAME TEXT | edit NAME TEXT | remove NAME | watch NAME]
// Each DEVICE has a file beside the store with what it knows. Everything but `edit` syncs first. `watch`
// syncs at each push until there is a note of that name.

import CloudKit

let arguments = CommandLine.arguments
guard arguments.count > 2 else {
    print("Usage: CloudKitNotesExample STORE DEVICE [list | add NAME TEXT | edit NAME TEXT | …]")
    throw CancellationError()
}

// The one call: everything below is what Apple's framework has.
let isAtServer = ProcessInfo.processInfo.environment["TIDEMARK_URL"] != nil
let cloud = isAtServer ? nil : TidemarkCloud(storeAt: arguments[1])
if let cloud { TidemarkDevice(cloud, name: arguments[2]).makeDefault() }

let file = URL(fileURLWithPath: arguments[1]).deletingPathExtension()
    .appendingPathExtension("\(arguments[2]).plist")
let notes = try await Notes(file: file)
let (name, text) = (arguments.dropFirst(4).first, arguments.dropFirst(5).first)
switch (arguments.dropFirst(3).first, name, text) {
case ("add", let name?, let text?):
    try await notes.sync()
    try await notes.save(text, as: name)
case ("edit", let name?, let text?):
    // Without syncing first, so that another device may have been faster.
    try await notes.save(text, as: name)
case ("remove", let name?, _):
    try await notes.sync()
    try await notes.remove(name)
case ("watch", let name?, _):
    let (pushes, continuation) = AsyncStream.makeStream(of: Void.self)
    // On Apple's systems the delegate of the app gets these.
    TidemarkDevice.current.onRemoteNotification { _ in continuation.yield() }
    try await notes.subscribe()
    try await notes.sync()
    print("watching")
    fflush(nil)
    var arrivals = pushes.makeAsyncIterator()
    while await !notes.has(name), await arrivals.next() != nil { try await notes.sync() }
default:
    try await notes.sync()
}
for line in await notes.lines { print(line) }
await cloud?.close()
