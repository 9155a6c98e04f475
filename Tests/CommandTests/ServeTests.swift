// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import Foundation
import TestSupport
import Testing

/// `tidemark serve` as a process of its own, asked by curl.
@Suite struct ServeTests {
    let folder: ScratchFolder

    init() throws {
        folder = try ScratchFolder()
    }

    /// Functions of the shell: `start` serves `s.tide` on a free port, and `signin` prints a web token.
    static let functions = """
        start() {
            # What an earlier server said is not what this one says.
            : >said
            "$tidemark" serve s.tide --port 0 "$@" >said 2>errors & server=$!
            until grep -q signin said; do kill -0 $server || { cat errors; exit 9; }; sleep 0.05; done
            address=$(sed -n 's/^Tidemark serves .* at //p' said)
            token=$(sed -n 's/^ *API token *//p' said)
            place=$address/database/1/iCloud.tidemark/development
        }
        stop() { kill -TERM $server; wait $server; echo "status $?"; }
        signin() {
            page=$(curl -sk -o /dev/null -w '%{redirect_url}' "$address/signin?ckAPIToken=$token")
            curl -sk "$address/signin" --data-urlencode "s=${page#*s=}" \\
                -d 'email=ann@example.org' -d 'password=verysecret' -d "$1" |
                sed -n 's/.*id="token">\\([^<]*\\).*/\\1/p'
        }

        """

    private func script(_ text: String) async throws -> Command.Outcome {
        try await Command.script(Self.functions + text, in: folder)
    }

