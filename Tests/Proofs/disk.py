"""A disk that gets full: the server says so, keeps what it acknowledged, and goes on once there is room.

Run it in a mount namespace of its own, as root: the disk is a file system in memory.
"""

import os
import subprocess

from served import Client, Server, expect, prove, wait_for

SIZE = 160 << 20


def fill(path, left):
    """Takes all of the disk's room but `left` bytes."""
    state = os.statvfs(path.parent)
    with open(path, "wb") as file:
        os.posix_fallocate(file.fileno(), 0, state.f_bavail * state.f_frsize - left)


def proof(program, folder):
    disk = folder / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", disk], check=True)
    server = None
    try:
        server = Server(program, disk / "store.tide")
        client = Client(server, server.sign_in())
        expect(server.ready() == (200, "ready"), f"at first: {server.ready()}")
        saved = []

        def save(count, size):
            """Saves records until one is refused, and returns the answer to that."""
            for _ in range(count):
                name = f"r{len(saved)}"
                answer = client.save(name, os.urandom(size // 2).hex())
                if answer is not True:
                    return answer
                saved.append(name)

        expect(save(20, 1000) is None, "a save on a disk with room was refused")

        fill(disk / "filler", 32 << 20)
        status, reason = server.ready()
        expect(status == 503 and "disk" in reason, f"/health/ready on a disk that is nearly full: {status} {reason}")

        fill(disk / "filler2", 64 << 10)
        refused = save(3000, 20_000)
        expect(refused is not None, "saves go on though the disk is full")
        status, answer = refused
        item = answer.get("records", [answer])[0]
        expect(item.get("serverErrorCode") == "TRY_AGAIN_LATER", f"a save on a full disk: {status} {answer}")
        expect(str(disk) not in str(answer), f"a client is told where the store is: {answer}")
        path = client.upload_path("upload")
        upload, _, text = client.request("POST", path, bytes(40 << 20))
        expect(upload >= 400, f"an upload that does not fit: {upload} {text[:300]}")
        query = {"zoneID": {"zoneName": "_defaultZone"}, "query": {"recordType": "Note"}, "resultsLimit": 5}
        status, found = client.ask("records/query", query)
        expect(status == 200 and len(found["records"]) == 5, f"a query on a full disk: {status} {found}")
        expect(server.is_alive() and server.ready()[0] == 503, f"on a full disk: {server.ready()}")
        found = client.ask("records/lookup", {"records": [{"recordName": saved[0]}]})
        expect(found[0] == 200 and "recordChangeTag" in found[1]["records"][0], f"reading on a full disk: {found}")

        for name in ("filler", "filler2"):
            (disk / name).unlink()
        expect(wait_for("readiness", lambda: server.ready() == (200, "ready")), "")
        before = len(saved)
        again = save(20, 1000)
        expect(again is None, f"a save once there is room again: {again}")
        server.end()
        server.expect_sound()

        server.start()
        client = Client(server, client.web)
        for name in saved:
            status, found = client.ask("records/lookup", {"records": [{"recordName": name}]})
            expect("recordChangeTag" in found["records"][0], f"{name} was acknowledged and is lost: {found}")
        print(
            f"  {before} saves until the disk was full, then {item['serverErrorCode']} (status {refused[0]}): "
            f"{item['reason']}; the upload {upload}; {len(saved)} records there in the end"
        )
        server.end()
    finally:
        if server:
            server.kill()
        subprocess.run(["umount", "-l", disk], check=True)


prove(proof)
