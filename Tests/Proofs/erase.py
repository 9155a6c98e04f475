"""The server is killed (-9) at random while it erases a zone, and while it erases an account with all its users.

After a restart the erasure is completed or not begun: all records and the asset are there, or none. A completed erasure
leaves no word of the erased data in any file of the store, nor in the history that `export --changes` prints. What was
not erased is repeated and then is. The records of another user stay, and the store has no damage.

Half of the kills come at a random moment of the whole command, half after the file ERASING appeared.

Usage: erase.py PROGRAM [ROUNDS [SEED]]
The seed is that of the times of the kills, and of the words.
"""

import json
import pathlib
import random
import shutil
import string
import subprocess
import sys
import time

from served import Client, Server, expect, prove, wait_for

RECORDS = 400
# Erasures that are not killed, and measured.
MEASURED = 4
# Few of these characters follow each other twice by chance, so a compressed word stays as it is.
LETTERS = string.ascii_letters + string.digits + "_-+*~!$%()[]{}:;,.@#="
ZONE = {"zoneName": "Secrets"}


class World:
    """A store with two users, of whom one is erased; each round has a copy of it."""

    def __init__(self, program, folder, chance):
        self.program, self.folder, self.path = program, folder, folder / "template.tide"
        self.words = ["".join(chance.choices(LETTERS, k=32)) for _ in range(RECORDS + 1)]
        self.kept = {f"kept{number}" for number in range(20)}
        server = Server(program, self.path)
        try:
            self.anna = server.sign_in()
            for name in sorted(self.kept):
                expect(Client(server, self.anna).save(name, name) is True, f"{name} was not saved")
            self.zelda = server.sign_in("zelda@example.org")
            client = Client(server, self.zelda)
            client.ask("zones/modify", {"operations": [{"operationType": "create", "zone": {"zoneID": ZONE}}]})
            *words, asset = self.words
            for start in range(0, RECORDS, 100):
                operations = [
                    {"operationType": "create", "record": {
                        "recordName": f"s{start + number}", "recordType": "Note", "fields": {"value": {"value": word}}}}
                    for number, word in enumerate(words[start : start + 100])
                ]
                status, answer = client.ask("records/modify", {"zoneID": ZONE, "operations": operations})
                expect(status == 200 and "serverErrorCode" not in str(answer), f"records/modify: {status} {answer}")
            tokens = [{"recordName": "s0", "recordType": "Note", "fieldName": "file"}]
            _, answer = client.ask("assets/upload", {"zoneID": ZONE, "tokens": tokens})
            path = "/" + answer["tokens"][0]["url"].split("/", 3)[3]
            _, _, receipt = client.request("POST", path, asset.encode())
            file = json.loads(receipt)["singleFile"]
            operation = {"operationType": "forceUpdate", "record": {
                "recordName": "s0", "recordType": "Note", "fields": {"file": {"value": file}}}}
            status, answer = client.ask("records/modify", {"zoneID": ZONE, "operations": [operation]})
            expect(status == 200 and "serverErrorCode" not in str(answer), f"an asset: {status} {answer}")
            _, answer = client.ask("users/current", {})
            self.user = answer["userRecordName"]
            server.end()
        finally:
            server.kill()
        accounts = server.run("accounts", "list", str(self.path)).splitlines()
        line = next(line for line in accounts if "zelda@example.org" in line)
        self.account = "account-" + line.split("account-", 1)[1].split('"')[0].split()[0]
        self.secret = folder / "secret"
        self.secret.write_text(server.run("administrators", "add", str(self.path), "ops"))
        self.secret.chmod(0o600)
        # The search finds what is there.
        found = self.found(self.path)
        expect(len(found) > 0.98 * RECORDS, f"only {len(found)} of {RECORDS} words are found before the erasure")

    def subject(self, round_):
        """The arguments that name what a round erases: a zone, or an account with its users."""
        return ("--user", self.account) if round_ % 2 else ("--zone", ZONE["zoneName"], "--owner", self.user)

    def begin(self, server, round_):
        """Starts an erasure."""
        return subprocess.Popen(
            [self.program, "erase", "--url", server.address, "--secret-file", self.secret, *self.subject(round_)],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )

    def found(self, path):
        """The words that a file of the store has.

        The ends of a word can be compressed together with what surrounds it, but not its middle.
        """
        words = {word[8:-8].encode(): word for word in self.words}
        found = set()
        for file in pathlib.Path(path).rglob("*"):
            if file.is_file():
                bytes_ = file.read_bytes()
                found |= {text for word, text in words.items() if word in bytes_}
        return found

    def expect_whole(self, server, path, when):
        """Returns whether the erasure was completed. Nobody serves the store."""
        server.expect_sound()
        history = server.run("export", str(path), "--changes")
        lines = server.run("export", str(path), "--owner", self.user).splitlines()
        live = {word for word in self.words[:RECORDS] if any(word in line for line in lines)}
        expect(len(live) in (0, RECORDS), f"{when}: {len(live)} of {RECORDS} records are there")
        asset = sum(self.words[-1].encode() in file.read_bytes() for file in (path / "assets").rglob("*") if file.is_file())
        expect(asset == (len(live) > 0), f"{when}: {len(live)} records and {asset} assets are there")
        if not live:
            found = self.found(path) | {word for word in self.words if word in history}
            expect(not found, f"{when}: {len(found)} words are still there")
            expect(not (path / "ERASING").exists(), f"{when}: the erasure is not marked as ended")
        return not live


