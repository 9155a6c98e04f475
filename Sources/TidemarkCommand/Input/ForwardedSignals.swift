// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// Signals that this process passes on to a program that it runs, instead of ending by them.
///
/// A key on the terminal, such as Ctrl-C, signals both processes by itself, and is not passed on:
/// the program would have it twice.
enum ForwardedSignals {
    private static let all = [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2]
    /// The program; zero while none runs.
    private static let program = Atomic<Int32>(0)
    /// Signals that arrived before the program ran, as bits.
    private static let early = Atomic<UInt64>(0)

    private typealias Handler =
        @Sendable @convention(c) (Int32, UnsafeMutablePointer<siginfo_t>?, UnsafeMutableRawPointer?)
        -> Void

    /// The signal handler.
    ///
    /// It runs at any moment, so it calls only the system.
    private static let handle: Handler = { number, details, _ in
        let program = ForwardedSignals.program.load(ordering: .sequentiallyConsistent)
        if program == 0 {
            // Numbers of signals are below 32 here, so they fit the bits of a word.
            ForwardedSignals.early.bitwiseOr(1 << number, ordering: .sequentiallyConsistent)
        } else if !ForwardedSignals.isFromTerminal(details) {
            kill(program, number)
        }
    }

    /// Keeps the signals from ending this process, from here on.
    static func begin() {
        // Before the handler is installed. These accesses also initialize both statics, which is
        // not safe inside a handler.
        program.store(0, ordering: .sequentiallyConsistent)
        early.store(0, ordering: .sequentiallyConsistent)
        var action = sigaction()
        sigemptyset(&action.sa_mask)
        // `SA_SIGINFO` gives the handler the sender of the signal. `SA_RESTART` continues reads and
        // writes that a signal interrupts.
        action.sa_flags = Int32(SA_SIGINFO) | Int32(SA_RESTART)
        #if canImport(Darwin)
        action.__sigaction_u.__sa_sigaction = handle
        #else
        action.__sigaction_handler.sa_sigaction = handle
        #endif
        for number in all { sigaction(number, &action, nil) }
    }

    /// Forwards signals to a program, beginning with those that arrived before it ran; zero ends
    /// forwarding.
    static func forward(to program: Int32) {
        Self.program.store(program, ordering: .sequentiallyConsistent)
        guard program != 0 else { return }
        // After the program's number is stored. A signal before the store sets its bit, one after
        // it is sent by the handler; in the other order a signal between the two would be lost.
        let early = Self.early.exchange(0, ordering: .sequentiallyConsistent)
        for number in all where early & 1 << number != 0 { kill(program, number) }
    }

    private static func isFromTerminal(_ details: UnsafeMutablePointer<siginfo_t>?) -> Bool {
        guard let details else { return false }
        #if canImport(Darwin)
        return details.pointee.si_pid == 0
        #else
        // Positive for signals from the kernel, zero or less for those from a process.
        return details.pointee.si_code > 0
        #endif
    }
}
