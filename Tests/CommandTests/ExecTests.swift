// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import Foundation
import TestSupport
import Testing
import Tidemark

@testable import TidemarkCommand

/// `tidemark exec` as a process of its own, with commands that ask its server by curl.
@Suite struct ExecTests {
    let folder: ScratchFolder

    init() throws {
        folder = try ScratchFolder()
    }

    /// Files for commands to run.
    ///
    /// `ask PLACE [DATA]` asks the server, `save NAME` saves a note, `names` prints the names of all notes.
    private static let files = """
        mkdir tmp; export TMPDIR=$PWD/tmp
        cat >ask <<'END'
        #!/bin/sh
        place=$1; shift
        [ $# = 0 ] || set -- -d "$1"
        curl -s "$@" "$TIDEMARK_URL/database/1/$TIDEMARK_CONTAINER/development/$place?ckAPIToken=$TIDEMARK_API_TOKEN&ckWebAuthToken=$TIDEMARK_WEB_AUTH_TOKEN"
        END
        cat >save <<'END'
        #!/bin/sh
        ./ask private/records/modify "{\\"operations\\":[{\\"operationType\\":\\"create\\",\\"record\\":{\\"recordName\\":\\"$1\\",\\"recordType\\":\\"Note\\",\\"fields\\":{\\"text\\":{\\"value\\":\\"$1\\"}}}}]}" >saved
        END
        cat >names <<'END'
        #!/bin/sh
        ./ask private/records/query '{"query":{"recordType":"Note","filterBy":[{"fieldName":"text","comparator":"NOT_EQUALS","fieldValue":{"value":""}}]}}' |
            grep -o '"recordName":"[^"_][^"]*"' | sed 's/.*:"//; s/"//' | sort -u
        END
        chmod +x ask save names

        """

    /// Runs a script, and prints what temporary files are left at the end.
    private func script(_ text: String) async throws -> Command.Outcome {
        try await Command.script(Self.files + text + "\nls tmp", in: folder)
    }