    @Test func `The printed commands work, and SIGTERM stops the server`() async throws {
        let outcome = try await script(
            """
            start
            sed -n 's/^ *curl/curl -s/p' said | sh; echo
            web=$(signin new=1)
            curl -s "$place/private/users/caller?ckAPIToken=$token&ckWebAuthToken=$web" |
                grep -o '"emailAddress":"[^"]*"'
            curl -s "$address/health/live" "$address/health/ready"
            stop
            "$tidemark" log verify s.tide --text | cut -d. -f1
            """
        )
        #expect(
            outcome.output == """
                {"zones":[{"zoneID":{"zoneName":"_defaultZone","zoneType":"DEFAULT_ZONE"}}]}
                "emailAddress":"ann@example.org"
                live
                ready
                status 0
                Sound

                """
        )
    }

    @Test func `The requests of the server's page work without a browser`() async throws {
        let text = try ExampleTests.text("Docs/server.md")
        let page = try #require(
            text.components(separatedBy: "### Without a browser").dropFirst().first
        )
        let block = try #require(page.components(separatedBy: "```sh\n").dropFirst().first)
        let commands = try #require(block.components(separatedBy: "```").first)
        let outcome = try await script(
            """
            start
            SERVER=$address TOKEN=$token
            tidemark() { "$tidemark" "$@"; }
            ln -s s.tide notes.tide
            \(commands)
            "$tidemark" serve other.tide --port "${address##*:}" 2>&1 | grep -o 'Another program[^.]*'
            "$tidemark" serve other.tide --host 192.0.2.7 --port 0 2>&1 | grep -o 'no address of this[^.]*'
            "$tidemark" tokens revoke s.tide none 2>&1 | grep -o 'first column'
            "$tidemark" keys revoke s.tide none 2>&1 | grep -o 'There is no key none'
            stop
            """
        )
        #expect(outcome.output.contains(#""recordName":"milk""#), "\(outcome)")
        #expect(outcome.output.contains(#""moreComing":false"#), "\(outcome)")
        #expect(outcome.output.contains("Another program listens on port"), "\(outcome)")
        #expect(outcome.output.contains("no address of this machine"), "\(outcome)")
        #expect(outcome.output.contains("first column"), "\(outcome)")
        #expect(outcome.output.contains("There is no key none"), "\(outcome)")
        #expect(outcome.output.hasSuffix("status 0\n"), "\(outcome)")
    }

    @Test func `A stream receives changes, and SIGTERM ends it`() async throws {
        let outcome = try await script(
            """
            start
            web=$(signin new=1)
            ask() {
                curl -s "$place/private/$1?ckAPIToken=$token&ckWebAuthToken=$web&clientId=a" -d "$2" >answer
            }
            ask zones/modify '{"operations":[{"operationType":"create","zone":{"zoneID":{"zoneName":"Z"}}}]}'
            ask subscriptions/modify '{"operations":[{"operationType":"create","subscription":{
                "subscriptionID":"s","subscriptionType":"zone","zoneID":{"zoneName":"Z"}}}]}'
            curl -sN "$place/private/changes/stream?ckAPIToken=$token&ckWebAuthToken=$web&clientId=b" >told & curl=$!
            until grep -q ready told; do sleep 0.05; done
            ask records/modify '{"zoneID":{"zoneName":"Z"},"operations":[{"operationType":"create",
                "record":{"recordName":"n","recordType":"Note","fields":{}}}]}'
            until grep -q notification told; do sleep 0.05; done
            stop
            wait $curl; echo "curl $?"
            grep -o '"fet":{"sid":"s","dbs":2,"zid":"Z"' told
            grep retry told
            """
        )
        #expect(
            outcome.output == """
                status 0
                curl 0
                "fet":{"sid":"s","dbs":2,"zid":"Z"
                retry: 1000

                """
        )
    }

    @Test func `The server supports TLS with either version of HTTP`() async throws {
        let outcome = try await script(
            """
            openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 \\
                -subj /CN=localhost -addext 'subjectAltName=DNS:localhost' \\
                -keyout key.pem -out chain.pem 2>/dev/null
            start --certificate chain.pem --private-key key.pem
            for version in --http1.1 --http2; do
                curl -s $version --cacert chain.pem -o answer -w '%{http_version} %{http_code}\\n' \\
                    "$place/public/zones/list?ckAPIToken=$token"
            done
            cut -c1-10 answer
            # An address in an answer is one that the client can reach.
            curl -s --cacert chain.pem "$place/private/zones/list?ckAPIToken=$token" |
                grep -o '"redirectURL":"https://localhost:'
            stop
            """
        )
        #expect(
            outcome.output == """
                1.1 200
                2 200
                {"zones":[
                "redirectURL":"https://localhost:
                status 0

                """
        )
    }

    @Test func `A new certificate is used without a restart`() async throws {
        let outcome = try await script(
            """
            certificate() {
                openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 \\
                    -subj /CN=localhost -addext 'subjectAltName=DNS:localhost' \\
                    -keyout new-key.pem -out new-chain.pem 2>/dev/null
                mv new-key.pem key.pem; mv new-chain.pem chain.pem
            }
            ask() {
                curl -s --cacert chain.pem -o answer -w '%{http_code}\\n' \\
                    "$place/public/zones/list?ckAPIToken=$token"
            }
            certificate
            start --certificate chain.pem --private-key key.pem
            ask
            certificate
            ask
            for i in $(seq 300); do [ "$(ask)" = 200 ] && break; sleep 0.1; done
            ask
            stop
            """
        )
        #expect(outcome.output == "200\n000\n200\nstatus 0\n")
    }

    @Test func `Settings are read from flags, variables, a file, then defaults`() async throws {
        let outcome = try await script(
            """
            echo '{"port":9000,"host":"::1","sign-up":false,"rate-limit":["user=5/1s"]}' >f.json
            export TIDEMARK_PORT=9001 TIDEMARK_PUBLIC_URL=https://x.example.org
            "$tidemark" config check --config f.json --host 127.0.0.2 --json | head -8
            TIDEMARK_PORT=many "$tidemark" config check 2>&1
            echo '{"prot":1}' >f.json; "$tidemark" config check --config f.json 2>&1 | cut -c1-60
            echo '{"port":"a"}' >f.json
            TIDEMARK_PORT= ; unset TIDEMARK_PORT; "$tidemark" config check --config f.json 2>&1
            "$tidemark" serve --rate-limit user=0/1s 2>&1 | cut -c1-39
            "$tidemark" config check --rate-limit user=5/0s 2>&1 | cut -c1-39
            "$tidemark" serve --journal-days 0 2>&1
            "$tidemark" serve --certificate chain.pem 2>&1
            "$tidemark" serve --oidc-issuer https://id.example.org 2>&1 | cut -c1-56
            issuer='https://id.example.org audience=a container=c'
            TIDEMARK_OIDC_ISSUER="$issuer" "$tidemark" config check --json | grep oidc
            ls
            """
        )
        #expect(
            outcome.output == """
                {"setting":"store","value":"tidemark.tide","source":"default"}
                {"setting":"port","value":"9001","source":"TIDEMARK_PORT"}
                {"setting":"host","value":"127.0.0.2","source":"--host"}
                {"setting":"public-url","value":"https://x.example.org","source":"TIDEMARK_PUBLIC_URL"}
                {"setting":"certificate","value":"","source":"default"}
                {"setting":"private-key","value":"","source":"default"}
                {"setting":"sign-up","value":"false","source":"f.json"}
                {"setting":"rate-limit","value":"user=5/1s","source":"f.json"}
                Error: The setting TIDEMARK_PORT must be a whole number.
                Error: There is no setting "prot", which f.json names. The s
                Error: The setting "port" in f.json must be a whole number.
                Error: "user=0/1s" is not a rate limit.
                Error: "user=5/0s" is not a rate limit.
                Error: The setting journal-days must be a number from 1 to 36500.
                Error: The settings certificate and private-key need each other.
                Error: "https://id.example.org" does not name an issuer.
                {"setting":"oidc-issuer","value":"https://id.example.org audience=a container=c","source":"TIDEMARK_OIDC_ISSUER"}
                f.json

                """
        )
    }

    @Test func `Settings that no server could use are rejected before there is a store`()
        async throws
    {
        let outcome = try await script(
            """
            check() {
                for command in 'config check' 'serve s.tide'; do
                    "$tidemark" $command "$@" 2>&1; echo "$?"
                done | sort -u
            }
            check --public-url foo
            check --public-url 'javascript:alert(1)'
            check --public-url 'http:///x'
            check --public-url https://x.example.org/base
            check --host 999.1.1.1
            check --certificate /nope --private-key /nope
            openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 \\
                -subj /CN=localhost -keyout key.pem -out chain.pem 2>/dev/null
            openssl ecparam -name prime256v1 -genkey -noout -out other.pem 2>/dev/null
            check --certificate key.pem --private-key key.pem
            check --certificate chain.pem --private-key chain.pem
            check --certificate chain.pem --private-key other.pem
            "$tidemark" config check --certificate chain.pem --private-key key.pem \\
                --public-url https://x.example.org/ --json | grep rate-limit
            ls
            """
        )
        let address = "with http:// or https:// and a host, such as https://sync.example.org; it is"
        let pem = "Give a file in PEM: its first line is -----BEGIN"
        #expect(
            outcome.output == """
                1
                Error: The setting public-url must be an address \(address) "foo".
                1
                Error: The setting public-url must be an address \(address) "javascript:alert(1)".
                1
                Error: The setting public-url must be an address \(address) "http:///x".
                1
                Error: The setting public-url must be an address without a path, because the server has all \
                paths of its host; it is "https://x.example.org/base". Give the server a host name or a port \
                of its own.
                1
                Error: invalidArguments (12): The server cannot listen on "999.1.1.1", which is no address. \
                Give an address of this machine as the host, such as 127.0.0.1; 0.0.0.0 is all of them.
                1
                Error: invalidArguments (12): The file /nope of the certificate cannot be read. \
                Check the path, and that the server's user may read the file.
                1
                Error: invalidArguments (12): The file key.pem has no certificate in PEM. \
                \(pem) CERTIFICATE-----.
                1
                Error: invalidArguments (12): The file chain.pem has no private key without a passphrase \
                in PEM. \(pem) PRIVATE KEY-----.
                1
                Error: invalidArguments (12): The certificate chain.pem cannot be used with the private key \
                other.pem. Give the key that belongs to the first certificate of its file, alone in a file.
                {"setting":"rate-limit","value":"sign-in=20/1m","source":"default"}
                chain.pem
                key.pem
                other.pem

                """
        )
    }

    @Test func `The public address is as browsers send it`() async throws {
        let outcome = try await script(
            """
            "$tidemark" serve s.tide --port 0 --public-url http://X.example.org:80/ >said 2>&1 & server=$!
            until grep -q signin said; do kill -0 $server || exit 9; sleep 0.05; done
            grep -o 'http://x.*signin' said
            "$tidemark" accounts invite s.tide ann@example.org | grep -o 'http://x.*invitation'
            "$tidemark" accounts invite s.tide ann@example.org --public-url http://y.example.org/ |
                grep -o 'http://y.*invitation'
            "$tidemark" accounts invite s.tide ann@example.org --public-url x.example.org 2>&1 |
                grep -o 'must be an address'
            kill -TERM $server; wait $server
            """
        )
        #expect(
            outcome.output == """
                http://x.example.org/signin
                http://x.example.org/invitation
                http://y.example.org/invitation
                must be an address

                """
        )
    }

    @Test func `The address of an account is not erased as a user`() async throws {
        let outcome = try await script(
            """
            start
            # The audit log of the server has the address.
            echo "a good password" | "$tidemark" accounts add s.tide ben@example.org
            erase() { "$tidemark" erase s.tide --user "$@" 2>&1 | sed 's/account-[0-9a-f]*/NAME/'; }
            erase BEN@example.org; erase ben@example.org --dry-run
            stop
            erase ben@example.org
            "$tidemark" accounts list s.tide --json | grep -c ben@example.org
            "$tidemark" erase s.tide --json --user "$("$tidemark" accounts list s.tide --json |
                grep -o 'account-[0-9a-f]*')" | cut -c1-16
            erase ben@example.org | cut -c1-57
            """
        )
        let refusal = """
            is the address of an account, not the name of a user. The store was not changed. \
            To erase the account with all its users, give its name: --user NAME.
            """
        #expect(
            outcome.output == """
                Error: 'BEN@example.org' \(refusal)
                Error: 'ben@example.org' \(refusal)
                status 0
                Error: 'ben@example.org' \(refusal)
                1
                {"dryRun":false,
                Error: The store has nothing of the user 'ben@example.org

                """
        )
    }

    @Test func `Keys, tokens and accounts are created in the files`() async throws {
        let outcome = try await script(
            """
            openssl ecparam -name prime256v1 -genkey -noout -out key.pem 2>/dev/null
            openssl ec -in key.pem -pubout -out public.pem 2>/dev/null
            "$tidemark" keys add s.tide public.pem --name importer >id
            "$tidemark" keys list s.tide --json | grep -c "$(cat id)"
            "$tidemark" tokens add s.tide --name app --environment production >token
            "$tidemark" tokens list s.tide --json | grep -c '"name":"app"'
            # The store keeps no token, only its hash.
            grep -c "$(cat token)" -r s.tide | grep -cv ':0'
            echo "a good password" | "$tidemark" accounts add s.tide Ben@Example.org --given Ben
            "$tidemark" accounts list s.tide --json | sed 's/account-[0-9a-f]*/NAME/'
            "$tidemark" accounts lock s.tide ben@example.org
            "$tidemark" accounts list s.tide --json | grep -o '"locked":true'
            start
            curl -s "$address/database/1/iCloud.tidemark/production/public/zones/list?ckAPIToken=$(cat token)" |
                cut -c1-10
            echo
            stop
            """
        )
        #expect(
            outcome.output == """
                1
                1
                0
                {"email":"ben@example.org","givenName":"Ben","familyName":"","locked":false,"account":"NAME"}
                "locked":true
                {"zones":[

                status 0

                """
        )
    }

    @Test func `An account is removed from the files, and then erased from their past`()
        async throws
    {
        let outcome = try await script(
            """
            named() { "$tidemark" log dump s.tide --container tidemark.server | grep -c "$name"; }
            for user in ann ben; do
                echo "a good password" | "$tidemark" accounts add s.tide $user@example.org
            done
            name=$("$tidemark" accounts remove s.tide Ben@example.org)
            "$tidemark" accounts list s.tide --json | cut -c1-26
            "$tidemark" accounts remove s.tide ben@example.org
            # Two records, saved and deleted; one of them is named after the account.
            "$tidemark" erase s.tide --user $name --dry-run --json | grep -o '"removedEvents":4,'
            test $(named) -gt 0 && echo named
            "$tidemark" erase s.tide --user $name --text | sed -n '/Not reached/,$p' | grep -c sign
            named
            "$tidemark" erase s.tide --user $name >said || echo "status $?"
            "$tidemark" erase s.tide --user _anna >said || echo "status $?"
            "$tidemark" accounts list s.tide --json | cut -c1-26
            "$tidemark" log verify s.tide --json | grep -o '"findings":0'
            """
        )
        #expect(
            outcome.output == """
                {"email":"ann@example.org"
                "removedEvents":4,
                named
                0
                0
                status 1
                status 1
                {"email":"ann@example.org"
                "findings":0

                """,
            "\(outcome)"
        )
        #expect(outcome.errors.contains("There is no account with the address ben@example.org."))
    }

    @Test func `A running server is administered by the same commands`() async throws {
        let outcome = try await script(
            """
            start
            stat -c %a s.tide/server.sock
            web=$(signin new=1)
            status() {
                curl -s -o /dev/null -w '%{http_code}\\n' \\
                    "$place/private/zones/list?ckAPIToken=$1&ckWebAuthToken=$web"
            }
            status $token
            made=$("$tidemark" tokens add s.tide --name app --environment development)
            status $made
            "$tidemark" tokens revoke s.tide $made
            status $made
            "$tidemark" sessions list s.tide --account ann@example.org --json | grep -c ann@example.org
            session=$("$tidemark" sessions list s.tide --json | sed 's/.*"session":"\\([^"]*\\).*/\\1/')
            "$tidemark" sessions end s.tide $session
            status $token
            "$tidemark" accounts lock s.tide ben@example.org
            link=$("$tidemark" accounts invite s.tide ben@example.org --public-url "$address")
            curl -s "$link" | grep -o '<h1>[^<]*'
            # Links begin with the address of the server.
            link=$("$tidemark" accounts reset s.tide ann@example.org)
            test "${link%/reset*}" = $address && echo reset
            "$tidemark" backup s.tide b.tide >said2 && ls b.tide | grep -c server
            # A server that was killed leaves a socket at which nobody answers.
            kill -9 $server; wait $server 2>said3
            ls s.tide/server.sock
            "$tidemark" accounts list s.tide --json | cut -c1-26
            start; stop; ls s.tide/server.sock
            """
        )
        #expect(
            outcome.output == """
                600
                200
                200
                401
                1
                421
                <h1>Make an account
                reset
                0
                s.tide/server.sock
                {"email":"ann@example.org"
                status 0

                """
        )
        #expect(outcome.errors.contains("There is no account with the address ben@example.org."))
    }

    @Test func `Limits of containers apply to files and a running server`() async throws {
        let outcome = try await script(
            """
            save() {
                curl -s "$place/public/records/modify?ckAPIToken=$token&ckWebAuthToken=$web" \\
                    -d "{\\"operations\\":[{\\"operationType\\":\\"forceUpdate\\",\\"record\\":{\\"recordName\\":\\"$1\\",\\"recordType\\":\\"Note\\",\\"fields\\":{\\"t\\":{\\"value\\":\\"$(head -c $2 /dev/zero | tr '\\0' x)\\"}}}}]}" |
                    grep -o 'QUOTA_EXCEEDED\\|recordChangeTag'
            }
            "$tidemark" containers add s.tide iCloud.tidemark --public-quota 4K
            "$tidemark" containers list s.tide --json
            start
            web=$(signin new=1)
            save a 3000; save b 3000
            "$tidemark" containers set s.tide iCloud.tidemark --public-quota none --requests 7
            save b 3000
            "$tidemark" containers list s.tide --json
            "$tidemark" containers add s.tide iCloud.tidemark 2>&1 | cut -c1-55
            "$tidemark" containers set s.tide iCloud.none --quota 5 2>&1 | cut -c1-55
            "$tidemark" containers set s.tide iCloud.tidemark --quota many 2>&1 | head -1 | cut -c1-50
            "$tidemark" containers remove s.tide iCloud.tidemark
            curl -s -o answer -w '%{http_code}\\n' "$place/public/zones/list?ckAPIToken=$token"
            stop
            """
        )
        #expect(
            outcome.output == """
                {"container":"iCloud.tidemark","tokens":0,"keys":0,"publicQuota":4096,"records":false}
                recordChangeTag
                QUOTA_EXCEEDED
                recordChangeTag
                {"container":"iCloud.tidemark","tokens":1,"keys":0,"requests":7,"records":true}
                Error: The container iCloud.tidemark is registered. Cha
                Error: There is no container iCloud.none on the server.
                Error: The value 'many' is invalid for '--quota <b
                401
                status 0

                """
        )
    }

    @Test func `A restored or forked store has no sessions and keeps all accounts`() async throws {
        let outcome = try await script(
            """
            status() {
                curl -s -o /dev/null -w '%{http_code}\\n' \\
                    "$place/private/zones/list?ckAPIToken=$token&ckWebAuthToken=$web"
            }
            start
            web=$(signin new=1); status
            "$tidemark" backup s.tide b.tide >said2
            stop
            "$tidemark" restore b.tide r.tide >said2; "$tidemark" fork s.tide f.tide >said2
            mv s.tide old.tide
            for store in r.tide f.tide; do
                mv $store s.tide
                start
                status
                "$tidemark" sessions list s.tide --json | grep -c session
                web2=$web; web=$(signin x=1); status; web=$web2
                stop
                rm -r s.tide
            done
            mv old.tide s.tide; start; status; stop
            """
        )
        #expect(
            outcome.output == """
                200
                status 0
                421
                0
                200
                status 0
                421
                0
                200
                status 0
                200
                status 0

                """
        )
    }

    /// Kills the server at random moments while clients save.
    @Test(.timeLimit(.minutes(30)))
    func `An acknowledged save exists exactly once after a kill`() async throws {
        let seed = UInt64.random(in: 0...9_999)
        var numbers = SeededGenerator(seed: seed)
        let rounds = runsLongTests ? 200 : 5
        let clients = runsLongTests ? 20 : 4
        for round in 0..<rounds {
            let delay = Double(200 + numbers.next() % 600) / 1000
            let outcome = try await script(
                """
                start
                [ -s web ] || signin new=1 >web
                client() {
                    n=0
                    while :; do
                        n=$((n + 1)); name=r\(round)-$1-$n
                        curl -s -m 5 "$place/private/records/modify?ckAPIToken=$token&ckWebAuthToken=$(cat web)" \\
                            -d "{\\"operations\\":[{\\"operationType\\":\\"create\\",\\"record\\":{\\"recordName\\":\\"$name\\",\\"recordType\\":\\"Note\\",\\"fields\\":{\\"n\\":{\\"value\\":$n}}}}]}" |
                            grep -q recordChangeTag || break
                        echo "$name" >>saved-$1
                    done
                }
                clients=
                for number in $(seq \(clients)); do client $number & clients="$clients $!"; done
                sleep \(delay); kill -9 $server; wait $server 2>/dev/null; wait $clients
                """
            )
            #expect(outcome.status == 0, "seed \(seed), round \(round): \(outcome.errors)")
        }
        let outcome = try await script(
            """
            "$tidemark" log verify s.tide --text | cut -d. -f1
            user=$("$tidemark" users list s.tide --json | sed -n 's/.*"user":"\\(_[0-9a-f]*\\)".*/\\1/p')
            "$tidemark" export s.tide --owner $user --json |
                sed -n 's/.*"recordName":"\\([^"]*\\)".*/\\1/p' | sort >there
            cat saved-* | sort >acknowledged
            sort -u there | cmp - there
            comm -23 acknowledged there | wc -l
            [ "$(wc -l <acknowledged)" -gt \(rounds) ] && echo some
            """
        )
        #expect(outcome.output == "Sound\n0\nsome\n", "seed \(seed): \(outcome.errors)")
    }
}
#endif