def proof(program, folder):
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 24
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else random.randrange(10_000)
    print(f"  seed {seed}", flush=True)
    chance = random.Random(seed)
    world = World(program, folder, chance)
    # The shortest times of the whole command, and of its part after ERASING appears: of a zone, of an account.
    times = [(60, 60), (60, 60)]
    completed = pending = ended = 0
    for round_ in range(rounds + MEASURED):
        path = folder / f"round{round_}.tide"
        shutil.copytree(world.path, path, copy_function=shutil.copy2)
        server = Server(program, path)
        when = f"seed {seed}, round {round_}"
        try:
            marker = path / "ERASING"
            began = time.monotonic()
            command = world.begin(server, round_)

            def is_marked():
                while command.poll() is None and not marker.exists():
                    time.sleep(0.0005)
                return marker.exists()

            if round_ < MEASURED:
                is_marked()
                marked = time.monotonic()
                said = command.communicate(timeout=60)[0]
                expect(command.returncode == 0, f"{when}: the erasure failed: {said}")
                ended_at = time.monotonic()
                took = (ended_at - began, ended_at - marked)
                times[round_ % 2] = tuple(map(min, times[round_ % 2], took))
            else:
                whole, part = times[round_ % 2]
                if round_ % 4 < 2:
                    time.sleep(whole * chance.random())
                else:
                    is_marked()
                    time.sleep(part * chance.random())
        finally:
            server.kill()
        command.communicate(timeout=60)
        ended += command.returncode == 0
        pending += marker.exists()
        # The next opening for writing completes what is pending.
        was_pending = marker.exists()
        server.start()
        try:
            wait_for("readiness", lambda: server.ready()[0] == 200)
            names = [{"recordName": name} for name in sorted(world.kept)]
            status, answer = Client(server, world.anna).ask("records/lookup", {"records": names})
            there = {one["recordName"] for one in answer.get("records", []) if "recordChangeTag" in one}
            expect(there == world.kept, f"{when}: of another user's records, {len(there)} are there: {status}")
            server.end()
        finally:
            server.kill()
        is_completed = world.expect_whole(server, path, when)
        expect(is_completed or not was_pending, f"{when}: an erasure that was recorded was not completed")
        expect(is_completed or round_ >= MEASURED, f"{when}: an erasure that succeeded erased nothing")
        completed += is_completed
        if not is_completed:
            server.start()
            try:
                command = world.begin(server, round_)
                said = command.communicate(timeout=60)[0]
                expect(command.returncode == 0, f"{when}: the repeated erasure failed: {said}")
                server.end()
            finally:
                server.kill()
            expect(world.expect_whole(server, path, when), f"{when}: the repeated erasure erased nothing")
        shutil.rmtree(path)
    print(
        f"  seed {seed}: killed {rounds} times; {completed - MEASURED} erasures were completed, {pending} of them by the restart and "
        f"{ended - MEASURED} before the kill; {rounds + MEASURED - completed} had not begun, and were repeated"
    )
    expect(pending > 0, f"seed {seed}: no kill came while an erasure was pending")


prove(proof)