    #if !canImport(Darwin)
    @Test func `CloudKit code in two processes syncs through the server`() async throws {
        let outcome = try await script(
            """
            notes=$(dirname "$tidemark")/CloudKitNotesExample
            cat >devices <<'END'
            #!/bin/sh
            note() { device=$1; shift; echo "$device:"; TIDEMARK_DEVICE=$device XDG_DATA_HOME=$PWD/$device "$NOTES" notes $device "$@"; }
            note phone add milk "Oat milk"
            note laptop add bread Bread
            note laptop edit milk "Soy milk"
            note phone list
            END
            chmod +x devices
            NOTES=$notes "$tidemark" exec --user anna -- ./devices
            NOTES=$notes "$tidemark" exec -- sh -c 'XDG_DATA_HOME=$PWD/nobody "$NOTES" notes phone list' >out 2>&1
            grep -q "Error" out && echo refused
            """
        )
        #expect(
            outcome.output == """
                phone:
                milk: Oat milk
                laptop:
                bread: Bread
                milk: Oat milk
                laptop:
                bread: Bread
                milk: Soy milk
                phone:
                bread: Bread
                milk: Soy milk
                refused

                """
        )
    }
    #endif

    #if !canImport(Darwin)
    @Test func `The XCTest suite of an app runs twice at once`() async throws {
        let outcome = try await script(
            """
            suite=$(dirname "$tidemark")/tidemarkPackageTests.xctest
            run() { "$tidemark" exec --user "$1" --export $1.jsonl -- "$suite" CloudKitSwift5Tests.NotesAppTests >$1.out 2>&1; echo $?; }
            run anna & run bert; wait
            for user in anna bert; do
                grep -o "Executed 5 tests, with 0 failures" $user.out | head -n 1
                # What the suite saved was saved at the server of its own run.
                grep -o '"recordName":"batch[0-9]*"' $user.jsonl | wc -l
            done
            """
        )
        #expect(
            outcome.output == """
                0
                0
                Executed 5 tests, with 0 failures
                50
                Executed 5 tests, with 0 failures
                50

                """,
            "\(outcome)"
        )
    }

    @Test func `A device is notified of what another one does, and syncs`() async throws {
        let outcome = try await script(
            """
            cat >devices <<'END'
            #!/bin/sh
            note() { device=$1; shift; TIDEMARK_DEVICE=$device XDG_DATA_HOME=$PWD/$device "$NOTES" notes $device "$@"; }
            note phone watch bread >watched &
            until grep -q watching watched; do kill -0 $! || exit 1; sleep 0.05; done
            note laptop add milk "Oat milk" >added
            note laptop add bread Bread >added
            wait $!
            cat watched
            END
            chmod +x devices
            NOTES=$(dirname "$tidemark")/CloudKitNotesExample "$tidemark" exec --user anna -- timeout 60 ./devices
            """
        )
        #expect(outcome.output == "watching\nbread: Bread\nmilk: Oat milk\n")
    }
    #endif

    @Test func `A command gets a server in its environment, and no files remain`() async throws {
        let outcome = try await script(
            """
            export TIDEMARK_WEB_AUTH_TOKEN=stale
            echo input | "$tidemark" exec -- sh -c '
                cat; echo "$TIDEMARK_URL" | sed s/[0-9]*$//; echo "[$TIDEMARK_WEB_AUTH_TOKEN]"
                ./ask public/zones/list'
            echo; "$tidemark" exec --container iCloud.org.example.notes -- sh -c '
                echo $TIDEMARK_CONTAINER; ./ask public/zones/list'
            echo
            """
        )
        #expect(
            outcome.output == """
                input
                http://127.0.0.1:
                []
                {"zones":[{"zoneID":{"zoneName":"_defaultZone","zoneType":"DEFAULT_ZONE"}}]}
                iCloud.org.example.notes
                {"zones":[{"zoneID":{"zoneName":"_defaultZone","zoneType":"DEFAULT_ZONE"}}]}

                """
        )
        #expect(outcome.errors == "")
    }

    @Test func `exec exits with the status of the command`() async throws {
        let outcome = try await script(
            """
            "$tidemark" exec -- sh -c 'exit 3'; echo $?
            "$tidemark" exec -- sh -c 'kill -9 $$'; echo $?
            "$tidemark" exec -- sh -c 'kill -TERM $$'; echo $?
            "$tidemark" exec -- no-such-command; echo $?
            "$tidemark" exec -- ./no-such-file; echo $?
            "$tidemark" exec -- ./tmp; echo $?
            """
        )
        #expect(outcome.output == "3\n137\n143\n127\n127\n126\n")
        #expect(
            outcome.errors == """
                no-such-command: There is no such command.
                ./no-such-file: There is no such command.
                ./tmp cannot be run: It is a folder, or may not be executed.

                """
        )
    }

    @Test func `exec forwards signals, and stops the server when the command ends`() async throws {
        let outcome = try await script(
            """
            cat >wait <<'END'
            for name in HUP INT QUIT USR1 USR2; do trap "echo $name >>heard" $name; done
            trap 'exit 7' TERM
            echo $TIDEMARK_URL >url
            while :; do sleep 0.02; done
            END
            "$tidemark" exec -- sh wait & server=$!
            until [ -s url ]; do sleep 0.02; done
            for name in HUP INT QUIT USR1 USR2; do
                kill -$name $server
                until grep -q $name heard; do sleep 0.02; done
            done 2>said
            kill -TERM $server; wait $server; echo $?
            cat heard
            curl -s "$(cat url)/health/live"; echo $?
            """
        )
        #expect(outcome.output == "7\nHUP\nINT\nQUIT\nUSR1\nUSR2\n7\n")
    }

    @Test func `A key on the terminal signals the command once`() async throws {
        let outcome = try await script(
            """
            cat >wait <<'END'
            trap 'echo heard >>heard' INT
            echo ready >ready
            until [ -s heard ]; do sleep 0.02; done
            # A second one would be here by now.
            sleep 0.3
            END
            (until [ -s ready ]; do sleep 0.02; done; printf '\\003'; until [ -s heard ]; do sleep 0.02; done; sleep 1) |
                script -qec "'$tidemark' exec -- sh wait" said >/dev/null
            cat heard
            """
        )
        #expect(outcome.output == "heard\n")
    }

    @Test func `Concurrent runs have separate servers`() async throws {
        let outcome = try await script(
            """
            runs=
            for number in 1 2 3 4; do
                "$tidemark" exec --user ann -- sh -c "
                    ./save note$number; echo \\$TIDEMARK_URL >>urls
                    until [ \\$(wc -l <urls) = 4 ]; do sleep 0.02; done; ./names" >names$number & runs="$runs $!"
            done
            for run in $runs; do wait $run; echo $?; done
            sort -u urls | wc -l
            cat names1 names2 names3 names4
            """
        )
        #expect(outcome.output == "0\n0\n0\n0\n4\nnote1\nnote2\nnote3\nnote4\n")
    }

    @Test func `A named user is signed in and is the same in each run`() async throws {
        let outcome = try await script(
            """
            "$tidemark" exec --user ann -- ./ask private/users/caller >first
            grep -o '"emailAddress":"[^"]*"' first; grep -o '"givenName":"[^"]*"' first
            "$tidemark" exec --user Ann@tidemark.test -- ./ask private/users/caller >second
            "$tidemark" exec --user ben -- ./ask private/users/caller >third
            name() { grep -o '"userRecordName":"[^"]*"' $1; }
            [ "$(name first)" = "$(name second)" ] && echo same
            [ "$(name first)" = "$(name third)" ] || echo another
            "$tidemark" exec -- ./ask private/users/caller | grep -o '"serverErrorCode":"[^"]*"'
            """
        )
        #expect(
            outcome.output == """
                "emailAddress":"ann@tidemark.test"
                "givenName":"ann"
                same
                another
                "serverErrorCode":"AUTHENTICATION_REQUIRED"

                """
        )
    }

    @Test func `A run can import the export of another run`() async throws {
        let outcome = try await script(
            """
            cat >notes.ckdb <<'END'
            DEFINE SCHEMA
                RECORD TYPE Note (
                    "___recordID" REFERENCE QUERYABLE,
                    text STRING QUERYABLE
                );
            END
            "$tidemark" exec --user ann --import notes.ckdb --export notes.jsonl -- ./save first
            grep -c tidemark.server notes.jsonl
            "$tidemark" exec --user ann --import notes.jsonl -- ./names
            "$tidemark" exec --user ann --import notes.jsonl --export notes.jsonl --keep -- ./save second 2>said
            kept=$(sed 's/^The store is kept in //' said)
            "$tidemark" log verify "$kept" --text | cut -d. -f1
            "$tidemark" schema export "$kept" | grep -c 'RECORD TYPE Note'
            "$tidemark" exec --user ann --import "$kept" -- sh -c './save third; ./names'
            "$tidemark" export "$kept" --owner "$(sed -n 's/.*"user":"\\(_[0-9a-f]*\\)".*/\\1/p' notes.jsonl | tail -1)" --json |
                grep -c '"recordType":"Note"'
            # A command that fails has its export too.
            "$tidemark" exec --user ann --import notes.jsonl --export last.jsonl -- sh -c './save third; exit 4'; echo $?
            cmp -s notes.jsonl last.jsonl || wc -l <last.jsonl
            rm -r tmp/tidemark-kept-*
            """
        )
        let lines = outcome.output.split(separator: "\n")
        #expect(
            lines.dropLast() == ["0", "first", "Sound", "1", "first", "second", "third", "2", "4"]
        )
        let count = try #require(lines.last.flatMap { Int($0) })
        #expect(count >= 3)
        #expect(outcome.errors == "")
    }

    @Test func `A store is kept also if its export fails`() async throws {
        let outcome = try await script(
            """
            mkdir out
            "$tidemark" exec --user ann --export out/notes.jsonl --keep -- sh -c './save first; rm -r out' 2>said ||
                echo failed
            grep -c 'out/notes.jsonl cannot be created' said
            "$tidemark" exec --user ann --import "$(sed -n 's/^The store is kept in //p' said)" -- ./names
            rm -r tmp/tidemark-kept-*
            """
        )
        #expect(outcome.output == "failed\n1\nfirst\n")
        #expect(outcome.errors == "")
    }

    @Test func `A reset empties the server and keeps tokens valid`() async throws {
        let outcome = try await script(
            """
            reset() { curl -s -X POST "$TIDEMARK_URL/tidemark/1/reset"; }
            "$tidemark" exec --user ann -- sh -c '
                reset() { curl -s "$@" "$TIDEMARK_URL/tidemark/1/reset"; echo; }
                ./ask private/users/caller >before
                ./save first; ./names
                reset -X POST
                ./names; ./ask private/users/caller >after
                cmp before after
                ./save second; ./names
                reset -X POST; reset -X POST
                ./names; ./save first; ./names
                reset -X GET | grep -o "The methods.*POST"
                ls tmp/tidemark-exec-*'
            "$tidemark" serve s.tide --port 0 >said 2>errors & server=$!
            until grep -q signin said; do kill -0 $server || exit 9; sleep 0.05; done
            curl -s -o /dev/null -w '%{http_code}\\n' -X POST \\
                "$(sed -n 's/^Tidemark serves .* at //p' said)/tidemark/1/reset"
            kill $server; wait $server
            """
        )
        #expect(
            outcome.output == """
                first
                {}
                second
                {}
                {}
                first
                The methods of this path are POST
                4.tide
                404

                """
        )
    }

    @Test func `A reset ends streams of Tidemark's clients, which then begin them again`()
        async throws
    {
        let outcome = try await script(
            """
            "$tidemark" exec --user ann -- sh -c '
                url="$TIDEMARK_URL/tidemark/1/$TIDEMARK_CONTAINER/development/private/notifications"
                url="$url?ckAPIToken=$TIDEMARK_API_TOKEN&ckWebAuthToken=$TIDEMARK_WEB_AUTH_TOKEN"
                token=$(curl -s -H "Content-Type: application/json" -d "{}" \
                    "$(echo "$url" | sed s,/notifications,/notificationToken,)")
                curl -sN -m 30 -H "Content-Type: application/json" -d "{\\"since\\":$token}" "$url" >lines &
                listener=$!
                until [ -s lines ]; do kill -0 $listener || exit 9; sleep 0.05; done
                curl -s -o /dev/null -X POST "$TIDEMARK_URL/tidemark/1/reset"
                wait $listener; echo "ended $?"
                cat lines'
            """
        )
        // Neither a failure nor an end, which would be the last line.
        #expect(outcome.output == "ended 0\n\n")
    }

    @Test func `A reset ends streams, which then say that something was missed`() async throws {
        let outcome = try await script(
            """
            "$tidemark" exec --user ann -- sh -c '
                url="$TIDEMARK_URL/database/1/$TIDEMARK_CONTAINER/development/private/changes/stream"
                url="$url?ckAPIToken=$TIDEMARK_API_TOKEN&ckWebAuthToken=$TIDEMARK_WEB_AUTH_TOKEN"
                curl -sN -m 30 "$url" >first & listener=$!
                until grep -qs "event: ready" first; do kill -0 $listener || exit 9; sleep 0.05; done
                curl -s -o /dev/null -X POST "$TIDEMARK_URL/tidemark/1/reset"
                wait $listener; echo "ended $?"
                id=$(sed -n "s/^id: //p" first)
                curl -sN -m 30 -H "Last-Event-ID: $id" "$url" >second & listener=$!
                until grep -qs "^event: " second; do kill -0 $listener || exit 9; sleep 0.05; done
                grep "^event: " second'
            """
        )
        #expect(outcome.output == "ended 0\nevent: reset\n")
    }

    @Test func `Faults are determined by the seed`() async throws {
        let outcome = try await script(
            """
            cat >codes <<'END'
            for number in $(seq 16); do
                curl -s -o /dev/null -w '%{http_code}\\n' \\
                    "$TIDEMARK_URL/database/1/$TIDEMARK_CONTAINER/development/public/zones/list?ckAPIToken=$TIDEMARK_API_TOKEN"
            done
            END
            run() { "$tidemark" exec --throttle 0.3 --lose 0.4 --latency 5ms "$@" -- sh codes; }
            run --seed 7 >first; run --seed 7 >second; run --seed 8 >third
            cmp first second && sort -u first
            cmp third first >/dev/null || echo another
            # A reset begins anew.
            "$tidemark" exec --throttle 0.3 --lose 0.4 --seed 7 -- sh -c '
                sh codes >fourth; curl -s -X POST "$TIDEMARK_URL/tidemark/1/reset"; sh codes >fifth'
            cmp fourth first; cmp fifth first
            "$tidemark" exec --lose 1 -- ./ask public/zones/list; echo " $?"
            "$tidemark" exec --throttle 1 -- ./ask public/zones/list | grep -o '"retryAfter":1'
            "$tidemark" exec --throttle 1 -- sh -c '
                for method in OPTIONS GET; do
                    curl -s -o /dev/null -w "%{http_code}\\n" -X $method "$TIDEMARK_URL/courier/x"
                done'
            """
        )
        #expect(
            outcome.output
                == "000\n200\n429\nanother\n{} 52\n\"retryAfter\":1\n200\n429\n"
        )
    }

    @Test func `Invalid arguments are rejected before anything starts`() async throws {
        let outcome = try await script(
            """
            mkdir a.tide b.tide
            says() { "$tidemark" exec "$@" 2>&1 | head -1; }
            says
            says swift test
            says --container '' -- true
            says --lose 2 -- true
            says --throttle=-1 -- true
            says --import - -- true
            says --import a.tide --import b.tide -- true
            says --export no/such/folder -- echo ran
            says --export - -- echo ran
            mkdir folder; says --export folder -- echo ran
            ln -s target link; says --export link -- echo ran; readlink link
            echo nonsense >bad.jsonl; says --import bad.jsonl -- echo ran
            says --import missing.jsonl -- echo ran
            """
        )
        #expect(
            outcome.output == """
                Error: Name the command after two hyphens, as in `tidemark exec -- swift test`.
                Error: Name the command after two hyphens, as in `tidemark exec -- swift test`.
                Error: The value '' is invalid for '--container <identifier>'
                Error: --lose is a share from 0 to 1, such as 0.1.
                Error: --throttle is a share from 0 to 1, such as 0.1.
                Error: --import needs a file: the command has standard input.
                Error: A server has one store: --import takes one store at most.
                Error: no/such/folder cannot be created: No such file or directory. Check the path.
                Error: --export needs a file: the command has standard output.
                Error: folder is a folder, a link or a device, which an export does not replace. Name a file.
                Error: link is a folder, a link or a device, which an export does not replace. Name a file.
                target
                Error: bad.jsonl: line 1: Expected an object; found 'n'. (at byte 0)
                Error: missing.jsonl cannot be opened: No such file or directory. Check the path.

                """
        )
    }

    @Test func `Two exports to one path do not write one file`() throws {
        let store = try Store.open(at: folder.path("s.tide"), access: .creating)
        try FileManager.default.createDirectory(
            atPath: folder.path("out"),
            withIntermediateDirectories: false
        )
        let path = folder.path("out/notes.jsonl")
        var files: [ExportFile] = try [ExportFile(path), ExportFile(path), ExportFile(path)]
        try files.removeFirst().write(store)
        try files.removeFirst().write(store)
        files = []
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: folder.path("out"))
                == ["notes.jsonl"]
        )
        try store.close()
    }

    @Test func `A later run removes the folders of killed runs`() throws {
        func run(_ store: String?) throws -> (path: String, store: Store?) {
            let path = folder.path("tidemark-exec-\(UUID().uuidString)")
            try FileManager.default.createDirectory(
                atPath: path,
                withIntermediateDirectories: true
            )
            return (path, try store.map { try Store.open(at: path + "/" + $0, access: .creating) })
        }
        let abandoned = try run("1.tide")
        try abandoned.store?.close()
        let running = try run("3.tide")
        let kept = folder.path("tidemark-kept-\(UUID().uuidString)")
        try FileManager.default.createDirectory(atPath: kept, withIntermediateDirectories: true)
        func remaining() throws -> Set<String> {
            Set(try FileManager.default.contentsOfDirectory(atPath: folder.url.path))
        }
        let all = try remaining()
        #expect(all.count == 3)
        ExecFolder.sweep(folder.url.path)
        #expect(try remaining() == all)
        ExecFolder.sweep(folder.url.path, now: Date().addingTimeInterval(100))
        let gone = try all.subtracting(remaining())
        #expect(gone == [(abandoned.path as NSString).lastPathComponent])
        try running.store?.close()
        ExecFolder.sweep(folder.url.path, now: Date().addingTimeInterval(100))
        #expect(try remaining() == [(kept as NSString).lastPathComponent])
    }
}
#endif
