"""SIGTERM while clients save and upload: the server ends in time, and what it acknowledged is there once."""

import http.client
import random
import socket
import threading
import time

from served import Client, Server, expect, prove

ROUNDS = 5
CLIENTS = 8
# Requests that have begun are answered, but an upload that never ends does not keep the server.
LONGEST = 30


def proof(program, folder):
    seed = random.randrange(10_000)
    chance = random.Random(seed)
    store = folder / "store.tide"
    saved, uploaded, refused = [], [], []
    slowest = 0
    web = None
    for round_ in range(ROUNDS):
        server = Server(program, store)
        try:
            web = web or server.sign_in()
            # A receipt is for later; two uploads are under way when the signal comes.
            paths = [Client(server, web).upload_path(f"upload{round_}-{number}") for number in range(2)]

            def save(number):
                client = Client(server, web, timeout=LONGEST)
                for count in range(100_000):
                    name = f"r{round_}-{number}-{count}"
                    try:
                        answer = client.save(name, count)
                    except (OSError, http.client.HTTPException):
                        return
                    if answer is not True:
                        refused.append(answer)
                        return
                    saved.append(name)

            def upload(path, is_endless):
                chunk = bytes(10_000)
                try:
                    connection = socket.create_connection(("localhost", server.port), timeout=LONGEST)
                    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {100 * len(chunk)}\r\n\r\n"
                    connection.sendall(head.encode())
                    for _ in range(100):
                        connection.sendall(chunk)
                        time.sleep(2 if is_endless else 0.02)
                    if connection.recv(1000).startswith(b"HTTP/1.1 200"):
                        uploaded.append(path)
                except OSError:
                    pass

            threads = [threading.Thread(target=save, args=(number,), daemon=True) for number in range(CLIENTS)]
            threads += [
                threading.Thread(target=upload, args=(path, is_endless), daemon=True)
                for path, is_endless in zip(paths, (False, True))
            ]
            for thread in threads:
                thread.start()
            time.sleep(1 + chance.random())
            slowest = max(slowest, server.end(LONGEST))
            for thread in threads[:CLIENTS]:
                thread.join(LONGEST)
                expect(not thread.is_alive(), "a client waits for ever")
        finally:
            server.kill()
        server.expect_sound()
    expect(len(saved) > ROUNDS * CLIENTS, f"only {len(saved)} saves were acknowledged")
    server = Server(program, store)
    try:
        client = Client(server, web)
        for start in range(0, len(saved), 200):
            some = saved[start : start + 200]
            status, answer = client.ask("records/lookup", {"records": [{"recordName": name} for name in some]})
            expect(status == 200, f"lookup: {status} {answer}")
            lost = [one["recordName"] for one in answer["records"] if "recordChangeTag" not in one]
            expect(not lost, f"seed {seed}: acknowledged and lost: {lost}")
        print(
            f"  {ROUNDS} times SIGTERM: {len(saved)} saves acknowledged and there, {len(refused)} refused, "
            f"{len(uploaded)} uploads ended; the longest end took {slowest:.1f} s"
        )
        server.end()
    finally:
        server.kill()


prove(proof)
